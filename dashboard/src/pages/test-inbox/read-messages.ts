import { savePreference, readPreference } from '../../lib/preferences.ts';
import { createStore, useStore } from '../../lib/store.ts';

/** Which mail this browser has opened; the newest few hundred are enough to remember. */
const MAX_REMEMBERED = 500;

const read = createStore<readonly string[]>(readPreference('read-mail')?.split(' ') ?? []);

export function useRead(id: string): [boolean, () => void] {
  const ids = useStore(read);
  const known = ids.includes(id);
  return [
    known,
    () => {
      if (read.get().includes(id)) return;
      const next = [...read.get(), id].slice(-MAX_REMEMBERED);
      savePreference('read-mail', next.join(' '));
      read.set(next);
    },
  ];
}
