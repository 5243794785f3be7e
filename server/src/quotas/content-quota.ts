import type { CountedQuota, QuotaReservation } from './counted-quota.ts';
import type { Quotas } from './quota.ts';

/**
 * Admits messages within the bytes of content that their workspace may keep. Counted is what was accepted in
 * the retention period of content, so neither accepting nor deleting a message costs a query; content that is
 * deleted earlier counts until then.
 */
export class ContentQuota {
  readonly #quotasOf: (workspaceId: string) => Quotas | undefined | Promise<Quotas | undefined>;
  readonly #quota: CountedQuota;

  constructor(parts: {
    quotasOf: (workspaceId: string) => Quotas | undefined | Promise<Quotas | undefined>;
    quota: CountedQuota;
  }) {
    this.#quotasOf = parts.quotasOf;
    this.#quota = parts.quota;
  }

  /**
   * Throws a RefusedError if the quota does not allow all of it. Returns no promise for a workspace without
   * such a quota, because every send takes this path.
   */
  reserve(workspaceId: string, bytes: number): Promise<QuotaReservation> | undefined {
    const quotas = this.#quotasOf(workspaceId);
    if (!(quotas instanceof Promise) && (quotas?.content_bytes ?? null) === null) return undefined;
    return this.#reserve(workspaceId, bytes);
  }

  async #reserve(workspaceId: string, bytes: number): Promise<QuotaReservation> {
    const reservation = await this.#quota.reserve(workspaceId, bytes);
    if (!reservation.refusal) return reservation;
    reservation.settle(0);
    throw reservation.refusal;
  }
}
