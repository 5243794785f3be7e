import { Fifo } from '../../lib/scheduling/fifo.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  openSmtp,
  type SmtpOpenResult,
  type SmtpTarget,
} from '../../mail/smtp-client/open-connection.ts';
import type { SmtpConnection } from '../../mail/smtp-client/smtp-connection.ts';
import type { SmtpMessage } from '../../mail/smtp-client/smtp-message.ts';
import type {
  SmtpFailure,
  SmtpSendResult,
  SmtpSessionInfo,
} from '../../mail/smtp-client/smtp-results.ts';
import type { SmtpTimeouts } from '../../mail/smtp-client/timeouts.ts';
import {
  joinTranscripts,
  noteTranscript,
  type SmtpTranscript,
} from '../../mail/smtp-client/transcript.ts';
import type { RouteError } from '../../messages/verdict/verdict.ts';
import type { Shaping } from '../receivers/shaping.ts';
import type { IdleConnections } from './idle-connections.ts';

/**
 * The connections to one address of one receiver under one TLS policy. Messages come in and results
 * go out; connections are opened on demand, shared, reused, and closed when idle, old or used up. A
 * failed address is remembered for a while, so that a thousand messages do not each wait for the
 * same timeout.
 */
export class SmtpConnectionPool {
  readonly #target: SmtpTarget;
  readonly #parts: ConnectionPoolParts;
  readonly #stop = new AbortController();
  #connections: PooledConnection[] = [];
  #opening = 0;
  #waiting = new Fifo<Job>();
  #failed: { failure: OpenFailure; atMs: number; untilMs: number } | undefined;
  #consecutiveFailures = 0;
  /**
   * How many connections were open when the server refused another, and how long that limit
   * applies.
   */
  #refusedAt: { connections: number; untilMs: number } | undefined;
  /** Until then connections are unencrypted, because TLS is broken and not required. */
  #plaintextUntilMs = 0;
  /** Until then messages are sent with DATA, because some in chunks got no reply. */
  #unchunkedUntilMs = 0;

  constructor(target: SmtpTarget, parts: ConnectionPoolParts) {
    this.#target = target;
    this.#parts = parts;
  }

  /** Why the address could not be reached recently; undefined when it may be tried. */
  get recentFailure(): OpenFailure | undefined {
    const failed = this.#failed;
    const nowMs = this.#parts.clock.now();
    // After the clock was set back, the age of the failure is unknown.
    return failed && nowMs >= failed.atMs && nowMs < failed.untilMs ? failed.failure : undefined;
  }

  get isConnected(): boolean {
    return this.#connections.some(({ connection }) => connection.usable);
  }

