import type { Clock } from '../lib/clock.ts';
import type { LoadedContent } from './content-store.ts';
import type { Delivery, ConcurrencyLimit, Message } from './delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';

/** One transaction on its way: a message, some of its recipients, their place at the gate. */
export interface MailTransaction {
  limit: ConcurrencyLimit;
  message: Message;
  deliveries: Delivery[];
  needsContent: boolean;
}

export interface ContentLoaderParts {
  store: Pick<DeliveryStore, 'readContents' | 'countSuspects'>;
  clock: Clock;
  leaseEndsAtMs: () => number;
  /** The content is in memory, or known to be gone. */
  onReady: (turn: MailTransaction) => void;
  /** Nothing could be read: the turn is over, the leases stand. */
  onError: (turns: MailTransaction[], error: unknown) => void;
  /** Content of so many bytes came into memory. */
  onLoaded: (bytes: number) => void;
  bytesHeld: () => number;
  bytesMax: number;
  /** Lets go of so many bytes that nobody needs yet and storage has too, if there are so many. */
  evict: (bytes: number) => void;
  /** The workspaces that have contents in memory. */
  workspacesWithContent: () => Set<string>;
  /** Contents up to this size are read together. */
  smallBytesMax: number;
}

/**
 * Reads contents just before they are sent: many small ones in one query, large ones one at a time
 * and only while memory allows. Deliveries under suspicion (lease.ts) are counted here, before
 * anything of theirs is touched.
 */
export class ContentLoader {
  readonly #parts: ContentLoaderParts;
  #waiting: MailTransaction[] = [];
  #large: { turn: MailTransaction; bytes: number }[] = [];
  #readsInFlight = 0;
  #scheduled = false;
  /** A moment ago there was no room for large ones. */
  #memoryPaused = false;

  constructor(parts: ContentLoaderParts) {
    this.#parts = parts;
  }

  add(turn: MailTransaction): void {
    this.#waiting.push(turn);
    if (this.#scheduled || this.#readsInFlight >= READS_IN_FLIGHT_MAX) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#next();
    });
  }

  /** Memory may have become free. */
  wake(): void {
    if (this.#large.length > 0) this.#next();
  }

  #next(): void {
    while (this.#readsInFlight < READS_IN_FLIGHT_MAX) {
      const large = this.#takeLarge();
      const turns = large ? [large] : this.#waiting.splice(0, TRANSACTIONS_PER_READ);
      if (turns.length === 0) return;
      this.#readsInFlight += 1;
      const bytesMax = large ? Number.MAX_SAFE_INTEGER : this.#parts.smallBytesMax;
      this.#read(turns, bytesMax)
        .catch((error: unknown) => this.#parts.onError(turns, error))
        .finally(() => {
          this.#readsInFlight -= 1;
          this.#next();
        });
    }
  }

  /**
   * In order, but a workspace that has contents in memory and waits for more room is passed over: that
   * may take as long as its receivers like. One that has none is waited for, or a large message would
   * never find room among smaller ones.
   */
  #takeLarge(): MailTransaction | undefined {
    const [first] = this.#large;
    if (!first || this.#memoryPaused) return undefined;
    const { bytesHeld, bytesMax, evict: letGo, workspacesWithContent: holders } = this.#parts;
    const over = bytesHeld() + first.bytes - bytesMax;
    if (over > 0) letGo(Math.min(over, bytesHeld()));
    const held = bytesHeld();
    // One larger than all the memory we may use goes alone.
    const fits = (bytes: number): boolean => held === 0 || held + bytes <= bytesMax;
    const passedOver = new Set<string>();
    let known: Set<string> | undefined;
    for (const [at, { turn, bytes }] of this.#large.entries()) {
      const { workspaceId } = turn.message;
      if (passedOver.has(workspaceId)) continue;
      if (fits(bytes)) return this.#large.splice(at, 1)[0]?.turn;
      known ??= holders();
      if (!known.has(workspaceId)) break;
      passedOver.add(workspaceId);
    }
    this.#pauseForMemory();
    return undefined;
  }

  /** The look for room goes over all that is held, and every message that leaves asks for one. */
  #pauseForMemory(): void {
    this.#memoryPaused = true;
    this.#parts.clock.after(MEMORY_PAUSE_MS, () => {
      this.#memoryPaused = false;
      this.#next();
    });
  }

  async #read(turns: MailTransaction[], bytesMax: number): Promise<void> {
    await this.#countSuspects(turns);
    const unread = turns.filter((turn) => turn.needsContent && turn.message.content === undefined);
    const contents = unread.length
      ? await this.#parts.store.readContents(
          unread.map((turn) => turn.message),
          bytesMax,
        )
      : [];
    unread.forEach((turn, index) => {
      const content = contents[index];
      if (content && 'largeBytes' in content) this.#large.push({ turn, bytes: content.largeBytes });
      else this.#keep(turn.message, content ?? null);
    });
    const large = new Set(this.#large.map((entry) => entry.turn));
    for (const turn of turns) if (!large.has(turn)) this.#parts.onReady(turn);
  }

  #keep(message: Message, read: LoadedContent): void {
    message.contentMissing = read === null;
    // Cancelled meanwhile: nobody would give the memory back.
    if (message.leased.length === 0) return;
    // Two turns of one message may have been read side by side.
    if (!read || message.content) return;
    message.content = read.content;
    message.contentBytes = read.bytes;
    message.signature = read.signature;
    this.#parts.onLoaded(read.bytes);
  }

  async #countSuspects(turns: MailTransaction[]): Promise<void> {
    const suspects = turns
      .flatMap((turn) => turn.deliveries)
      .filter((delivery) => delivery.suspect);
    if (suspects.length === 0) return;
    const endsAtMs = this.#parts.leaseEndsAtMs();
    const ours = new Set(await this.#parts.store.countSuspects(suspects, endsAtMs));
    suspects.forEach((delivery, index) => {
      delivery.suspect = false;
      if (!ours.has(index)) {
        delivery.leaseEndsAtMs = 0;
        return;
      }
      delivery.lease += 1;
      delivery.leaseEndsAtMs = endsAtMs;
    });
  }
}

const READS_IN_FLIGHT_MAX = 2;
const MEMORY_PAUSE_MS = 20;
const TRANSACTIONS_PER_READ = 100;
