import { askRaw, type Schema } from '../api/client.ts';
import { problemOf } from '../api/problem.ts';
import { sessionEnded } from '../api/session-ended.ts';
import { createStore, type Store } from '../base/store.ts';
import type { Place } from '../session/place.ts';

/**
 * The ledger of one place as server-sent events, over fetch: an EventSource cannot say which
 * workspace and mode it is about. A broken stream is taken up again where it ended. It rests while
 * nobody looks at the tab, because a browser has few connections for one server; who was away for
 * long is not led through all that happened, but told to look anew.
 */
export type LiveEvent = Schema<'Event'>;

export interface StreamListener {
  events(events: readonly LiveEvent[]): void;
  /** What happened before this moment may have been missed. */
  lookAnew(): void;
}

export type StreamState = 'connecting' | 'live' | 'lost';

export const streamState: Store<StreamState> = createStore<StreamState>('connecting');

const RECONNECT_MS = 500;
const AFTER_FAULT_MS = 5_000;
/** A heartbeat comes every 15 seconds. */
const SILENCE_MAX_MS = 40_000;
const AWAY_MAX_MS = 120_000;

export function followEvents(place: Place, listener: StreamListener): () => void {
  let stopped = false;
  let connection: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId: string | undefined;
  let awaySince: number | undefined;
  let faulty = false;

  const connect = async (): Promise<void> => {
    if (stopped || connection || document.visibilityState !== 'visible') return;
    clearTimeout(timer);
    const own = new AbortController();
    connection = own;
    let fault: unknown;
    try {
      await read(own, place, lastId, {
        opened: () => {
          streamState.set('live');
          // What was asked for during an outage may have failed too.
          if (lastId === undefined || faulty) listener.lookAnew();
          faulty = false;
        },
        id: (id) => {
          lastId = id;
        },
        events: (events) => {
          if (!stopped) listener.events(events);
        },
      });
    } catch (error) {
      fault = error;
    }
    connection = undefined;
    if (stopped) return;
    if (own.signal.reason === AWAY) {
      // Who left may have come back before the end of the connection was noticed.
      void connect();
      return;
    }
    if (fault !== undefined) met(problemOf(fault).status, own.signal.reason === SILENT);
    timer = setTimeout(() => void connect(), fault === undefined ? RECONNECT_MS : AFTER_FAULT_MS);
  };

  const met = (status: number, silent: boolean): void => {
    faulty = true;
    streamState.set('lost');
    // A place that the server does not know, after a restore for instance.
    if (status === 422) lastId = undefined;
    // Without a stream the pages still go on, only slower; without a server they keep what they have.
    if (status > 0 || silent) listener.lookAnew();
  };

  const onVisibility = (): void => {
    if (document.visibilityState === 'visible') {
      if (awaySince !== undefined && Date.now() - awaySince > AWAY_MAX_MS) lastId = undefined;
      awaySince = undefined;
      void connect();
    } else {
      awaySince = Date.now();
      connection?.abort(AWAY);
    }
  };
  const forgetSession = sessionEnded.subscribe(() => {
    if (!sessionEnded.get()) void connect();
  });
  // A connection whose network is gone would be waited for until the silence is too long.
  const onOffline = (): void => connection?.abort();
  const onOnline = (): void => void connect();
  addEventListener('offline', onOffline);
  addEventListener('online', onOnline);
  document.addEventListener('visibilitychange', onVisibility);
  streamState.set('connecting');
  void connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    connection?.abort();
    forgetSession();
    removeEventListener('offline', onOffline);
    removeEventListener('online', onOnline);
    document.removeEventListener('visibilitychange', onVisibility);
  };
}

const AWAY = 'away';
/** Something on the way holds the stream back: a proxy that wants to see the end first. */
const SILENT = 'silent';

interface Reading {
  opened(): void;
  id(id: string): void;
  events(events: readonly LiveEvent[]): void;
}

/** Ends when the server ends the stream, throws when it breaks or falls silent. */
async function read(
  connection: AbortController,
  place: Place,
  lastId: string | undefined,
  reading: Reading,
): Promise<void> {
  let watch: ReturnType<typeof setTimeout> | undefined;
  const heard = (): void => {
    clearTimeout(watch);
    watch = setTimeout(() => connection.abort(SILENT), SILENCE_MAX_MS);
  };
  heard();
  try {
    const response = await askRaw(place, '/api/v1/events/stream', {
      signal: connection.signal,
      headers: lastId === undefined ? {} : { 'Last-Event-ID': lastId },
    });
    const body = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (!body) return;
    reading.opened();
    let rest = '';
    for (;;) {
      heard();
      const { value, done } = await body.read();
      if (done) return;
      const parsed = parseStream(rest + value);
      rest = parsed.rest;
      if (parsed.lastId !== undefined) reading.id(parsed.lastId);
      if (parsed.events.length > 0) reading.events(parsed.events);
    }
  } finally {
    clearTimeout(watch);
  }
}

/** The finished blocks of a piece of stream, and what is left of it. */
export function parseStream(text: string): {
  events: LiveEvent[];
  lastId: string | undefined;
  rest: string;
} {
  const blocks = text.split('\n\n');
  const rest = blocks.pop() ?? '';
  const events: LiveEvent[] = [];
  let lastId: string | undefined;
  for (const block of blocks) {
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) lastId = line.slice(4);
      else if (line.startsWith('data: ')) events.push(JSON.parse(line.slice(6)) as LiveEvent);
    }
  }
  return { events, lastId, rest };
}
