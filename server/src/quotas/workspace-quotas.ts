import type { Pool } from '../db/connections/pool.ts';
import { NotifyCache } from '../lib/notify-cache.ts';
import type { Clock } from '../lib/time/clock.ts';
import { MESSAGE_QUOTAS, NO_QUOTAS, periodOf, type Quotas } from './quota.ts';
import {
  countContacts,
  deleteOldLeases,
  findQuotas,
  readCountedPeriod,
  readCountedUsage,
  readSummaries,
  saveQuotas,
  type WorkspaceSummary,
} from './quota-store.ts';

/**
 * The quotas of workspaces as the operator sets them, and their usage. Usage is what the statistics
 * counted, so a recount of the messages gives the same numbers.
 */

/** Longer than a month, which usage refers to. */
const LEASES_KEPT_MS = 40 * 24 * 60 * 60 * 1000;
/** Counting more contacts would take too long, and no quota is that large. */
const CONTACTS_COUNTED_MAX = 10_000_000;
const COUNTS_KEPT_MAX = 10_000;
const COUNTS_KEPT_MS = 60_000;

export class WorkspaceQuotas {
  readonly #pool: Pool;
  readonly #clock: Clock;
  /** The quotas with what probation and the brake take from them. */
  readonly #effective: (workspaceId: string) => Promise<Quotas | undefined>;
  readonly #countContentBytes: (workspaceId: string) => Promise<number>;
  readonly #onChange: (workspaceId: string) => void;
  /** Counting takes time, so a workspace that asks often gets a count of the last minute. */
  readonly #contactCounts: NotifyCache<number>;

  /** `onChange` is called after each commit, so that this node does not wait for its own notification. */
  constructor(parts: {
    pool: Pool;
    clock: Clock;
    effective: (workspaceId: string) => Promise<Quotas | undefined>;
    countContentBytes: (workspaceId: string) => Promise<number>;
    onChange?: (workspaceId: string) => void;
  }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#effective = parts.effective;
    this.#countContentBytes = parts.countContentBytes;
    this.#onChange = parts.onChange ?? (() => {});
    this.#contactCounts = new NotifyCache({
      clock: parts.clock,
      maxAgeMs: () => COUNTS_KEPT_MS,
      entriesMax: COUNTS_KEPT_MAX,
    });
  }

  async get(workspaceId: string): Promise<Quotas> {
    return (await findQuotas(this.#pool, workspaceId)) ?? NO_QUOTAS;
  }

  /** Replaces all quotas; takes effect on every node within a second. */
  async set(workspaceId: string, wanted: Partial<Quotas>): Promise<Quotas> {
    const quotas = { ...NO_QUOTAS, ...wanted };
    await saveQuotas(this.#pool, workspaceId, quotas);
    this.#onChange(workspaceId);
    return quotas;
  }

  async usage(workspaceId: string) {
    const nowMs = this.#clock.now();
    const quotas = (await this.#effective(workspaceId)) ?? NO_QUOTAS;
    const startOf = (name: (typeof MESSAGE_QUOTAS)[number]): number =>
      periodOf(name, nowMs).startMs;
    const used = await readCountedUsage(this.#pool, workspaceId, {
      hourMs: startOf('messages_per_hour'),
      dayMs: startOf('messages_per_day'),
      monthMs: startOf('messages_per_month'),
    });
    const messages = MESSAGE_QUOTAS.map((name) => {
      const resets_at = new Date(periodOf(name, nowMs).endMs).toISOString();
      return [name, { limit: quotas[name], used: used[name], resets_at }];
    });
    const contacts = await this.#contactCounts.get(workspaceId, '', () =>
      countContacts(this.#pool, workspaceId, CONTACTS_COUNTED_MAX),
    );
    return {
      ...Object.fromEntries(messages),
      recipients_per_message: { limit: quotas.recipients_per_message },
      contacts: { limit: quotas.contacts, used: contacts },
      content_bytes: {
        limit: quotas.content_bytes,
        used: await this.#countContentBytes(workspaceId),
      },
      requests_per_second: { limit: quotas.requests_per_second },
    };
  }

  /** Messages and recipients of a calendar month in UTC, for invoices. */
  async monthlyUsage(workspaceId: string, monthMs: number) {
    const period = periodOf('messages_per_month', monthMs);
    const counted = await readCountedPeriod(this.#pool, workspaceId, period);
    return {
      month: new Date(period.startMs).toISOString().slice(0, 7),
      starts_at: new Date(period.startMs).toISOString(),
      ends_at: new Date(period.endMs).toISOString(),
      ...counted,
    };
  }

  /** Of each workspace: its brake, and its live messages of this calendar month. */
  summaries(workspaceIds: readonly string[]): Promise<Map<string, WorkspaceSummary>> {
    const { startMs } = periodOf('messages_per_month', this.#clock.now());
    return readSummaries(this.#pool, workspaceIds, startMs);
  }

  async sweep(): Promise<void> {
    await deleteOldLeases(this.#pool, this.#clock.now() - LEASES_KEPT_MS);
  }
}
