import { NotifyCache } from '../lib/notify-cache.ts';
import { invalidFields, type RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { HOUR_MS, type MessageQuota, messageQuotaExceeded, plural, type Quotas } from './quota.ts';

/**
 * Admits live messages within the quotas of their workspace, without a query per message: a node leases
 * a chunk from the database and spends it in memory. What was leased counts as used, so all nodes
 * together never accept more than a quota; near its end, each may be left with a part of a chunk that the
 * others cannot use.
 */

export type LeaseResult =
  | { granted: number }
  /** `left`: fewer messages than requested may still be leased. */
  | { granted: 0; left: number; exhausted: MessageQuota; limit: number };

export interface MessageQuotaParts {
  clock: Clock;
  maxAgeMs: () => number;
  read(workspaceId: string): Promise<CurrentQuotas>;
  /** Leases a chunk, or more if one request needs it. */
  lease(workspaceId: string, quotas: Quotas, messages: number): Promise<LeaseResult>;
  giveBack(workspaceId: string, hourMs: number, messages: number): Promise<void>;
}

export interface CurrentQuotas {
  /** Undefined if the workspace has no quotas. */
  quotas: Quotas | undefined;
  /** When they change without a notification. */
  endsAtMs: number;
}

/** What a node may still accept in an hour. */
interface Lease {
  hourMs: number;
  left: number;
  refused: { left: number; exhausted: MessageQuota; limit: number } | undefined;
  leasing: Promise<void> | undefined;
}

const WORKSPACES_MAX = 20_000;

export class MessageQuotas {
  readonly #parts: MessageQuotaParts;
  readonly #cache: NotifyCache<CurrentQuotas>;
  readonly #leases = new Map<string, Lease>();

  constructor(parts: MessageQuotaParts) {
    this.#parts = parts;
    this.#cache = new NotifyCache({ ...parts, entriesMax: WORKSPACES_MAX });
  }

  /**
   * Throws a RefusedError if the quotas do not allow the messages. Returns no promise for a workspace
   * without quotas or with enough messages leased, because every send takes this path.
   */
  admit(workspaceId: string, messages: number, recipientsMax: number): Promise<void> | undefined {
    const found = this.quotasOf(workspaceId);
    if (found instanceof Promise) {
      return found.then((quotas) => this.#admit(workspaceId, quotas, messages, recipientsMax));
    }
    return this.#admit(workspaceId, found, messages, recipientsMax);
  }

  /** The messages were not accepted. */
  refund(workspaceId: string, messages: number): void {
    const lease = this.#leases.get(workspaceId);
    if (lease && lease.hourMs === this.#hourMs()) lease.left += messages;
  }

  /**
   * The quotas of the workspace were changed: what was refused may be allowed now, and what was leased may
   * be too much.
   */
  invalidateWorkspace(workspaceId: string): void {
    this.#cache.invalidate(workspaceId);
    const lease = this.#leases.get(workspaceId);
    if (!lease) return;
    lease.refused = undefined;
    const { left } = lease;
    lease.left = 0;
    if (left === 0 || lease.hourMs !== this.#hourMs()) return;
    // What cannot be returned now is settled by the count of the hour.
    this.#parts.giveBack(workspaceId, lease.hourMs, left).catch(() => {});
  }

  invalidateAll(): void {
    this.#cache.invalidateAll();
    for (const lease of this.#leases.values()) lease.refused = undefined;
  }

  /** Returns what this node leased and did not use, before it stops. */
  async release(): Promise<void> {
    const hourMs = this.#hourMs();
    const leases = [...this.#leases];
    this.#leases.clear();
    for (const [workspaceId, { hourMs: leasedFor, left }] of leases) {
      if (leasedFor === hourMs && left > 0) await this.#parts.giveBack(workspaceId, hourMs, left);
    }
  }

  /** Cached; undefined if the workspace has no quotas. */
  quotasOf(workspaceId: string): Quotas | undefined | Promise<Quotas | undefined> {
    const found = this.#current(workspaceId);
    return found instanceof Promise ? found.then(({ quotas }) => quotas) : found.quotas;
  }

  #current(workspaceId: string): CurrentQuotas | Promise<CurrentQuotas> {
    const read = () => this.#parts.read(workspaceId);
    const found = this.#cache.get(workspaceId, '', read);
    if (found instanceof Promise || this.#parts.clock.now() < found.endsAtMs) return found;
    this.#cache.invalidate(workspaceId);
    return this.#cache.get(workspaceId, '', read);
  }

  /**
   * The rate limit of the workspace's own; undefined if it has none. Never waits: until the quotas are
   * read, the usual limit applies.
   */
  requestsPerSecondOf(workspaceId: string): number | undefined {
    const found = this.quotasOf(workspaceId);
    if (!(found instanceof Promise)) return found?.requests_per_second ?? undefined;
    found.catch(() => {});
    return undefined;
  }

  #admit(
    workspaceId: string,
    quotas: Quotas | undefined,
    messages: number,
    recipientsMax: number,
  ): Promise<void> | undefined {
    if (!quotas) return undefined;
    const { recipients_per_message: limit } = quotas;
    if (limit !== null && recipientsMax > limit) throw tooManyRecipients(limit);
    if (messages === 0 || !limitsMessages(quotas)) return undefined;
    if (this.#spend(this.#leaseOf(workspaceId), messages)) return undefined;
    return this.#leaseAndSpend(workspaceId, quotas, messages);
  }

  #spend(lease: Lease, messages: number): boolean {
    if (lease.left < messages) return false;
    lease.left -= messages;
    return true;
  }

  async #leaseAndSpend(workspaceId: string, quotas: Quotas, messages: number): Promise<void> {
    for (;;) {
      // Looked up again, because an hour may end while this waits.
      const lease = this.#leaseOf(workspaceId);
      if (this.#spend(lease, messages)) return;
      const { refused } = lease;
      // Until the hour ends, usage only grows, so the answer is known without a query.
      if (refused && messages > refused.left) {
        throw messageQuotaExceeded(refused.exhausted, refused.limit, this.#parts.clock.now());
      }
      lease.leasing ??= this.#lease(workspaceId, lease, quotas, messages).finally(() => {
        lease.leasing = undefined;
      });
      await lease.leasing;
    }
  }

  async #lease(workspaceId: string, lease: Lease, quotas: Quotas, messages: number): Promise<void> {
    // A lease of a batch must not be larger than what is missing.
    const result = await this.#parts.lease(workspaceId, quotas, messages - lease.left);
    lease.left += result.granted;
    if ('exhausted' in result) {
      const { exhausted, limit } = result;
      lease.refused = { left: lease.left + result.left, exhausted, limit };
    }
  }

  /** A lease is for one hour; what is left of an earlier one is settled by the count of that hour. */
  #leaseOf(workspaceId: string): Lease {
    const hourMs = this.#hourMs();
    const found = this.#leases.get(workspaceId);
    if (found?.hourMs === hourMs) return found;
    // Forgetting leases makes nodes lease again, and what is lost is settled after the hour.
    if (!found && this.#leases.size >= WORKSPACES_MAX) this.#leases.clear();
    const lease: Lease = { hourMs, left: 0, refused: undefined, leasing: undefined };
    this.#leases.set(workspaceId, lease);
    return lease;
  }

  #hourMs(): number {
    return Math.floor(this.#parts.clock.now() / HOUR_MS) * HOUR_MS;
  }
}

export function limitsMessages(quotas: Quotas): boolean {
  const { messages_per_hour: hour, messages_per_day: day, messages_per_month: month } = quotas;
  return hour !== null || day !== null || month !== null;
}

/** Refused like a message that exceeds RECIPIENTS_MAX: a later attempt cannot succeed either. */
function tooManyRecipients(limit: number): RefusedError {
  const detail = `A message of this workspace can have at most ${plural(limit, 'recipient')}.`;
  return invalidFields([{ pointer: '/to', code: 'too_many_recipients', detail }]);
}
