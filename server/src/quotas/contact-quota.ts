import type { Clock } from '../lib/clock.ts';
import type { RefusedError } from '../lib/refused-error.ts';
import { contactQuotaExceeded, type Quotas } from './quota.ts';

/**
 * Admits new live contacts within the quota of their workspace. A node counts the contacts, may then
 * create a tenth of what is left, and counts again, so other nodes can exceed a quota by at most such a
 * part, which shrinks towards the end. Counting stops at the quota, takes a small share of the time, and a
 * refusal holds for some seconds.
 */

export interface ContactQuotaParts {
  clock: Clock;
  /** Undefined if the workspace has no quotas. */
  read(workspaceId: string): Quotas | undefined | Promise<Quotas | undefined>;
  /** The number of live contacts, counted up to a maximum. */
  count(workspaceId: string, max: number): Promise<number>;
}

/** The right to create some contacts. */
export interface ContactReservation {
  granted: number;
  /** The reason why fewer were granted than wanted. */
  refusal: RefusedError | undefined;
  /** Must be called when the contacts are committed, or not: what was not created can be granted again. */
  settle(created: number): void;
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

export class ContactQuota {
  readonly #parts: ContactQuotaParts;
  readonly #allowances = new Map<string, Allowance>();

  constructor(parts: ContactQuotaParts) {
    this.#parts = parts;
  }

  /** Grants as many of the wanted contacts as the quota allows. */
  async reserve(workspaceId: string, wanted: number): Promise<ContactReservation> {
    const limit = (await this.#parts.read(workspaceId))?.contacts ?? null;
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
    return {
      granted,
      refusal: granted < wanted ? contactQuotaExceeded(limit) : undefined,
      settle: (created) => {
        allowance.pending -= granted;
        allowance.left += granted - created;
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
    const { clock, count } = this.#parts;
    const startedAtMs = clock.now();
    // Contacts that are committed during the count may be in both numbers, which errs on the safe side.
    const { pending } = allowance;
    const left = Math.max(0, limit - (await count(workspaceId, limit)) - pending);
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

function unlimited(wanted: number): ContactReservation {
  return { granted: wanted, refusal: undefined, settle() {} };
}
