import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { usePaginatedQuery } from '../../api/pagination.ts';
import { refetchQueries } from '../../api/refetch.ts';
import { useApi } from '../../api/use-api.ts';
import { type LiveEvent, onLiveEvents } from '../../layout/live-events.ts';
import { type TimeRange, timeQuery } from '../../lib/time-range.ts';
import type { EventData } from '../messages/event-labels.tsx';

/** The page's search parameters. */
export interface EventFilters extends TimeRange {
  type?: string;
  recipient?: string;
  stream?: string;
}

const PAGE_ROWS = 50;
/** Limits memory in a tab that is left open. */
const MAX_LIVE_EVENTS = 1_000;

/**
 * The event log, newest first: events received live since the page opened, followed by fetched ones.
 * The two may overlap but never leave a gap, so events are deduplicated by ID.
 */
export function useEvents(filters: EventFilters, paused: boolean) {
  const { api, key } = useApi();
  const queries = useQueryClient();
  const queryKey = key('events', filters);
  const list = usePaginatedQuery(queryKey, async (cursor) => {
    const query = {
      limit: PAGE_ROWS,
      ...(cursor === undefined ? {} : { cursor }),
      ...eventQuery(filters),
    };
    const page = await unwrap(api.GET('/api/v1/events', { params: { query } }));
    return { data: page.data, next_cursor: page.has_more ? page.next_cursor : null };
  });
  const [live, setLive] = useState<readonly LiveEvent[]>([]);
  const [held, setHeld] = useState<readonly LiveEvent[]>([]);
  const keyText = JSON.stringify(queryKey);
  const isPaused = useRef(paused);
  isPaused.current = paused;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key means a new list to follow.
  useEffect(() => {
    setLive([]);
    setHeld([]);
    return onLiveEvents((events) => {
      if (events.length === 0) {
        refetchQueries(queries, { queryKey: ['events'] });
        return;
      }
      const matching = events.filter((event) => matches(event, { ...filters })).toReversed();
      if (matching.length === 0) return;
      const append = isPaused.current ? setHeld : setLive;
      append((known) => [...matching, ...known].slice(0, MAX_LIVE_EVENTS));
    });
  }, [queries, keyText]);
  useEffect(() => {
    if (paused || held.length === 0) return;
    setLive((known) => [...held, ...known].slice(0, MAX_LIVE_EVENTS));
    setHeld([]);
  }, [paused, held]);
  const rows = useMemo(() => {
    const seen = new Set(held.map(({ id }) => id));
    return (
      [...live, ...list.rows]
        .filter(({ id }) => !seen.has(id) && seen.add(id))
        // IDs sort by time; after a reconnect, live and fetched events may interleave.
        .sort((a, b) => (a.id < b.id ? 1 : -1))
    );
  }, [live, held, list.rows]);
  const arrived = useMemo(() => new Set(live.map(({ id }) => id)), [live]);
  return { ...list, rows, waiting: held.length, arrived };
}

/** The parameters of the API for these filters. */
export function eventQuery({ type, recipient, stream, ...range }: EventFilters) {
  return {
    order: 'desc' as const,
    ...(type ? { type } : {}),
    ...(recipient ? { recipient } : {}),
    ...(stream ? { stream } : {}),
    ...timeQuery(range, Date.now()),
  };
}

/** Applies the API's filter rules to live events. */
function matches(event: LiveEvent, filters: EventFilters): boolean {
  const { type, recipient, stream, after, before } = filters;
  // Timestamps of one format sort by time.
  if (after && event.created_at < after) return false;
  if (before && event.created_at >= before) return false;
  if (type && event.type !== type && type !== `${event.type.split('.')[0]}.*`) return false;
  if (stream && streamOf(event) !== stream) return false;
  if (!recipient) return true;
  const { recipient: one, recipients = [] } = event.data as EventData;
  const expected = recipient.toLowerCase();
  return [one, ...recipients.map(({ email }) => email)].some(
    (email) => email?.toLowerCase() === expected,
  );
}

function streamOf({ data }: LiveEvent): string | null | undefined {
  if ('stream' in data) return data.stream;
  if ('suppression' in data) return data.suppression.stream;
  return 'alarm' in data ? data.alarm.stream : undefined;
}
