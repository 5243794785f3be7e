import { type Place, usePlace } from '../session/place.ts';
import { type Api, apiOf } from './client.ts';

export interface Here {
  place: Place;
  api: Api;
  /**
   * The key under which an answer is filed: what it is, then the place it belongs to. The name comes
   * first so that an event can make all answers of a kind old, whatever their filters.
   */
  key: (name: string, ...more: readonly unknown[]) => readonly unknown[];
}

/** The API for the workspace and mode that the person stands in. */
export function useHere(): Here {
  const place = usePlace();
  return {
    place,
    api: apiOf(place),
    key: (name, ...more) => [name, place.workspaceId, place.mode, ...more],
  };
}
