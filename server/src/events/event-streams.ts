import { Readable } from 'node:stream';
import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import type { Log } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { WorkLoop } from '../lib/scheduling/work-loop.ts';
import type { Clock, Timer } from '../lib/time/clock.ts';
import { isAuditType } from './event-types.ts';
import {
  committedPosition,
  type EventPosition,
  isAfter,
  publicEvent,
  readEventLog,
  type StoredEvent,
} from './events-store.ts';
import { type FeedFilter, readFeed } from './feed-store.ts';

/**
 * Streams new events to connected readers. However many there are, a node reads the event log once
 * and sends each event to the matching readers. A reader that starts at an earlier position first
 * catches up through the feed at its own speed. One that cannot keep up is disconnected: it
 * reconnects with its last cursor, so it loses nothing and blocks no one.
 */
export interface StreamReader {
  workspaceId: string;
  mode: Mode;
  /** Who reads, a key or a person, and when their access ends. */
  actor?: string;
  endsAtMs?: number;
}

export interface EventStreamsParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  /** The feed cursor that a reader passes to continue from a position. */
  cursorOf: (position: EventPosition) => string;
  limits?: Partial<StreamLimits>;
}

export interface StreamLimits {
  /** How much may be buffered for a reader before it is disconnected. */
  bufferedBytesMax: number;
  perWorkspaceMax: number;
  totalMax: number;
  heartbeatMs: number;
  /** After this a reader must reconnect and authenticate again. */
  lifetimeMs: number;
  pollMs: number;
}

const DEFAULT_STREAM_LIMITS: StreamLimits = {
  bufferedBytesMax: 1024 * 1024,
  perWorkspaceMax: 20,
  totalMax: 2_000,
  heartbeatMs: 15_000,
  lifetimeMs: 300_000,
  pollMs: 200,
};

const READ_BATCH = 1_000;
const CATCH_UP_PAGE = 100;
const SOON_MS = 5;

interface Stream {
  scope: StreamReader;
  filter: FeedFilter;
  position: EventPosition;
  /** False while the reader catches up through the feed. */
  following: boolean;
  /** Nothing is written after this. */
  closed: boolean;
  body: Readable;
  timers: Timer[];
}

export class EventStreams {
  readonly #parts: EventStreamsParts;
  readonly #limits: StreamLimits;
  readonly #streams = new Set<Stream>();
  readonly #readLoop: WorkLoop;
  #position: EventPosition | undefined;
  #stopped = false;

