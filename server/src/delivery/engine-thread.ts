import type { AddressInfo } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { Mode } from '../accounts/tenant-scope.ts';
import type { Connections } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { HandedOver, Lease } from '../messages/accept/delivery-handoff.ts';
import type { Engine } from './engine.ts';
import { type HandoffParts, reserveCapacity } from './handoff.ts';
import { type EngineStats, type MutableEngineStats, sharedStats } from './engine-stats.ts';

/**
 * The engine as the rest of the process sees it while it works in a thread of its own. Figures are
 * read in memory that both share, so that accepting learns at once whether there is room; all else
 * goes there and back as words, in order. When the thread ends by a fault, the process ends with it:
 * leases bring what it held to others, as after every death of a node.
 */
export class EngineThread implements Engine {
  readonly #parts: EngineThreadParts;
  readonly #stats: MutableEngineStats;
  readonly #pending = new Map<number, (answer: unknown) => void>();
  #lastRequestId = 0;
  readonly #ready = Promise.withResolvers<void>();
  #isReady = false;
  readonly #ended = Promise.withResolvers<void>();
  #stopping = false;
  #exited = false;

  constructor(parts: EngineThreadParts) {
    this.#parts = parts;
    this.#stats = sharedStats(parts.memory);
    // A start that fails elsewhere leaves nobody who waits for it.
    this.ready.catch(() => {});
    parts.worker.on('message', (word: EngineReply) => this.#onMessage(word));
    parts.worker.on('error', (error) => this.#onError(error));
    parts.worker.on('exit', () => this.#onExit());
  }

  /** Settles when the thread listens, or with the fault that kept it from it. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get stats(): EngineStats {
    return this.#stats;
  }

  start(): void {
    this.#send({ kind: 'start', ownPlaces: this.#parts.localListeners() });
  }

  wake(): void {
    this.#send({ kind: 'wake' });
  }

  reserve(count: number, bytes: number): Lease | undefined {
    const { clock, limits } = this.#parts;
    return reserveCapacity({ stats: this.#stats, clock, limits }, count, bytes);
  }

  take(lease: Lease, accepted: readonly HandedOver[]): void {
    try {
      const parcel = accepted.map(withTransferableAttachments);
      const files = parcel.flatMap(({ content }) => content.attachments);
      this.#send(
        { kind: 'take', lease, accepted: parcel },
        files.map((file) => file.content.buffer as ArrayBuffer),
      );
    } catch (error) {
      // No memory for a copy, say. It is committed: the lease runs out, and a claim finds it.
      this.#parts.log.warn({ err: error }, 'what was accepted could not be handed over');
      this.#send({ kind: 'take', lease, accepted: [] });
    }
  }

  withdraw(
    workspaceId: string,
    mode: Mode,
    messageId: string,
    leased: readonly number[] = [],
  ): Promise<boolean> {
    return this.#request(false, (asked) => ({
      kind: 'withdraw',
      asked,
      workspaceId,
      mode,
      messageId,
      leased,
    }));
  }

  /** Its connections to the database, by what they are for. */
  connections(): Promise<Record<string, Connections>> {
    return this.#request({}, (asked) => ({ kind: 'connections', asked }));
  }

  /** How long it has been at work, ever. */
  busyMs(): number {
    return this.#parts.worker.performance.eventLoopUtilization().active;
  }

  async stop(deadlineMs?: number): Promise<void> {
    this.#stopping = true;
    this.#send({ kind: 'stop', deadlineMs });
    await this.#ended.promise;
  }

  /** At once, when it was never started. */
  async terminate(): Promise<void> {
    this.#stopping = true;
    await this.#parts.worker.terminate();
  }

  #onMessage(word: EngineReply): void {
    switch (word.kind) {
      case 'ready':
        this.#isReady = true;
        this.#ready.resolve();
        break;
      case 'told':
        this.#parts.onEventsCommitted();
        break;
      case 'answer':
        this.#pending.get(word.asked)?.(word.answer);
        this.#pending.delete(word.asked);
    }
  }

  /** `otherwise` is the answer of a thread that has left. */
  #request<Answer>(otherwise: Answer, order: (asked: number) => EngineCommand): Promise<Answer> {
    if (this.#exited) return Promise.resolve(otherwise);
    this.#lastRequestId += 1;
    const asked = this.#lastRequestId;
    return new Promise((resolve) => {
      this.#pending.set(asked, (answer) =>
        resolve(answer === undefined ? otherwise : (answer as Answer)),
      );
      this.#send(order(asked));
    });
  }

  #send(order: EngineCommand, files: ArrayBuffer[] = []): void {
    this.#parts.worker.postMessage(order, files);
  }

  #onExit(): void {
    this.#exited = true;
    for (const resolve of this.#pending.values()) resolve(undefined);
    this.#ended.resolve();
    this.#onError(new Error('The thread of the delivery engine has ended.'));
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
  /** The engine's own. */
  limits: HandoffParts['limits'];
  /** Where we take mail ourselves, once the doors are open. */
  localListeners: () => AddressInfo[];
  /** Results were committed, and events with them. */
  onEventsCommitted: () => void;
  /** The thread has ended, and nobody had asked it to. */
  onCrash: (error: Error) => void;
}

/** To the thread. */
export type EngineCommand =
  | { kind: 'start'; ownPlaces: AddressInfo[] }
  | { kind: 'take'; lease: Lease; accepted: readonly HandedOver[] }
  | {
      kind: 'withdraw';
      asked: number;
      workspaceId: string;
      mode: Mode;
      messageId: string;
      leased: readonly number[];
    }
  | { kind: 'connections'; asked: number }
  | { kind: 'wake' }
  | { kind: 'stop'; deadlineMs: number | undefined };

/** From the thread. */
export type EngineReply =
  | { kind: 'ready' }
  | { kind: 'told' }
  | { kind: 'answer'; asked: number; answer: unknown };

/**
 * A file is often a piece of something larger, and a copy for another thread is made of the whole:
 * it gets memory of its own first, which is then handed on instead of copied.
 */
function withTransferableAttachments(handed: HandedOver): HandedOver {
  const { content } = handed;
  if (content.attachments.length === 0) return handed;
  const attachments = content.attachments.map((file) => ({
    ...file,
    content: Buffer.from(new Uint8Array(file.content).buffer),
  }));
  return { ...handed, content: { ...content, attachments } };
}

/** What arrived is memory without a type: octets are octets again. */
export function restoreAttachmentBuffers(handed: HandedOver): HandedOver {
  const { content } = handed;
  if (content.attachments.length === 0) return handed;
  const attachments = content.attachments.map((file) => ({
    ...file,
    content: Buffer.from(file.content.buffer),
  }));
  return { ...handed, content: { ...content, attachments } };
}
