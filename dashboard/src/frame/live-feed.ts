import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { askAgain } from '../api/ask-again.ts';
import { usePlace } from '../session/place.ts';
import { useMay } from '../session/session.ts';
import { followEvents, type LiveEvent } from './event-stream.ts';

/**
 * What happens, told to the pages. They listen with `onLiveEvents`; what is cached under the family
 * of an event is asked for again by itself. No events at all means: look anew.
 */
export type { LiveEvent } from './event-stream.ts';

type Listener = (events: readonly LiveEvent[]) => void;
const listeners = new Set<Listener>();

export function onLiveEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Answers that follow what happens, but only a moment behind it, are asked for again then. */
export function useAskedAgain(names: readonly string[], behindMs: number): void {
  const queries = useQueryClient();
  const named = names.join(' ');
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unlisten = onLiveEvents(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        for (const name of named.split(' ')) {
          askAgain(queries, { queryKey: [name] });
        }
      }, behindMs);
    });
    return () => {
      clearTimeout(timer);
      unlisten();
    };
  }, [queries, named, behindMs]);
}

/** Which cached answers an event makes old, by the first part of its type. */
const STALE: Record<string, string[]> = {
  message: ['queue', 'checklist'],
  domain: ['domains', 'domain', 'checklist'],
  template: ['templates', 'template'],
  suppression: ['suppressions'],
  api_key: ['api-keys', 'checklist'],
  webhook: ['webhooks', 'webhook'],
  alarm: ['alarms', 'webhooks', 'webhook'],
};

/** In a flood the pages are told twice a second, not at every event. */
const GATHER_MS = 500;

export function useLiveFeed(): void {
  const place = usePlace();
  const queries = useQueryClient();
  const may = useMay()('read:events');
  useEffect(() => {
    if (!may || place.workspaceId === null) return;
    let gathered: LiveEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = (): void => {
      timer = undefined;
      const events = gathered;
      gathered = [];
      makeOld(queries, new Set(events.map(({ type }) => type.split('.')[0] as string)));
      makeMessagesOld(queries, events);
      for (const listener of listeners) listener(events);
    };
    const unfollow = followEvents(place, {
      events(events) {
        gathered.push(...events);
        timer ??= setTimeout(tell, GATHER_MS);
      },
      lookAnew() {
        makeOld(queries, Object.keys(STALE));
        askAgain(queries, { queryKey: ['message'] });
        for (const listener of listeners) listener([]);
      },
    });
    return () => {
      clearTimeout(timer);
      unfollow();
    };
  }, [place, may, queries]);
}

/** Only the messages that something happened to: what is looked at is seldom among them. */
function makeMessagesOld(queries: QueryClient, events: readonly LiveEvent[]): void {
  const ids = new Set(events.map(({ data }) => (data as { message_id?: string }).message_id));
  askAgain(queries, {
    queryKey: ['message'],
    predicate: ({ queryKey }) => ids.has(queryKey[3] as string),
  });
}

function makeOld(queries: QueryClient, families: Iterable<string>): void {
  const names = new Set([...families].flatMap((family) => STALE[family] ?? []));
  for (const name of names) askAgain(queries, { queryKey: [name] });
}
