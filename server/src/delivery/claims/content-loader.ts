import type { Clock } from '../../lib/time/clock.ts';
import type { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import type { Delivery, Message } from '../delivery.ts';
import type { LoadedContent } from './content-store.ts';
import type { DeliveryStore } from './delivery-store.ts';

/**
 * A transaction in progress: a message, some of its recipients, and the limit it counts against.
 */
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
  /** The content is in memory, or known to be missing. */
  onReady: (transaction: MailTransaction) => void;
  /** Nothing could be read: the transactions end, the leases remain. */
  onError: (transactions: MailTransaction[], error: unknown) => void;
  /** Content of this size was loaded into memory. */
  onLoaded: (bytes: number) => void;
  contentBytes: () => number;
  bytesMax: number;
  /** Evicts at least this many bytes of content that is not needed yet, if there is that much. */
  evict: (bytes: number) => void;
  /** The workspaces that have content in memory. */
  workspacesWithContent: () => Set<string>;
  /** Contents up to this size are read in one query. */
  smallBytesMax: number;
}

/**
 * Reads contents just before they are sent: many small ones in one query, large ones one at a time
 * and only while memory allows. Suspect deliveries (lease-store.ts) are counted here, before
 * anything of theirs is touched.
 */
export class ContentLoader {
  readonly #parts: ContentLoaderParts;
  #waiting: MailTransaction[] = [];
  #large: { transaction: MailTransaction; bytes: number }[] = [];
  #readsInFlight = 0;
  #scheduled = false;
  /** There was no memory for a large content a moment ago. */
  #memoryPaused = false;

  constructor(parts: ContentLoaderParts) {
    this.#parts = parts;
  }

  add(transaction: MailTransaction): void {
    this.#waiting.push(transaction);
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
      const transactions = large ? [large] : this.#waiting.splice(0, TRANSACTIONS_PER_READ);
      if (transactions.length === 0) return;
      this.#readsInFlight += 1;
      const bytesMax = large ? Number.MAX_SAFE_INTEGER : this.#parts.smallBytesMax;
      this.#read(transactions, bytesMax)
        .catch((error: unknown) => this.#parts.onError(transactions, error))
        .finally(() => {
          this.#readsInFlight -= 1;
          this.#next();
        });
    }
  }

  /**
   * In order, except that a workspace which already has content in memory and waits for more is
   * skipped: it may wait as long as its receivers take. A workspace without any is waited for;
   * otherwise a large message would never find memory among smaller ones.
   */
  #takeLarge(): MailTransaction | undefined {
    const [first] = this.#large;
    if (!first || this.#memoryPaused) return undefined;
    const { contentBytes, bytesMax, evict, workspacesWithContent } = this.#parts;
    const over = contentBytes() + first.bytes - bytesMax;
    if (over > 0) evict(Math.min(over, contentBytes()));
    const bytesInUse = contentBytes();
    // A content larger than the whole budget is read when nothing else is in memory.
    const fits = (bytes: number): boolean => bytesInUse === 0 || bytesInUse + bytes <= bytesMax;
    const skipped = new Set<string>();
    let workspaces: Set<string> | undefined;
    for (const [at, { transaction, bytes }] of this.#large.entries()) {
      const { workspaceId } = transaction.message;
      if (skipped.has(workspaceId)) continue;
      if (fits(bytes)) return this.#large.splice(at, 1)[0]?.transaction;
      workspaces ??= workspacesWithContent();
      if (!workspaces.has(workspaceId)) break;
      skipped.add(workspaceId);
    }
    this.#pauseForMemory();
    return undefined;
  }

  /**
   * Looking for memory iterates over all leased messages, and every finished message triggers it.
   */
  #pauseForMemory(): void {
    this.#memoryPaused = true;
    this.#parts.clock.after(MEMORY_PAUSE_MS, () => {
      this.#memoryPaused = false;
      this.#next();
    });
  }

  async #read(transactions: MailTransaction[], bytesMax: number): Promise<void> {
    await this.#countSuspects(transactions);
    const unread = transactions.filter(
      (transaction) => transaction.needsContent && transaction.message.content === undefined,
    );
    const contents = unread.length
      ? await this.#parts.store.readContents(
          unread.map((transaction) => transaction.message),
          bytesMax,
        )
      : [];
    unread.forEach((transaction, index) => {
      const content = contents[index];
      if (content && 'largeBytes' in content)
        this.#large.push({ transaction, bytes: content.largeBytes });
      else this.#keep(transaction.message, content ?? null);
    });
    const large = new Set(this.#large.map((entry) => entry.transaction));
    for (const transaction of transactions)
      if (!large.has(transaction)) this.#parts.onReady(transaction);
  }

  #keep(message: Message, read: LoadedContent): void {
    message.contentMissing = read === null;
    // The message was cancelled meanwhile: nothing would release the memory.
    if (message.leased.length === 0) return;
    // Two transactions of one message may have been read concurrently.
    if (!read || message.content) return;
    message.content = read.content;
    message.contentBytes = read.bytes;
    message.signature = read.signature;
    this.#parts.onLoaded(read.bytes);
  }

  async #countSuspects(transactions: MailTransaction[]): Promise<void> {
    const suspects = transactions
      .flatMap((transaction) => transaction.deliveries)
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
