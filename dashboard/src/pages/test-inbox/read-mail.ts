import { keep, recall } from '../../base/kept.ts';
import { createStore, useStore } from '../../base/store.ts';

/** Which mail this browser has opened; the newest few hundred are enough to remember. */
const REMEMBERED_MAX = 500;

const read = createStore<readonly string[]>(recall('read-mail')?.split(' ') ?? []);

export function useRead(id: string): [boolean, () => void] {
  const ids = useStore(read);
  const known = ids.includes(id);
  return [
    known,
    () => {
      if (read.get().includes(id)) return;
      const next = [...read.get(), id].slice(-REMEMBERED_MAX);
      keep('read-mail', next.join(' '));
      read.set(next);
    },
  ];
}
