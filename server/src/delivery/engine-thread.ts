import type { AddressInfo } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { Mode } from '../accounts/tenant-scope.ts';
import type { PoolUsage } from '../db/connections/pool.ts';
import type { Log } from '../lib/log.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { HandedOffMessage, Lease } from '../messages/accept/delivery-handoff.ts';
import { type HandoffParts, reserveCapacity } from './claims/handoff.ts';
import type { Engine } from './engine.ts';
import { type EngineStats, type MutableEngineStats, sharedStats } from './engine-stats.ts';

/**
 * The main thread's handle on a delivery engine that runs in a worker thread. Stats are in shared
 * memory, so that acceptance sees at once whether there is capacity; everything else is messages, in
 * order. When the worker crashes, the process ends with it, and leases bring what it held to other
 * nodes, as after any crash.
 */
export class EngineThread implements Engine {
  readonly #parts: EngineThreadParts;
  readonly #stats: MutableEngineStats;
  readonly #pending = new Map<number, (value: unknown) => void>();
  #lastRequestId = 0;
  readonly #ready = Promise.withResolvers<void>();
  #isReady = false;
  readonly #ended = Promise.withResolvers<void>();
  #stopping = false;
  #exited = false;

  constructor(parts: EngineThreadParts) {
    this.#parts = parts;
    this.#stats = sharedStats(parts.memory);
    // When startup fails elsewhere, nothing awaits this promise.
    this.ready.catch(() => {});
    parts.worker.on('message', (reply: EngineReply) => this.#onMessage(reply));
    parts.worker.on('error', (error) => this.#onError(error));
    parts.worker.on('exit', () => this.#onExit());
  }

  /** Resolves when the worker accepts commands; rejects when it could not start. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get stats(): EngineStats {
    return this.#stats;
  }

  start(): void {
    this.#send({ kind: 'start', localListeners: this.#parts.localListeners() });
  }

  wake(): void {
    this.#send({ kind: 'wake' });
  }

  reserveCapacity(count: number, bytes: number): Lease | undefined {
    const { clock, limits } = this.#parts;
    return reserveCapacity({ stats: this.#stats, clock, limits }, count, bytes);
  }

  leave(): void {
    this.#send({ kind: 'leave' });
  }

  handOff(lease: Lease, accepted: readonly HandedOffMessage[]): void {
    try {
      const messages = accepted.map(withTransferableAttachments);
      const files = messages.flatMap(({ content }) => content.attachments);
      this.#send(
        { kind: 'take', lease, accepted: messages },
        files.map((file) => file.content.buffer as ArrayBuffer),
      );
    } catch (error) {
      // For instance no memory for a copy. The messages are committed: their leases expire, and a
      // claim finds them.
      this.#parts.log.warn({ err: error, messages: accepted.length }, 'handoff failed');
      this.#send({ kind: 'take', lease, accepted: [] });
    }
  }

  withdraw(
    workspaceId: string,
    mode: Mode,
    messageId: string,
    leased: readonly number[] = [],
  ): Promise<boolean> {
    return this.#request(false, (requestId) => ({
      kind: 'withdraw',
      requestId,
      workspaceId,
      mode,
      messageId,
      leased,
    }));
  }

  /** The worker's database connections by pool. */
  connections(): Promise<Record<string, PoolUsage>> {
    return this.#request({}, (requestId) => ({ kind: 'connections', requestId }));
  }

  /** Total time that the worker's event loop was active. */
  busyMs(): number {
    return this.#parts.worker.performance.eventLoopUtilization().active;
  }

  async stop(deadlineMs?: number): Promise<void> {
    this.#stopping = true;
    this.#send({ kind: 'stop', deadlineMs });
    await this.#ended.promise;
  }

  /** Ends a worker that was never started. */
  async terminate(): Promise<void> {
    this.#stopping = true;
    await this.#parts.worker.terminate();
  }

  #onMessage(reply: EngineReply): void {
    switch (reply.kind) {
      case 'ready':
        this.#isReady = true;
        this.#ready.resolve();
        break;
      case 'events_committed':
        this.#parts.onEventsCommitted();
        break;
      case 'response':
        this.#pending.get(reply.requestId)?.(reply.value);
        this.#pending.delete(reply.requestId);
    }
  }

  /** `fallback` is the result when the worker has exited. */
  #request<Value>(fallback: Value, command: (requestId: number) => EngineCommand): Promise<Value> {
    if (this.#exited) return Promise.resolve(fallback);
    this.#lastRequestId += 1;
    const requestId = this.#lastRequestId;
    return new Promise((resolve) => {
      this.#pending.set(requestId, (value) =>
        resolve(value === undefined ? fallback : (value as Value)),
      );
      this.#send(command(requestId));
    });
  }

  #send(command: EngineCommand, transfer: ArrayBuffer[] = []): void {
    this.#parts.worker.postMessage(command, transfer);
  }

  #onExit(): void {
    this.#exited = true;
    for (const resolve of this.#pending.values()) resolve(undefined);
    this.#ended.resolve();
    this.#onError(new Error('The delivery thread ended unexpectedly.'));
  }

  #onError(error: Error): void {
    if (!this.#isReady) this.#ready.reject(error);
    else if (!this.#stopping) this.#parts.onCrash(error);
  }
}

export interface EngineThreadParts {
  worker: Worker;
  memory: SharedArrayBuffer;
  clock: Clock;
  log: Log;
  limits: HandoffParts['limits'];
  /** The addresses on which this node receives mail, known once it listens. */
  localListeners: () => AddressInfo[];
  /** Outcomes were committed, and events with them. */
  onEventsCommitted: () => void;
  /** The worker ended without being stopped. */
  onCrash: (error: Error) => void;
}

export type EngineCommand =
  | { kind: 'start'; localListeners: AddressInfo[] }
  | { kind: 'take'; lease: Lease; accepted: readonly HandedOffMessage[] }
  | {
      kind: 'withdraw';
      requestId: number;
      workspaceId: string;
      mode: Mode;
      messageId: string;
      leased: readonly number[];
    }
  | { kind: 'connections'; requestId: number }
  | { kind: 'leave' }
  | { kind: 'wake' }
  | { kind: 'stop'; deadlineMs: number | undefined };

export type EngineReply =
  | { kind: 'ready' }
  | { kind: 'events_committed' }
  | { kind: 'response'; requestId: number; value: unknown };

/**
 * An attachment is often a slice of a larger buffer, and a structured clone would copy all of it. Each
 * gets a buffer of its own first, which is then transferred instead of copied.
 */
function withTransferableAttachments(handed: HandedOffMessage): HandedOffMessage {
  const { content } = handed;
  if (content.attachments.length === 0) return handed;
  const attachments = content.attachments.map((file) => ({
    ...file,
    content: Buffer.from(new Uint8Array(file.content).buffer),
  }));
  return { ...handed, content: { ...content, attachments } };
}

/** Transferred attachments arrive as plain Uint8Arrays and become Buffers again. */
export function restoreAttachmentBuffers(handed: HandedOffMessage): HandedOffMessage {
  const { content } = handed;
  if (content.attachments.length === 0) return handed;
  const attachments = content.attachments.map((file) => ({
    ...file,
    content: Buffer.from(file.content.buffer),
  }));
  return { ...handed, content: { ...content, attachments } };
}
