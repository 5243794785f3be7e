import { type Selection, useSelection } from '../session/selection.ts';
import { type Api, apiFor } from './client.ts';

export interface ApiContext {
  selection: Selection;
  api: Api;
  /**
   * Builds a query key: the name, the workspace, the mode, then any filters. The name comes first
   * so that an event can invalidate all queries of a kind, whatever their filters.
   */
  key: (name: string, ...more: readonly unknown[]) => readonly unknown[];
}

/** The API client for the selected workspace and mode. */
export function useApi(): ApiContext {
  const selection = useSelection();
  return {
    selection,
    api: apiFor(selection),
    key: (name, ...more) => [name, selection.workspaceId, selection.mode, ...more],
  };
}
