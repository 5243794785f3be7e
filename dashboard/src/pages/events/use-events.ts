import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { askAgain } from '../../api/ask-again.ts';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { usePages } from '../../api/use-pages.ts';
import { type LiveEvent, onLiveEvents } from '../../frame/live-feed.ts';
import type { EventData } from '../messages/event-words.tsx';

/** What the address of the page holds. */
export interface EventFilters {
  type?: string;
  recipient?: string;
}

const PAGE_ROWS = 50;
/** What a tab that is left open keeps of the stream. */
const FRESH_MAX = 1_000;

/**
 * The ledger, newest first: what the stream has told since the page was opened, and below it what was
 * asked for. The two overlap rather than leave a gap, so each event is taken once by its id.
 */
export function useEvents(filters: EventFilters, paused: boolean) {
  const { api, key } = useHere();
  const queries = useQueryClient();
  const { type, recipient } = filters;
  const queryKey = key('events', type, recipient);
  const list = usePages(queryKey, async (cursor) => {
    const query = {
      limit: PAGE_ROWS,
      order: 'desc' as const,
      ...(cursor === undefined ? {} : { cursor }),
      ...(type ? { type } : {}),
      ...(recipient ? { recipient } : {}),
    };
    const page = await ask(api.GET('/api/v1/events', { params: { query } }));
    return { data: page.data, next_cursor: page.has_more ? page.next_cursor : null };
  });
  const [fresh, setFresh] = useState<readonly LiveEvent[]>([]);
  const [held, setHeld] = useState<readonly LiveEvent[]>([]);
  const keyText = JSON.stringify(queryKey);
  const isPaused = useRef(paused);
  isPaused.current = paused;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key is a new list to follow.
  useEffect(() => {
    setFresh([]);
    setHeld([]);
    return onLiveEvents((events) => {
      if (events.length === 0) {
        askAgain(queries, { queryKey: ['events'] });
        return;
      }
      const wanted = events.filter((event) => fits(event, { ...filters })).toReversed();
      if (wanted.length === 0) return;
      const put = isPaused.current ? setHeld : setFresh;
      put((known) => [...wanted, ...known].slice(0, FRESH_MAX));
    });
  }, [queries, keyText]);
  useEffect(() => {
    if (paused || held.length === 0) return;
    setFresh((known) => [...held, ...known].slice(0, FRESH_MAX));
    setHeld([]);
  }, [paused, held]);
  const rows = useMemo(() => {
    const seen = new Set(held.map(({ id }) => id));
    return (
      [...fresh, ...list.rows]
        .filter(({ id }) => !seen.has(id) && seen.add(id))
        // Ids grow with time; after a broken connection the two are not simply one above the other.
        .sort((a, b) => (a.id < b.id ? 1 : -1))
    );
  }, [fresh, held, list.rows]);
  const arrived = useMemo(() => new Set(fresh.map(({ id }) => id)), [fresh]);
  return { ...list, rows, waiting: held.length, arrived };
}

/** The API's own rule for what it would have left out. */
function fits(event: LiveEvent, { type, recipient }: EventFilters): boolean {
  if (type && event.type !== type && type !== `${event.type.split('.')[0]}.*`) return false;
  if (!recipient) return true;
  const { recipient: one, recipients = [] } = event.data as EventData;
  const wanted = recipient.toLowerCase();
  return [one, ...recipients.map(({ email }) => email)].some(
    (email) => email?.toLowerCase() === wanted,
  );
}
