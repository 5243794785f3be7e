import { sqlTime } from '../../db/schema/row-types.ts';
import type { DeliveryEventData } from '../../events/event-types.ts';
import { encodeId, uuidv7 } from '../../lib/ids.ts';
import { serializeTranscript } from '../../mail/smtp-client/transcript.ts';
import type { OutcomeKey, OutcomeRow } from '../../messages/deliveries/outcome-store.ts';
import { isSimulatorAddress } from '../../messages/simulator-address.ts';
import type { BounceEvidence } from '../../messages/verdict/review-suppression.ts';
import { attemptBasis } from '../../messages/verdict/verdict.ts';
import type { DeliveryOutcome } from '../delivery.ts';

/** The row of an outcome; `n` is its index in the group. */
export function outcomeRow(outcome: DeliveryOutcome, n: number): OutcomeRow {
  const { delivery, attempt } = outcome;
  return {
    ...outcomeKey(outcome, n),
    o: delivery.ordinal,
    lease: delivery.lease,
    status: outcome.status,
    at: outcome.atMs,
    due: outcome.dueAtMs,
    reason: outcome.reason,
    bounce: outcome.bounce && JSON.stringify(outcome.bounce),
    smtp: outcome.smtp && JSON.stringify(outcome.smtp),
    started: attempt?.startedAtMs ?? null,
    finished: attempt?.finishedAtMs ?? null,
    outcome: outcome.attemptOutcome,
    transcript: attempt?.transcript ? serializeTranscript(attempt.transcript) : null,
    node: outcome.node,
    warm_up_sender: attempt?.warmUp?.sender ?? null,
    warm_up_provider: attempt?.warmUp?.provider ?? null,
    data: JSON.stringify(eventData(outcome)),
    complaint: simulatesComplaint(outcome) ? uuidv7(outcome.atMs) : null,
    suppression: addsSuppression(outcome) ? JSON.stringify(suppressionOf(outcome)) : null,
    signature: keptSignature(outcome) ?? null,
  };
}

export function outcomeKey({ delivery, eventId }: DeliveryOutcome, n: number): OutcomeKey {
  const { workspaceId, mode, id } = delivery.message;
  return { n, w: workspaceId, m: mode, id, event: eventId };
}

function simulatesComplaint(outcome: DeliveryOutcome): boolean {
  return outcome.attempt?.simulatesComplaint === true;
}

function eventData(outcome: DeliveryOutcome): DeliveryEventData {
  const { delivery, bounce, smtp } = outcome;
  const { message } = delivery;
  return {
    message_id: encodeId('msg', message.id),
    recipient: delivery.recipient,
    attempt: delivery.attempts + (outcome.attempt ? 1 : 0),
    stream: message.stream,
    metadata: message.metadata,
    tags: message.tags,
    ...(bounce ? { bounce } : {}),
    ...(smtp ? { smtp } : {}),
    ...(outcome.status === 'deferred' && outcome.dueAtMs !== null
      ? { next_attempt_at: sqlTime(outcome.dueAtMs) }
      : {}),
    ...(outcome.reason !== null && !bounce ? { reason: outcome.reason } : {}),
  };
}

/** Simulator addresses are never suppressed, however often they bounce. */
function addsSuppression(outcome: DeliveryOutcome): boolean {
  return (
    outcome.status === 'bounced' &&
    outcome.bounce?.class === 'hard' &&
    !isSimulatorAddress(outcome.delivery.recipientKey)
  );
}

function suppressionOf(outcome: DeliveryOutcome): object {
  const { delivery } = outcome;
  const id = uuidv7(outcome.atMs);
  const evidence: BounceEvidence = {
    message_id: encodeId('msg', delivery.message.id),
    smtp: outcome.smtp,
    ...(outcome.attempt ? attemptBasis(outcome.attempt.end) : { rule: null, stage: null }),
  };
  return {
    id,
    key: delivery.recipientKey,
    email: delivery.recipientKey,
    evidence,
    event_id: uuidv7(outcome.atMs),
    data: {
      suppression: {
        id: encodeId('sup', id),
        email: delivery.recipientKey,
        domain: null,
        stream: null,
        reason: 'hard_bounce',
        evidence,
        note: null,
        erased: false,
        created_at: sqlTime(outcome.atMs),
        expires_at: null,
      },
    },
  };
}

function keptSignature(outcome: DeliveryOutcome): string | undefined {
  return outcome.status === 'deferred' ? outcome.attempt?.signature : undefined;
}