  constructor(parts: EventStreamsParts) {
    this.#parts = parts;
    this.#limits = { ...DEFAULT_STREAM_LIMITS, ...parts.limits };
    const { clock, log } = parts;
    this.#readLoop = new WorkLoop({
      clock,
      log,
      task: 'reading events for streams',
      work: () => this.#read(),
      idleMs: this.#limits.pollMs,
      firstDelayMs: SOON_MS,
      minIntervalMs: () => SOON_MS,
    });
  }

  get count(): number {
    return this.#streams.size;
  }

  /** Called after events were appended. */
  wake(): void {
    this.#readLoop.wake();
  }

  /**
   * Opens a stream from a position, or from now. It ends when its reader disconnects, and the other
   * way around.
   */
  async open(
    scope: StreamReader,
    from: EventPosition | undefined,
    filter: FeedFilter,
  ): Promise<Readable> {
    this.#checkLimits(scope);
    const position = from ?? (await committedPosition(this.#parts.pool));
    const first = await readFeed(this.#parts.pool, scope, position, CATCH_UP_PAGE, filter);
    // Others may have connected while the database was queried.
    this.#checkLimits(scope);
    const stream = this.#register(scope, filter, position);
    this.#write(stream, 'retry: 2000\n\n');
    this.#sendEvents(stream, first.events, first.next);
    void this.#catchUp(stream);
    return stream.body;
  }

  /** A key of the workspace changed: its readers must authenticate again. */
  closeWorkspace(workspaceId: string): void {
    for (const stream of this.#streams) {
      if (stream.scope.workspaceId === workspaceId) this.#close(stream);
    }
  }

  /** A session or role changed: its streams end, and the reader reconnects if still allowed. */
  closeReader(actor: string): void {
    for (const stream of this.#streams) {
      if (stream.scope.actor === actor) this.#close(stream);
    }
  }

  /** Notifications were lost, so any reader's permissions may have changed. */
  closeForReauthentication(): void {
    for (const stream of this.#streams) this.#close(stream);
  }

  /** The server is shutting down: readers are disconnected, and no new ones are accepted. */
  closeAll(): void {
    this.#stopped = true;
    this.closeForReauthentication();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#readLoop.stop();
    for (const stream of this.#streams) stream.body.destroy();
  }

  #checkLimits({ workspaceId }: StreamReader): void {
    const { perWorkspaceMax, totalMax } = this.#limits;
    const own = [...this.#streams].filter((one) => one.scope.workspaceId === workspaceId).length;
    if (own >= perWorkspaceMax) {
      const detail = `A workspace can have at most ${perWorkspaceMax} open streams.`;
      throw new RefusedError('rate_limited', detail, { retryAfterSeconds: 5 });
    }
    if (this.#stopped || this.#streams.size >= totalMax) {
      throw new RefusedError('overloaded', 'Too many open streams.', { retryAfterSeconds: 5 });
    }
  }

  #register(scope: StreamReader, filter: FeedFilter, position: EventPosition): Stream {
    const { clock } = this.#parts;
    const { heartbeatMs, lifetimeMs } = this.#limits;
    const body = new Readable({ read: () => {}, highWaterMark: this.#limits.bufferedBytesMax });
    const { workspaceId, mode, actor, endsAtMs = Infinity } = scope;
    const stream: Stream = {
      scope: { workspaceId, mode, ...(actor === undefined ? {} : { actor }) },
      filter,
      position,
      following: false,
      closed: false,
      body,
      timers: [],
    };
    const beat = (): void => {
      // Also reports the position reached, past events that the filter left out.
      this.#write(stream, `id: ${this.#parts.cursorOf(stream.position)}\n: still here\n\n`);
      stream.timers[0] = clock.after(heartbeatMs, beat);
    };
    stream.timers = [
      clock.after(heartbeatMs, beat),
      clock.after(Math.min(lifetimeMs, endsAtMs - clock.now()), () => this.#close(stream)),
    ];
    body.on('error', () => {});
    body.once('close', () => {
      stream.closed = true;
      for (const timer of stream.timers) timer.cancel();
      this.#streams.delete(stream);
      if (this.#streams.size === 0) void this.#readLoop.stop();
    });
    this.#streams.add(stream);
    if (this.#streams.size === 1) this.#startReading();
    return stream;
  }

  /** The event log is only read while there are streams. What was read before is long out of date. */
  #startReading(): void {
    this.#position = undefined;
    this.#readLoop.start();
  }

  /** Reads the feed until the stream has caught up with the shared reader. */
  async #catchUp(stream: Stream): Promise<void> {
    try {
      while (!stream.closed) {
        if (this.#isBacklogged(stream)) {
          await this.#waitForDrain(stream);
          continue;
        }
        const reached = this.#position;
        const { pool } = this.#parts;
        const page = await readFeed(
          pool,
          stream.scope,
          stream.position,
          CATCH_UP_PAGE,
          stream.filter,
        );
        // Otherwise the wait below would leave a timer behind.
        if (stream.closed) return;
        this.#sendEvents(stream, page.events, page.next);
        // No events were sent while the page was read, so the shared reader takes over. A
        // backlogged stream must catch up first, or the next event would disconnect it.
        if (!page.hasMore && reached && reached === this.#position && !this.#isBacklogged(stream)) {
          stream.following = true;
          return;
        }
        if (!page.hasMore) await this.#pause(SOON_MS);
      }
    } catch (error) {
      this.#parts.log.debug({ err: error }, 'event stream ended');
      stream.body.destroy();
    }
  }

  #isBacklogged({ body }: Stream): boolean {
    return body.readableLength > this.#limits.bufferedBytesMax / 2;
  }

  /** Waits until the reader has consumed data. A reader that stalls too long is disconnected. */
  async #waitForDrain(stream: Stream): Promise<void> {
    const before = stream.body.readableLength;
    await this.#pause(DRAIN_CHECK_MS);
    if (stream.body.readableLength < before) return;
    await this.#pause(DRAIN_TIMEOUT_MS);
    if (stream.body.readableLength >= before) stream.body.destroy();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#parts.clock.after(ms, resolve));
  }

  /** Reads the event log once for all streams. Returns true when there may be more. */
  async #read(): Promise<boolean> {
    const { pool } = this.#parts;
    if (!this.#position) {
      this.#position = await committedPosition(pool);
      return false;
    }
    const workspaces = new Set([...this.#streams].map(({ scope }) => scope.workspaceId));
    const { events, next, scanned } = await readEventLog(pool, this.#position, READ_BATCH, [
      ...workspaces,
    ]);
    if (scanned === 0) return false;
    this.#position = next;
    for (const stream of this.#streams) {
      if (!stream.following) continue;
      const own = events.filter(
        (event) =>
          event.workspaceId === stream.scope.workspaceId &&
          event.mode === stream.scope.mode &&
          isAfter(event, stream.position) &&
          matchesTypes(event, stream.filter),
      );
      this.#sendEvents(stream, own, next);
      // While catching up the reader sets the pace, but it must not hold up the shared reader.
      if (stream.body.readableLength > this.#limits.bufferedBytesMax) stream.body.destroy();
    }
    return scanned === READ_BATCH;
  }

  #sendEvents(stream: Stream, events: readonly StoredEvent[], next: EventPosition): void {
    if (isAfter(next, stream.position)) stream.position = next;
    if (events.length === 0) return;
    const { cursorOf } = this.#parts;
    const text = events
      .map((event) => `id: ${cursorOf(event)}\ndata: ${JSON.stringify(publicEvent(event))}\n\n`)
      .join('');
    this.#write(stream, text);
  }

  #write(stream: Stream, text: string): void {
    if (!stream.closed) stream.body.push(text);
  }

  #close(stream: Stream): void {
    if (stream.closed) return;
    stream.closed = true;
    stream.body.push(null);
  }
}

const DRAIN_CHECK_MS = 50;
const DRAIN_TIMEOUT_MS = 10_000;

export function matchesTypes({ type }: StoredEvent, { types }: FeedFilter): boolean {
  if (!types) return !isAuditType(type);
  return types.includes(type) || types.includes(`${type.split('.')[0]}.*`);
}
