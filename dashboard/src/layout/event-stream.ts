import { fetchRaw, type Schema } from '../api/client.ts';
import { toProblem } from '../api/problem.ts';
import { sessionEnded } from '../api/session-signals.ts';
import { createStore, type Store } from '../lib/store.ts';
import type { Selection } from '../session/selection.ts';

/**
 * The ledger of one place as server-sent events, over fetch: an EventSource cannot say which
 * workspace and mode it is about. A broken stream is taken up again where it ended. It rests while
 * nobody looks at the tab, because a browser has few connections for one server; who was away for
 * long is not led through all that happened, but told to look anew.
 */
export type LiveEvent = Schema<'Event'>;

export interface StreamListener {
  onEvents(events: readonly LiveEvent[]): void;
  /** What happened before this moment may have been missed. */
  onResync(): void;
}

export type StreamState = 'connecting' | 'live' | 'lost';

export const streamState: Store<StreamState> = createStore<StreamState>('connecting');

const RECONNECT_MS = 500;
const RECONNECT_AFTER_ERROR_MS = 5_000;
/** A heartbeat comes every 15 seconds. */
const MAX_SILENCE_MS = 40_000;
const MAX_AWAY_MS = 120_000;

export function followEvents(place: Selection, listener: StreamListener): () => void {
  let stopped = false;
  let connection: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId: string | undefined;
  let hiddenSince: number | undefined;
  let failed = false;

  const connect = async (): Promise<void> => {
    if (stopped || connection || document.visibilityState !== 'visible') return;
    clearTimeout(timer);
    const controller = new AbortController();
    connection = controller;
    let failure: unknown;
    try {
      await readStream(controller, place, lastId, {
        onOpen: () => {
          streamState.set('live');
          // What was asked for during an outage may have failed too.
          if (lastId === undefined || failed) listener.onResync();
          failed = false;
        },
        onId: (id) => {
          lastId = id;
        },
        onEvents: (events) => {
          if (!stopped) listener.onEvents(events);
        },
      });
    } catch (error) {
      failure = error;
    }
    connection = undefined;
    if (stopped) return;
    if (controller.signal.reason === TAB_HIDDEN) {
      // Who left may have come back before the end of the connection was noticed.
      void connect();
      return;
    }
    if (failure !== undefined) handleFailure(toProblem(failure).status, controller.signal.reason === STREAM_SILENT);
    timer = setTimeout(() => void connect(), failure === undefined ? RECONNECT_MS : RECONNECT_AFTER_ERROR_MS);
  };

  const handleFailure = (status: number, silent: boolean): void => {
    failed = true;
    streamState.set('lost');
    // A place that the server does not know, after a restore for instance.
    if (status === 422) lastId = undefined;
    // Without a stream the pages still go on, only slower; without a server they keep what they have.
    if (status > 0 || silent) listener.onResync();
  };

  const onVisibility = (): void => {
    if (document.visibilityState === 'visible') {
      if (hiddenSince !== undefined && Date.now() - hiddenSince > MAX_AWAY_MS) lastId = undefined;
      hiddenSince = undefined;
      void connect();
    } else {
      hiddenSince = Date.now();
      connection?.abort(TAB_HIDDEN);
    }
  };
  const unsubscribeSession = sessionEnded.subscribe(() => {
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
    unsubscribeSession();
    removeEventListener('offline', onOffline);
    removeEventListener('online', onOnline);
    document.removeEventListener('visibilitychange', onVisibility);
  };
}

const TAB_HIDDEN = 'away';
/** Something on the way holds the stream back: a proxy that wants to see the end first. */
const STREAM_SILENT = 'silent';

interface StreamHandlers {
  onOpen(): void;
  onId(id: string): void;
  onEvents(events: readonly LiveEvent[]): void;
}

/** Ends when the server ends the stream, throws when it breaks or falls silent. */
async function readStream(
  connection: AbortController,
  place: Selection,
  lastId: string | undefined,
  handlers: StreamHandlers,
): Promise<void> {
  let silenceTimer: ReturnType<typeof setTimeout> | undefined;
  const resetSilenceTimer = (): void => {
    clearTimeout(silenceTimer);
    silenceTimer = setTimeout(() => connection.abort(STREAM_SILENT), MAX_SILENCE_MS);
  };
  resetSilenceTimer();
  try {
    const response = await fetchRaw(place, '/api/v1/events/stream', {
      signal: connection.signal,
      headers: lastId === undefined ? {} : { 'Last-Event-ID': lastId },
    });
    const body = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (!body) return;
    handlers.onOpen();
    let rest = '';
    for (;;) {
      resetSilenceTimer();
      const { value, done } = await body.read();
      if (done) return;
      const parsed = parseStream(rest + value);
      rest = parsed.rest;
      if (parsed.lastId !== undefined) handlers.onId(parsed.lastId);
      if (parsed.events.length > 0) handlers.onEvents(parsed.events);
    }
  } finally {
    clearTimeout(silenceTimer);
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
