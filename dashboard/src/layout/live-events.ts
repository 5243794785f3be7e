import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { refetchQueries } from '../api/refetch.ts';
import { useSelection } from '../session/selection.ts';
import { useCan } from '../session/session.ts';
import { followEvents, type LiveEvent } from './event-stream.ts';

/**
 * Distributes live events to pages. Pages subscribe with `onLiveEvents`; queries that depend on the
 * event's family are refetched automatically. An empty list of events means: reload everything.
 */
export type { LiveEvent } from './event-stream.ts';

type Listener = (events: readonly LiveEvent[]) => void;
const listeners = new Set<Listener>();

export function onLiveEvents(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Refetches queries a moment after each event, for data that the server updates with a delay. */
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

/** The queries to refetch, by the event family (the first part of the type). */
const QUERIES_BY_FAMILY: Record<string, string[]> = {
  message: ['queue', 'checklist'],
  inbound_message: ['replies'],
  domain: ['domains', 'domain', 'checklist'],
  template: ['templates', 'template'],
  suppression: ['suppressions'],
  api_key: ['api-keys', 'checklist'],
  webhook: ['webhooks', 'webhook'],
  alarm: ['alarms', 'webhooks', 'webhook'],
};

/** Events are delivered to pages in batches, at most twice a second. */
const BATCH_MS = 500;

export function useLiveEvents(): void {
  const selection = useSelection();
  const queries = useQueryClient();
  const can = useCan()('read:events');
  useEffect(() => {
    if (!can || selection.workspaceId === null) return;
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
    const stopFollowing = followEvents(selection, {
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
  }, [selection, can, queries]);
}

/** Refetches only the messages named in the events. */
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
