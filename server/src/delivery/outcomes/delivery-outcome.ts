import { uuidv7 } from '../../lib/ids.ts';
import type { ClaimedRow } from '../../messages/deliveries/claim-store.ts';
import { isPoison } from '../../messages/deliveries/delivery-lease-store.ts';
import {
  isSimulatedSuppression,
  SIMULATED_SUPPRESSION_REASON,
} from '../../messages/simulator-address.ts';
import type { FailureReason } from '../../messages/verdict/bounce-explanations.ts';
import { explain, explainThrottle } from '../../messages/verdict/bounce-explanations.ts';
import { BOUNCE_CLASSES, classifyAttempt } from '../../messages/verdict/verdict.ts';
import type { AttemptReport, Delivery, DeliveryOutcome, Hold } from '../delivery.ts';
import { type Backoff, nextAttemptDelayMs } from './retry-policy.ts';

/** The outcome of an attempt: the verdict and, for a deferral, the time of the next attempt. */
export function attemptOutcome(
  delivery: Delivery,
  attempt: AttemptReport,
  context: { relay: boolean; backoff: Backoff; random: number; nowMs: number; node: string },
): DeliveryOutcome {
  const { relay, nowMs } = context;
  const verdict = classifyAttempt(attempt.end, {
    relay,
    recipient: delivery.recipient,
    cycleAgeMs: nowMs - delivery.cycleStartedAtMs,
  });
  const attempted = {
    ...baseOutcome(delivery, context.nowMs, context.node),
    attempt,
    smtp: attempt.smtp,
    attemptOutcome: verdict.kind,
    status: verdict.kind,
  };
  switch (verdict.kind) {
    case 'delivered':
      return attempted;
    case 'failed':
      return { ...attempted, reason: verdict.reason };
    case 'bounced':
      return { ...attempted, bounce: verdict.bounce, reason: verdict.bounce.reason };
    case 'deferred':
      return deferral(
        { ...attempted, bounce: verdict.bounce, reason: verdict.bounce.reason },
        context,
        attempt.throttle,
      );
  }
}

/** The outcome of a claimed row that needs no attempt; undefined when it should be attempted. */
export function outcomeAtClaim(
  delivery: Delivery,
  row: ClaimedRow,
  nowMs: number,
  node: string,
): DeliveryOutcome | undefined {
  if (isPoison(row.lease)) return failedOutcome(delivery, 'internal_error', nowMs, node);
  if (delivery.giveUpAtMs <= nowMs) return expiredOutcome(delivery, nowMs, node, row);
  const simulated = row.mode === 'test' && isSimulatedSuppression(row.recipient_key);
  const reason = simulated ? SIMULATED_SUPPRESSION_REASON : row.suppression_reason;
  return reason === null ? undefined : suppressedOutcome(delivery, reason, nowMs, node);
}

/** The retry window or the ttl has ended. `last` is the result of the last attempt. */
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

/** Fails a delivery that cannot be sent, without an attempt. */
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

/** The delivery waits, without an attempt. */
export function heldOutcome(
  delivery: Delivery,
  { untilMs, explanation }: Hold,
  random: number,
  nowMs: number,
  node: string,
): DeliveryOutcome {
  const reason = 'rate_limited';
  const bounce = { class: BOUNCE_CLASSES[reason], reason, explanation } as const;
  const held = { ...baseOutcome(delivery, nowMs, node), bounce, reason };
  if (nowMs >= delivery.expiresAtMs) return { ...held, status: 'expired' };
  const dueAtMs = Math.round(untilMs + random * HELD_SPREAD_MS);
  return { ...held, status: 'deferred', dueAtMs: Math.min(dueAtMs, delivery.expiresAtMs) };
}

/** Not all mail that was held becomes due at the same moment. */
const HELD_SPREAD_MS = 10 * 60_000;

function deferral(
  outcome: DeliveryOutcome,
  { backoff, random, nowMs }: { backoff: Backoff; random: number; nowMs: number },
  throttle: AttemptReport['throttle'],
): DeliveryOutcome {
  const { delivery } = outcome;
  // The attempt ended after expiry, so there will not be another.
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
  const nextMs = Math.max(nowMs + waitMs, throttle?.pausedUntilMs ?? 0);
  // Due at expiry at the latest, so that the last attempt or the expiry happens on time.
  const dueAtMs = Math.min(nextMs, delivery.expiresAtMs);
  if (!throttle || !outcome.bounce) return { ...outcome, dueAtMs };
  const explanation = explainThrottle(throttle.receiver, dueAtMs - nowMs);
  return { ...outcome, dueAtMs, bounce: { ...outcome.bounce, explanation } };
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

/** The outcome without the receiver's words, for a database that rejects them. */
export function withoutText(outcome: DeliveryOutcome): DeliveryOutcome {
  const { attempt, smtp } = outcome;
  const bare = { ...outcome, smtp: smtp && { ...smtp, text: '' } };
  return attempt ? { ...bare, attempt: { ...attempt, transcript: null } } : bare;
}
