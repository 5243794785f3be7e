import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { refetchQueries } from '../api/refetch.ts';
import { useSelection } from '../session/selection.ts';
import { useCan } from '../session/session.ts';
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
export function useRefetchOnEvents(names: readonly string[], delayMs: number): void {
  const queries = useQueryClient();
  const joinedNames = names.join(' ');
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const unlisten = onLiveEvents(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        for (const name of joinedNames.split(' ')) {
          refetchQueries(queries, { queryKey: [name] });
        }
      }, delayMs);
    });
    return () => {
      clearTimeout(timer);
      unlisten();
    };
  }, [queries, joinedNames, delayMs]);
}

/** Which cached answers an event makes old, by the first part of its type. */
const QUERIES_BY_FAMILY: Record<string, string[]> = {
  message: ['queue', 'checklist'],
  domain: ['domains', 'domain', 'checklist'],
  template: ['templates', 'template'],
  suppression: ['suppressions'],
  api_key: ['api-keys', 'checklist'],
  webhook: ['webhooks', 'webhook'],
  alarm: ['alarms', 'webhooks', 'webhook'],
};

/** In a flood the pages are told twice a second, not at every event. */
const BATCH_MS = 500;

export function useLiveEvents(): void {
  const place = useSelection();
  const queries = useQueryClient();
  const may = useCan()('read:events');
  useEffect(() => {
    if (!may || place.workspaceId === null) return;
    let buffered: LiveEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      timer = undefined;
      const events = buffered;
      buffered = [];
      refetchFamilies(queries, new Set(events.map(({ type }) => type.split('.')[0] as string)));
      refetchMessages(queries, events);
      for (const listener of listeners) listener(events);
    };
    const stopFollowing = followEvents(place, {
      onEvents(events) {
        buffered.push(...events);
        timer ??= setTimeout(flush, BATCH_MS);
      },
      onResync() {
        refetchFamilies(queries, Object.keys(QUERIES_BY_FAMILY));
        refetchQueries(queries, { queryKey: ['message'] });
        for (const listener of listeners) listener([]);
      },
    });
    return () => {
      clearTimeout(timer);
      stopFollowing();
    };
  }, [place, may, queries]);
}

/** Only the messages that something happened to: what is looked at is seldom among them. */
function refetchMessages(queries: QueryClient, events: readonly LiveEvent[]): void {
  const ids = new Set(events.map(({ data }) => (data as { message_id?: string }).message_id));
  refetchQueries(queries, {
    queryKey: ['message'],
    predicate: ({ queryKey }) => ids.has(queryKey[3] as string),
  });
}

function refetchFamilies(queries: QueryClient, families: Iterable<string>): void {
  const names = new Set([...families].flatMap((family) => QUERIES_BY_FAMILY[family] ?? []));
  for (const name of names) refetchQueries(queries, { queryKey: [name] });
}