  /** The pool is idle and remembers nothing worth keeping. */
  isDisposable(nowMs: number): boolean {
    const idle = this.#connections.length === 0 && this.#opening === 0 && this.#waiting.size === 0;
    const rememberMs = this.#parts.hasFallback ? FAILURE_CACHE_MAX_MS : 0;
    const failedUntilMs = this.#failed ? this.#failed.untilMs + rememberMs : 0;
    const rememberedUntilMs = Math.max(this.#plaintextUntilMs, this.#unchunkedUntilMs);
    return idle && nowMs >= failedUntilMs && nowMs >= rememberedUntilMs;
  }

  /** `onAssigned` is called when the message has a connection, which was greeted. */
  send(message: SmtpMessage, onAssigned: () => void = () => {}): Promise<PoolSendResult> {
    return new Promise((resolve) => {
      this.#waiting.push({ message, resolve, onAssigned });
      this.#dispatch();
    });
  }

  /** Called periodically: closes connections that are idle or too old. */
  sweep(nowMs: number): void {
    const { idleMs } = this.#parts.shaping;
    this.#connections = this.#connections.filter((open) => {
      const { connection } = open;
      if (connection.usable) {
        const resting = connection.inFlight === 0;
        if (!resting) return true;
        if (nowMs - open.lastUsedAtMs < idleMs && nowMs - open.openedAtMs < AGE_MAX_MS) return true;
        void connection.quit();
      }
      this.#parts.idle.delete(open);
      return false;
    });
  }

  abort(): void {
    this.#stop.abort();
    for (const { connection } of this.#connections) connection.destroy();
    this.#connections = [];
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#connections.map(({ connection }) => connection.quit()));
  }

  #dispatch(): void {
    while (this.#waiting.size > 0) {
      const open = this.#pick();
      if (open) {
        this.#assign(open, this.#waiting.shift() as Job);
        continue;
      }
      const total = this.#connections.length + this.#opening;
      const wanted = this.#waiting.size > this.#opening * 2;
      if (total < this.#connectionsMax() && wanted) void this.#open();
      return;
    }
  }

  #connectionsMax(): number {
    const { shaping, clock } = this.#parts;
    if (this.#refusedAt && clock.now() >= this.#refusedAt.untilMs) this.#refusedAt = undefined;
    return Math.min(shaping.connectionsMax, this.#refusedAt?.connections ?? shaping.connectionsMax);
  }

  /** An idle connection, or the first with room: pipelining fills one before another is opened. */
  #pick(): PooledConnection | undefined {
    let best: PooledConnection | undefined;
    let hasUnusable = false;
    for (const open of this.#connections) {
      if (!open.connection.usable) hasUnusable = true;
      else if (open.connection.hasCapacity && !open.exhausted) {
        if (open.connection.inFlight === 0) return open;
        best ??= open;
      }
    }
    if (hasUnusable) {
      this.#connections = this.#connections.filter((open) => {
        if (!open.connection.usable) this.#parts.idle.delete(open);
        return open.connection.usable;
      });
    }
    return best;
  }

  #assign(open: PooledConnection, job: Job): void {
    const { shaping, clock, idle } = this.#parts;
    const { connection } = open;
    idle.delete(open);
    job.onAssigned();
    open.messagesSent += 1;
    open.exhausted = open.messagesSent >= shaping.messagesPerConnectionMax;
    connection.send(job.message).then(
      (result) => {
        open.lastUsedAtMs = clock.now();
        if (connection.lostChunks) this.#stopChunking();
        if (open.exhausted && connection.usable) this.#retire(open);
        job.resolve({ ok: true, result: withTlsTranscript(result, open.tlsTranscript) });
        this.#dispatch();
        if (connection.inFlight === 0 && connection.usable && !open.exhausted) idle.add(open);
      },
      (error: unknown) => {
        connection.destroy();
        job.resolve({ ok: false, error });
        this.#dispatch();
      },
    );
  }

  #stopChunking(): void {
    this.#unchunkedUntilMs = this.#parts.clock.now() + UNCHUNKED_CACHE_MS;
    for (const { connection } of this.#connections) connection.stopChunking();
  }

  #retire(open: PooledConnection): void {
    void open.connection.quit();
    this.#parts.idle.delete(open);
    this.#connections = this.#connections.filter((other) => other !== open);
  }

  async #open(): Promise<void> {
    const { clock } = this.#parts;
    this.#opening += 1;
    const { opened, before } = await this.#connect();
    this.#opening -= 1;
    if (opened.ok && this.#parts.isOwnServer(opened.connection.session)) {
      this.#detectedLoop(opened.connection, before);
    } else if (opened.ok && !this.#stop.signal.aborted) {
      const nowMs = clock.now();
      const { connection } = opened;
      this.#failed = undefined;
      this.#consecutiveFailures = 0;
      if (nowMs < this.#unchunkedUntilMs) connection.stopChunking();
      this.#parts.onConnected(connection);
      const open: PooledConnection = {
        connection,
        tlsTranscript: before,
        openedAtMs: nowMs,
        lastUsedAtMs: nowMs,
        messagesSent: 0,
        exhausted: false,
        retire: () => this.#retire(open),
      };
      this.#connections.push(open);
      this.#parts.idle.add(open);
    } else if (opened.ok) {
      opened.connection.destroy();
    } else {
      const { failure, session } = opened;
      const transcript = joinTranscripts(before, opened.transcript);
      this.#openFailed({ failure, session, transcript });
    }
    this.#dispatch();
  }

  #detectedLoop(connection: SmtpConnection, before: SmtpTranscript | undefined): void {
    const { session } = connection;
    void connection.quit();
    const detail = `${session.host} [${session.ip}] identified itself with this server's own name, ${session.receiverName}.`;
    const note = noteTranscript(this.#parts.clock.now(), detail);
    const transcript = joinTranscripts(before, note);
    this.#openFailed({ failure: { kind: 'loop', detail }, session, transcript });
  }

  #openFailed(failed: OpenFailure): void {
    const { failure } = failed;
    const usable = this.#connections.filter(({ connection }) => connection.usable).length;
    // While other connections are open, the receiver is up and only refuses more of them: waiting
    // messages use the open ones, and no new connection is attempted for a while. The order in
    // which the receiver greets concurrent connections is arbitrary.
    if (usable > 0 || (failure.kind === 'refused' && this.#opening > 0)) {
      const untilMs = this.#parts.clock.now() + REFUSAL_CACHE_MS;
      this.#refusedAt = { connections: usable + this.#opening, untilMs };
      return;
    }
    const lastsMs = failure.kind === 'aborted' ? 0 : this.#failureCacheMs();
    this.#consecutiveFailures += 1;
    const atMs = this.#parts.clock.now();
    this.#failed = { failure: failed, atMs, untilMs: atMs + lastsMs };
    for (let job = this.#waiting.shift(); job; job = this.#waiting.shift()) {
      job.resolve({ ok: false, failed });
    }
  }

  /**
   * Each attempt at a relay that does not respond delays mail that has a fallback route, so such a
   * relay is tried less and less often. A receiver is tried whenever a delivery is due, because
   * there is no alternative.
   */
  #failureCacheMs(): number {
    if (!this.#parts.hasFallback) return FAILURE_CACHE_MS;
    return Math.min(FAILURE_CACHE_MS * 2 ** this.#consecutiveFailures, FAILURE_CACHE_MAX_MS);
  }

  /** RFC 7435: where TLS is optional, broken TLS must not be worse than no TLS. */
  async #connect(): Promise<{ opened: SmtpOpenResult; before: SmtpTranscript | undefined }> {
    const { clock } = this.#parts;
    const optional = this.#target.tls.kind === 'opportunistic' && !this.#target.implicitTls;
    const plain: SmtpTarget = { ...this.#target, tls: { kind: 'none' } };
    if (optional && clock.now() < this.#plaintextUntilMs) {
      return { opened: await this.#openConnection(plain), before: undefined };
    }
    const opened = await this.#openConnection(this.#target);
    const brokenTls = !opened.ok && opened.failure.stage === 'starttls';
    if (!brokenTls || !optional || this.#stop.signal.aborted) return { opened, before: undefined };
    const again = await this.#openConnection(plain);
    if (again.ok) this.#plaintextUntilMs = clock.now() + PLAINTEXT_CACHE_MS;
    return { opened: again, before: opened.transcript };
  }

  #openConnection(target: SmtpTarget): Promise<SmtpOpenResult> {
    const { heloName, clock, timeouts } = this.#parts;
    const { signal } = this.#stop;
    return openSmtp(target, { heloName, clock, signal, ...(timeouts ? { timeouts } : {}) });
  }
}

export interface ConnectionPoolParts {
  clock: Clock;
  heloName: string;
  shaping: Shaping;
  /** Shared by all pools. */
  idle: IdleConnections;
  /** Whether the server that greeted us is this server. */
  isOwnServer: (session: SmtpSessionInfo) => boolean;
  onConnected: (connection: SmtpConnection) => void;
  /** Messages that fail here have another route. */
  hasFallback: boolean;
  timeouts?: Partial<SmtpTimeouts>;
}

export interface OpenFailure {
  failure: SmtpFailure | RouteError;
  session: SmtpSessionInfo;
  transcript: SmtpTranscript;
}

export type PoolSendResult =
  | { ok: true; result: SmtpSendResult }
  | { ok: false; failed: OpenFailure }
  /** A bug in our SMTP client. */
  | { ok: false; error: unknown };

interface PooledConnection {
  connection: SmtpConnection;
  /** The failed attempt with TLS before this connection, reported with its first message. */
  tlsTranscript: SmtpTranscript | undefined;
  openedAtMs: number;
  lastUsedAtMs: number;
  messagesSent: number;
  exhausted: boolean;
  /** Closes the connection. */
  retire: () => void;
}

interface Job {
  message: SmtpMessage;
  resolve: (result: PoolSendResult) => void;
  onAssigned: () => void;
}

const AGE_MAX_MS = 5 * 60_000;
const FAILURE_CACHE_MS = 30_000;
const FAILURE_CACHE_MAX_MS = 5 * 60_000;
const REFUSAL_CACHE_MS = 60_000;
const PLAINTEXT_CACHE_MS = 10 * 60_000;
/** Longer than the first retries of what got no reply. */
const UNCHUNKED_CACHE_MS = 60 * 60_000;

function withTlsTranscript(
  result: SmtpSendResult,
  before: SmtpTranscript | undefined,
): SmtpSendResult {
  if (!before || result.messageNumber > 1) return result;
  return { ...result, transcript: joinTranscripts(before, result.transcript) };
}
