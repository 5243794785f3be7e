import { uuidv7 } from '../lib/ids.ts';
import {
  isSimulatedSuppression,
  SIMULATED_SUPPRESSION_REASON,
} from '../messages/simulator-address.ts';
import { explain } from '../messages/verdict/bounce-explanations.ts';
import { type FailureReason, judge } from '../messages/verdict/verdict.ts';
import type { ClaimedRow } from './claim-store.ts';
import type { AttemptReport, Delivery, DeliveryOutcome } from './delivery.ts';
import { isPoison } from './lease.ts';
import { type Backoff, nextAttemptDelayMs } from './retry-policy.ts';

/** What an attempt leads to: the verdict, and for a deferral the time of the next try. */
export function attemptOutcome(
  delivery: Delivery,
  attempt: AttemptReport,
  context: { relay: boolean; backoff: Backoff; random: number; nowMs: number; node: string },
): DeliveryOutcome {
  const verdict = judge(attempt.end, context);
  const tried = {
    ...baseOutcome(delivery, context.nowMs, context.node),
    attempt,
    smtp: attempt.smtp,
    attemptOutcome: verdict.kind,
    status: verdict.kind,
  };
  switch (verdict.kind) {
    case 'delivered':
      return tried;
    case 'failed':
      return { ...tried, reason: verdict.reason };
    case 'bounced':
      return { ...tried, bounce: verdict.bounce, reason: verdict.bounce.reason };
    case 'deferred':
      return deferral({ ...tried, bounce: verdict.bounce, reason: verdict.bounce.reason }, context);
  }
}

/** What a claimed row comes to without a try, or undefined when it is to be tried. */
export function outcomeAtClaim(
  delivery: Delivery,
  row: ClaimedRow,
  nowMs: number,
  node: string,
): DeliveryOutcome | undefined {
  if (isPoison(row.lease)) return failedOutcome(delivery, 'internal_fault', nowMs, node);
  if (delivery.giveUpAtMs <= nowMs) return expiredOutcome(delivery, nowMs, node, row);
  const simulated = row.mode === 'test' && isSimulatedSuppression(row.recipient_key);
  const reason = simulated ? SIMULATED_SUPPRESSION_REASON : row.suppression_reason;
  return reason === null ? undefined : suppressedOutcome(delivery, reason, nowMs, node);
}

/** The window or the ttl ran out. `last` is what the last try had come to. */
export function expiredOutcome(
  delivery: Delivery,
  nowMs: number,
  node: string,
  last?: Pick<ClaimedRow, 'bounce' | 'smtp'>,
): DeliveryOutcome {
  return {
    ...baseOutcome(delivery, nowMs, node),
    status: 'expired',
    bounce: last?.bounce ?? null,
    smtp: last?.smtp ?? null,
  };
}

function suppressedOutcome(
  delivery: Delivery,
  reason: string,
  nowMs: number,
  node: string,
): DeliveryOutcome {
  return { ...baseOutcome(delivery, nowMs, node), status: 'suppressed', reason };
}

/** We cannot send it, and know so without a try. */
export function failedOutcome(
  delivery: Delivery,
  reason: FailureReason,
  nowMs: number,
  node: string,
): DeliveryOutcome {
  const explanation = explain(reason, 'failed');
  const attempt: AttemptReport = {
    end: { kind: 'unsendable', reason, detail: explanation },
    startedAtMs: nowMs,
    finishedAtMs: nowMs,
    smtp: null,
    transcript: { startedAt: nowMs, lines: [{ atMs: 0, by: 'note', text: explanation }] },
  };
  return {
    ...baseOutcome(delivery, nowMs, node),
    status: 'failed',
    attempt,
    attemptOutcome: 'failed',
    reason,
  };
}

function deferral(
  outcome: DeliveryOutcome,
  { backoff, random, nowMs }: { backoff: Backoff; random: number; nowMs: number },
): DeliveryOutcome {
  const { delivery } = outcome;
  // The try went on past the end: there will be no other, so this is the last word.
  if (nowMs >= delivery.expiresAtMs) return { ...outcome, status: 'expired' };
  const waitMs = nextAttemptDelayMs(
    {
      mode: delivery.message.mode,
      cycleAgeMs: nowMs - delivery.cycleStartedAtMs,
      attempts: delivery.attempts + 1,
    },
    backoff,
    random,
  );
  const nextMs = nowMs + waitMs;
  // It is looked at again when it expires: the end, or the last try, comes at its moment.
  return {
    ...outcome,
    dueAtMs: Math.min(nextMs, delivery.expiresAtMs),
  };
}

function baseOutcome(delivery: Delivery, atMs: number, node: string): DeliveryOutcome {
  return {
    delivery,
    status: 'failed',
    atMs,
    eventId: uuidv7(atMs),
    node,
    attempt: null,
    attemptOutcome: null,
    dueAtMs: null,
    reason: null,
    bounce: null,
    smtp: null,
  };
}
