import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { apiOf, ask, type Schema } from '../api/client.ts';
import { type Place, usePlace } from '../session/place.ts';
import { useMay } from '../session/session.ts';

/**
 * Follows the ledger of events from now on, while the tab is seen. Pages listen with `onLiveEvents`;
 * what is cached under the family of an event is asked for again by itself.
 */
export type LiveEvent = Schema<'Event'>;

type Listener = (events: readonly LiveEvent[]) => void;
const listeners = new Set<Listener>();

export function onLiveEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const POLL_MS = 2_000;
const POLL_AFTER_FAULT_MS = 15_000;
const CLOCKS_APART_MS = 120_000;

/** Which cached answers an event makes old, by the first part of its type. */
const STALE: Record<string, string[]> = {
  message: ['message', 'stats'],
  domain: ['domains', 'domain'],
  template: ['templates', 'template'],
  suppression: ['suppressions'],
  api_key: ['api-keys'],
  webhook: ['webhooks', 'webhook'],
};

export function useLiveFeed(): void {
  const place = usePlace();
  const queries = useQueryClient();
  const may = useMay()('read:events');
  useEffect(() => {
    if (!may) return;
    return follow(place, (events) => {
      for (const family of new Set(events.map(({ type }) => type.split('.')[0] as string))) {
        for (const name of STALE[family] ?? []) {
          void queries.invalidateQueries({ queryKey: [name] });
        }
      }
      for (const listener of listeners) listener(events);
    });
  }, [place, may, queries]);
}

function follow(place: Place, tell: Listener): () => void {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let cursor: string | undefined;
  // What stands in the ledger already is passed over; the margin is for clocks that differ.
  let caughtUp = false;
  const api = apiOf(place);
  const since = new Date(Date.now() - CLOCKS_APART_MS).toISOString();
  const round = async (): Promise<void> => {
    let waitMs = POLL_MS;
    try {
      if (document.visibilityState === 'visible' && place.workspaceId !== null) {
        const page = await ask(
          api.GET('/api/v1/events', {
            params: {
              query: { limit: 100, created_after: since, ...(cursor ? { cursor } : {}) },
            },
          }),
        );
        cursor = page.next_cursor;
        if (!stopped && caughtUp && page.data.length > 0) tell(page.data);
        if (page.has_more) waitMs = 0;
        else caughtUp = true;
      }
    } catch {
      waitMs = POLL_AFTER_FAULT_MS;
    }
    if (!stopped) timer = setTimeout(() => void round(), waitMs);
  };
  void round();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
