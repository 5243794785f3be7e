import type { WebhookResponse } from '../requests/webhook-client.ts';
import { nextRetryDelayMs } from './webhook-retry-schedule.ts';

/** The one place that decides what a response means for its delivery and its endpoint. */
export interface ResponseClass {
  status: 'pending' | 'succeeded' | 'failed';
  /** When a pending delivery is attempted again. */
  dueAtMs: number | null;
  /** Why the endpoint should be disabled, if it should. */
  disable: DisableReason | undefined;
}

/** `gone`: the endpoint responded 410. `failing`: nothing was delivered for five days. */
export type DisableReason = 'gone' | 'failing';

const FAILING_MAX_MS = 5 * 24 * 60 * 60 * 1000;

export function classifyResponse(
  response: Pick<WebhookResponse, 'status' | 'error' | 'retryAfterMs'>,
  facts: { cycleAttempts: number; failingSinceMs: number | null; nowMs: number; random: number },
): ResponseClass {
  if (response.error === null) return { status: 'succeeded', dueAtMs: null, disable: undefined };
  if (response.status === 410) return { status: 'failed', dueAtMs: null, disable: 'gone' };
  const { nowMs, failingSinceMs } = facts;
  const forTooLong = failingSinceMs !== null && nowMs - failingSinceMs >= FAILING_MAX_MS;
  const waitMs = nextRetryDelayMs(facts.cycleAttempts, facts.random, response.retryAfterMs);
  return {
    status: waitMs === undefined ? 'failed' : 'pending',
    dueAtMs: waitMs === undefined ? null : nowMs + waitMs,
    disable: forTooLong ? 'failing' : undefined,
  };
}
