import { readPreference, savePreference } from '../lib/preferences.ts';
import { createStore, useStore } from '../lib/store.ts';

/**
 * The selected workspace and mode (live or test). Every request sends them in two headers, and every
 * cached response is keyed by them, so data of one workspace or mode is never shown in another.
 */
export type Mode = 'live' | 'test';

export interface Selection {
  workspaceId: string | null;
  mode: Mode;
}

const selectionStore = createStore<Selection>({
  workspaceId: readPreference('workspace'),
  mode: readPreference('mode') === 'live' ? 'live' : 'test',
});

export function currentSelection(): Selection {
  return selectionStore.get();
}

export function useSelection(): Selection {
  return useStore(selectionStore);
}

export function selectMode(mode: Mode): void {
  savePreference('mode', mode);
  document.documentElement.dataset.mode = mode;
  selectionStore.set({ ...selectionStore.get(), mode });
}

export function selectWorkspace(workspaceId: string): void {
  savePreference('workspace', workspaceId);
  selectionStore.set({ ...selectionStore.get(), workspaceId });
}
