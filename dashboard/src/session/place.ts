import { keep, recall } from '../base/kept.ts';
import { createStore, useStore } from '../base/store.ts';

/**
 * Where the person is: which workspace, and live or test. Every request names it in two headers, and
 * every cached answer is filed under it, so that nothing of one place is ever shown in another.
 */
export type Mode = 'live' | 'test';

export interface Place {
  workspaceId: string | null;
  mode: Mode;
}

const place = createStore<Place>({
  workspaceId: recall('workspace'),
  mode: recall('mode') === 'live' ? 'live' : 'test',
});

export function currentPlace(): Place {
  return place.get();
}

export function usePlace(): Place {
  return useStore(place);
}

export function goToMode(mode: Mode): void {
  keep('mode', mode);
  document.documentElement.dataset.mode = mode;
  place.set({ ...place.get(), mode });
}

export function goToWorkspace(workspaceId: string): void {
  keep('workspace', workspaceId);
  place.set({ ...place.get(), workspaceId });
}
