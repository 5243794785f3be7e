import type { Posted } from './post-webhook.ts';
import { nextWaitMs } from './retry-schedule.ts';

/** The one place that decides what a try means for its delivery and its endpoint. */
export interface Judgement {
  status: 'pending' | 'succeeded' | 'failed';
  /** The next try of a pending one. */
  dueAtMs: number | null;
  /** Why the endpoint is to be switched off, if it is. */
  disable: DisableReason | undefined;
}

/** `gone`: it answered 410. `failing`: nothing but failures for five days. */
export type DisableReason = 'gone' | 'failing';

const FAILING_MAX_MS = 5 * 24 * 60 * 60 * 1000;

export function judge(
  posted: Pick<Posted, 'status' | 'error' | 'retryAfterMs'>,
  facts: { runTries: number; failingSinceMs: number | null; nowMs: number; random: number },
): Judgement {
  if (posted.error === null) return { status: 'succeeded', dueAtMs: null, disable: undefined };
  if (posted.status === 410) return { status: 'failed', dueAtMs: null, disable: 'gone' };
  const { nowMs, failingSinceMs } = facts;
  const forTooLong = failingSinceMs !== null && nowMs - failingSinceMs >= FAILING_MAX_MS;
  const waitMs = nextWaitMs(facts.runTries, facts.random, posted.retryAfterMs);
  return {
    status: waitMs === undefined ? 'failed' : 'pending',
    dueAtMs: waitMs === undefined ? null : nowMs + waitMs,
    disable: forTooLong ? 'failing' : undefined,
  };
}
