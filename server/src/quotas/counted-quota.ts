import type { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { CountedQuotaNotices } from './counted-quota-notices.ts';

/**
 * Admits what a workspace keeps, such as live contacts or bytes of content, within its quota. A node counts
 * what is there, may then add a tenth of what is left, and counts again, so other nodes can exceed a quota
 * by at most such a part, which shrinks towards the end. Counting takes a small share of the time, and a
 * refusal holds for some seconds.
 */

export interface CountedQuotaParts {
  clock: Clock;
  /** Null if the workspace has no such quota. */
  limitOf(workspaceId: string): number | null | Promise<number | null>;
  /** What is there, counted up to a maximum. */
  count(workspaceId: string, max: number): Promise<number>;
  refuse(limit: number): RefusedError;
  /** What warnings depend on. */
  notices?: Pick<CountedQuotaNotices, 'changed' | 'counted' | 'refused'>;
}

/** The right to add some. */
export interface QuotaReservation {
  granted: number;
  /** The reason why less was granted than wanted. */
  refusal: RefusedError | undefined;
  /** Must be called when the addition is committed, or not: what was not added can be granted again. */
  settle(added: number): void;
}

interface Allowance {
  left: number;
  /** Granted and not settled, so perhaps not counted yet. */
  pending: number;
  /** The last count found nothing beyond what is in `left`. */
  isRest: boolean;
  endsAtMs: number;
  counting: Promise<void> | undefined;
}

const ALLOWANCE_MS = 10_000;
/** Shorter, because what was pending may have been counted twice. */
const ALLOWANCE_WITH_PENDING_MS = 1_000;
/** Large workspaces are counted less often, so that counting takes at most a hundredth of the time. */
const COUNT_TIME_FACTOR = 100;
const CHUNK_SHARE = 1 / 10;
const WORKSPACES_MAX = 10_000;

export class CountedQuota {
  readonly #parts: CountedQuotaParts;
  readonly #allowances = new Map<string, Allowance>();

  constructor(parts: CountedQuotaParts) {
    this.#parts = parts;
  }

  /** Grants as much of what is wanted as the quota allows. */
  async reserve(workspaceId: string, wanted: number): Promise<QuotaReservation> {
    const limit = await this.#parts.limitOf(workspaceId);
    if (limit === null || wanted === 0) return unlimited(wanted);
    const allowance = this.#allowanceOf(workspaceId);
    // Others may take what was counted while this waits.
    while (this.#needsCount(allowance, wanted)) {
      allowance.counting ??= this.#count(workspaceId, allowance, limit, wanted).finally(() => {
        allowance.counting = undefined;
      });
      await allowance.counting;
    }
    const granted = Math.min(wanted, allowance.left);
    allowance.left -= granted;
    allowance.pending += granted;
    if (granted < wanted) this.#parts.notices?.refused(workspaceId);
    return {
      granted,
      refusal: granted < wanted ? this.#parts.refuse(limit) : undefined,
      settle: (added) => {
        allowance.pending -= granted;
        allowance.left += granted - added;
        if (added > 0) this.#parts.notices?.changed(workspaceId);
      },
    };
  }

  /** The quota was changed. */
  invalidateWorkspace(workspaceId: string): void {
    const allowance = this.#allowances.get(workspaceId);
    if (allowance) allowance.endsAtMs = 0;
  }

  invalidateAll(): void {
    for (const allowance of this.#allowances.values()) allowance.endsAtMs = 0;
  }

  #needsCount({ left, isRest, endsAtMs }: Allowance, wanted: number): boolean {
    return this.#parts.clock.now() >= endsAtMs || (left < wanted && !isRest);
  }

  async #count(
    workspaceId: string,
    allowance: Allowance,
    limit: number,
    wanted: number,
  ): Promise<void> {
    const { clock, count, notices } = this.#parts;
    const startedAtMs = clock.now();
    // What is committed during the count may be in both numbers, which errs on the safe side.
    const { pending } = allowance;
    const used = await count(workspaceId, limit);
    notices?.counted(workspaceId, used, startedAtMs);
    const left = Math.max(0, limit - used - pending);
    allowance.left = Math.min(left, Math.max(wanted, Math.floor(left * CHUNK_SHARE)));
    allowance.isRest = allowance.left === left;
    const nowMs = clock.now();
    const validMs = pending > 0 ? ALLOWANCE_WITH_PENDING_MS : ALLOWANCE_MS;
    allowance.endsAtMs = nowMs + Math.max(validMs, (nowMs - startedAtMs) * COUNT_TIME_FACTOR);
  }

  #allowanceOf(workspaceId: string): Allowance {
    const found = this.#allowances.get(workspaceId);
    if (found) return found;
    if (this.#allowances.size >= WORKSPACES_MAX) this.#allowances.clear();
    const allowance: Allowance = {
      left: 0,
      pending: 0,
      isRest: false,
      endsAtMs: 0,
      counting: undefined,
    };
    this.#allowances.set(workspaceId, allowance);
    return allowance;
  }
}

function unlimited(wanted: number): QuotaReservation {
  return { granted: wanted, refusal: undefined, settle() {} };
}
