import { readPreference, savePreference } from '../../lib/preferences.ts';
import { createStore, useStore } from '../../lib/store.ts';

/** The messages opened in this browser; only the most recent ones are remembered. */
const MAX_REMEMBERED = 500;

const read = createStore<readonly string[]>(readPreference('read-messages')?.split(' ') ?? []);

export function useRead(id: string): [boolean, () => void] {
  const ids = useStore(read);
  const known = ids.includes(id);
  return [
    known,
    () => {
      if (read.get().includes(id)) return;
      const next = [...read.get(), id].slice(-MAX_REMEMBERED);
      savePreference('read-messages', next.join(' '));
      read.set(next);
    },
  ];
}
