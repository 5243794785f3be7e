import type { AddressInfo } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { Mode } from '../accounts/mode.ts';
import type { Connections } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { HandedOver, Lease } from '../messages/handover.ts';
import type { Engine } from './engine.ts';
import { type HatchParts, reserve } from './hatch.ts';
import { type DeliveryStats, type MutableStats, statsIn } from './stats.ts';

/**
 * The engine as the rest of the process sees it while it works in a thread of its own. Figures are
 * read in memory that both share, so that accepting learns at once whether there is room; all else
 * goes there and back as words, in order. When the thread ends by a fault, the process ends with it:
 * leases bring what it held to others, as after every death of a node.
 */
export class EngineThread implements Engine {
  readonly #parts: EngineThreadParts;
  readonly #stats: MutableStats;
  readonly #asked = new Map<number, (answer: unknown) => void>();
  #lastAsked = 0;
  readonly #ready = Promise.withResolvers<void>();
  #isReady = false;
  readonly #ended = Promise.withResolvers<void>();
  #leaving = false;
  #gone = false;

  constructor(parts: EngineThreadParts) {
    this.#parts = parts;
    this.#stats = statsIn(parts.memory);
    // A start that fails elsewhere leaves nobody who waits for it.
    this.ready.catch(() => {});
    parts.worker.on('message', (word: Word) => this.#hear(word));
    parts.worker.on('error', (error) => this.#fault(error));
    parts.worker.on('exit', () => this.#exited());
  }

  /** Settles when the thread listens, or with the fault that kept it from it. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get stats(): DeliveryStats {
    return this.#stats;
  }

  start(): void {
    this.#say({ kind: 'start', ownPlaces: this.#parts.ownPlaces() });
  }

  wake(): void {
    this.#say({ kind: 'wake' });
  }

  reserve(count: number, bytes: number): Lease | undefined {
    const { clock, limits } = this.#parts;
    return reserve({ stats: this.#stats, clock, limits }, count, bytes);
  }

  take(lease: Lease, accepted: readonly HandedOver[]): void {
    try {
      const parcel = accepted.map(withOwnFiles);
      const files = parcel.flatMap(({ content }) => content.attachments);
      this.#say(
        { kind: 'take', lease, accepted: parcel },
        files.map((file) => file.content.buffer as ArrayBuffer),
      );
    } catch (error) {
      // No memory for a copy, say. It is committed: the lease runs out, and a claim finds it.
      this.#parts.log.warn({ err: error }, 'what was accepted could not be handed over');
      this.#say({ kind: 'take', lease, accepted: [] });
    }
  }

  withdraw(
    workspaceId: string,
    mode: Mode,
    messageId: string,
    leased: readonly number[] = [],
  ): Promise<boolean> {
    return this.#ask(false, (asked) => ({
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
    return this.#ask({}, (asked) => ({ kind: 'connections', asked }));
  }

  /** How long it has been at work, ever. */
  busyMs(): number {
    return this.#parts.worker.performance.eventLoopUtilization().active;
  }

  async stop(deadlineMs?: number): Promise<void> {
    this.#leaving = true;
    this.#say({ kind: 'stop', deadlineMs });
    await this.#ended.promise;
  }

  /** At once, when it was never started. */
  async abandon(): Promise<void> {
    this.#leaving = true;
    await this.#parts.worker.terminate();
  }

  #hear(word: Word): void {
    switch (word.kind) {
      case 'ready':
        this.#isReady = true;
        this.#ready.resolve();
        break;
      case 'told':
        this.#parts.told();
        break;
      case 'answer':
        this.#asked.get(word.asked)?.(word.answer);
        this.#asked.delete(word.asked);
    }
  }

  /** `otherwise` is the answer of a thread that has left. */
  #ask<Answer>(otherwise: Answer, order: (asked: number) => Order): Promise<Answer> {
    if (this.#gone) return Promise.resolve(otherwise);
    this.#lastAsked += 1;
    const asked = this.#lastAsked;
    return new Promise((resolve) => {
      this.#asked.set(asked, (answer) =>
        resolve(answer === undefined ? otherwise : (answer as Answer)),
      );
      this.#say(order(asked));
    });
  }

  #say(order: Order, files: ArrayBuffer[] = []): void {
    this.#parts.worker.postMessage(order, files);
  }

  #exited(): void {
    this.#gone = true;
    for (const resolve of this.#asked.values()) resolve(undefined);
    this.#ended.resolve();
    this.#fault(new Error('The thread of the delivery engine has ended.'));
  }

  #fault(error: Error): void {
    if (!this.#isReady) this.#ready.reject(error);
    else if (!this.#leaving) this.#parts.broken(error);
  }
}

export interface EngineThreadParts {
  worker: Worker;
  memory: SharedArrayBuffer;
  clock: Clock;
  log: Log;
  /** The engine's own. */
  limits: HatchParts['limits'];
  /** Where we take mail ourselves, once the doors are open. */
  ownPlaces: () => AddressInfo[];
  /** Results were committed, and events with them. */
  told: () => void;
  /** The thread has ended, and nobody had asked it to. */
  broken: (error: Error) => void;
}

/** To the thread. */
export type Order =
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
export type Word =
  | { kind: 'ready' }
  | { kind: 'told' }
  | { kind: 'answer'; asked: number; answer: unknown };

/**
 * A file is often a piece of something larger, and a copy for another thread is made of the whole:
 * it gets memory of its own first, which is then handed on instead of copied.
 */
function withOwnFiles(handed: HandedOver): HandedOver {
  const { content } = handed;
  if (content.attachments.length === 0) return handed;
  const attachments = content.attachments.map((file) => ({
    ...file,
    content: Buffer.from(new Uint8Array(file.content).buffer),
  }));
  return { ...handed, content: { ...content, attachments } };
}

/** What arrived is memory without a type: octets are octets again. */
export function withBuffers(handed: HandedOver): HandedOver {
  const { content } = handed;
  if (content.attachments.length === 0) return handed;
  const attachments = content.attachments.map((file) => ({
    ...file,
    content: Buffer.from(file.content.buffer),
  }));
  return { ...handed, content: { ...content, attachments } };
}
