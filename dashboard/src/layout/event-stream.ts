import { fetchRaw, type Schema } from '../api/client.ts';
import { toProblem } from '../api/problem.ts';
import { sessionEnded } from '../api/session-signals.ts';
import { createStore, type Store } from '../lib/store.ts';
import type { Selection } from '../session/selection.ts';

/**
 * The event log of one workspace and mode as server-sent events. It uses fetch because an
 * EventSource cannot send the workspace and mode headers. A broken stream resumes after the last
 * event ID. The stream closes while the tab is hidden, because browsers limit the connections per
 * host; after a long absence it does not replay the missed events but asks for a resync.
 */
export type LiveEvent = Schema<'Event'>;

export interface StreamListener {
  onEvents(events: readonly LiveEvent[]): void;
  /** Earlier events may have been missed: reload everything. */
  onResync(): void;
}

export type StreamState = 'connecting' | 'live' | 'lost';

export const streamState: Store<StreamState> = createStore<StreamState>('connecting');

const RECONNECT_MS = 500;
const RECONNECT_AFTER_ERROR_MS = 5_000;
/** The server sends a heartbeat every 15 seconds. */
const MAX_SILENCE_MS = 40_000;
const MAX_AWAY_MS = 120_000;

export function followEvents(selection: Selection, listener: StreamListener): () => void {
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
      await readStream(controller, selection, lastId, {
        onOpen: () => {
          streamState.set('live');
          // Other requests may have failed during the outage as well.
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
      // The tab may be visible again by the time the connection has closed.
      void connect();
      return;
    }
    if (failure !== undefined)
      handleFailure(toProblem(failure).status, controller.signal.reason === STREAM_SILENT);
    timer = setTimeout(
      () => void connect(),
      failure === undefined ? RECONNECT_MS : RECONNECT_AFTER_ERROR_MS,
    );
  };

  const handleFailure = (status: number, silent: boolean): void => {
    failed = true;
    streamState.set('lost');
    // The server does not know this event ID, for example after a restore.
    if (status === 422) lastId = undefined;
    // Without a stream, pages still refresh, only less often; without a server they keep their data.
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
  // Otherwise a connection without a network is only noticed after the silence timeout.
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
/** Something buffers the stream, such as a proxy that waits for the end of the response. */
const STREAM_SILENT = 'silent';

interface StreamHandlers {
  onOpen(): void;
  onId(id: string): void;
  onEvents(events: readonly LiveEvent[]): void;
}

/** Returns when the server closes the stream; throws when it breaks or goes silent. */
async function readStream(
  connection: AbortController,
  selection: Selection,
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
    const response = await fetchRaw(selection, '/api/v1/events/stream', {
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

/** Parses the complete blocks of a chunk; `rest` is the incomplete last one. */
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
