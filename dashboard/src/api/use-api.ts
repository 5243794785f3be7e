import { type Selection, useSelection } from '../session/selection.ts';
import { type Api, apiFor } from './client.ts';

export interface ApiContext {
  selection: Selection;
  api: Api;
  /**
   * The key under which an answer is filed: what it is, then the place it belongs to. The name comes
   * first so that an event can make all answers of a kind old, whatever their filters.
   */
  key: (name: string, ...more: readonly unknown[]) => readonly unknown[];
}

/** The API for the workspace and mode that the person stands in. */
export function useApi(): ApiContext {
  const place = useSelection();
  return {
    selection: place,
    api: apiFor(place),
    key: (name, ...more) => [name, place.workspaceId, place.mode, ...more],
  };
}
