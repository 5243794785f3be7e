import { inTransaction, type Queryable } from '../db/connections/pool.ts';
import type { DeliveryEventData, SmtpFacts } from '../events/event-types.ts';
import { appendEvents } from '../events/events-store.ts';
import type { DeliveryReport, ReportedRecipient } from '../mail/reports/dsn.ts';
import { markBounced, requeue } from '../messages/deliveries/delivery-change-store.ts';
import { SENDER_REASONS } from '../messages/verdict/bounce-rules.ts';
import type { BounceEvidence } from '../messages/verdict/review-suppression.ts';
import { classifyReport, reportBasis } from '../messages/verdict/verdict.ts';
import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import { EVERYWHERE } from '../suppressions/suppression-store.ts';
import type { RecordReportParts, ReportOutcome } from './report-outcome.ts';
import {
  deliveryEventFacts,
  hasEvent,
  lockReportedDeliveries,
  type ReportedDelivery,
  type SentMessage,
} from './report-store.ts';

/**
 * Records a failure report: state, event and suppression in one commit. Returns one outcome per
 * recipient in the report.
 */
export async function recordBounces(
  parts: RecordReportParts,
  sent: SentMessage,
  report: DeliveryReport,
  reportId: string,
): Promise<ReportOutcome[]> {
  const failed = report.recipients.filter(({ action }) => action === 'failed');
  if (failed.length === 0) return ['progress'];
  return inTransaction(parts.pool, async (client) => {
    const deliveries = await lockReportedDeliveries(
      client,
      sent,
      failed.flatMap(reportedAddresses),
    );
    const outcomes: ReportOutcome[] = [];
    for (const delivery of deliveries) {
      const failure = reportedFailure(delivery, report, sent.ordinal !== undefined);
      if (!failure) {
        outcomes.push('progress');
        continue;
      }
      const event = { type: 'message.bounced', reportId } as const;
      const repeated = await hasEvent(client, sent, delivery.recipient, event);
      const outcome = repeated ? 'duplicate' : bounceOutcome(delivery);
      outcomes.push(outcome);
      if (outcome !== 'bounced') continue;
      await recordBounce(parts, client, sent, delivery, failure, {
        id: reportId,
        reported_by: report.reportingMta,
        remote_mta: failure.remoteMta,
        previous_status: delivery.status === 'deferred' ? 'deferred' : 'delivered',
      });
    }
    return outcomes.length > 0 ? outcomes : ['unknown_recipient'];
  });
}

/** What a failure report means for a delivery in its current state. */
export function bounceOutcome(
  delivery: Pick<ReportedDelivery, 'status' | 'leased' | 'attempts' | 'recipientKey'>,
): ReportOutcome {
  // The event would contain the reported address, which was erased.
  if (delivery.recipientKey === ERASED_ADDRESS) return 'not_applicable';
  switch (delivery.status) {
    case 'delivered':
      return 'bounced';
    case 'deferred':
      // The final dot was never confirmed, and yet the message had arrived. There is nothing left
      // to retry.
      return delivery.leased ? 'retry_later' : 'bounced';
    case 'queued':
      // The report arrived before our commit, or it concerns an earlier delivery cycle.
      return delivery.leased || delivery.attempts > 0 ? 'retry_later' : 'not_applicable';
    default:
      return 'not_applicable';
  }
}

/**
 * What the report says about this delivery. A return path of one recipient identifies the delivery
 * on its own: forwarding servers report addresses that we never sent to. That does not apply when
 * the report says that our own recipient got the message.
 */
export function reportedFailure(
  { recipientKey }: ReportedDelivery,
  { recipients }: DeliveryReport,
  hasOwnReturnPath: boolean,
): ReportedRecipient | undefined {
  const own = recipients.filter((one) => reportedAddresses(one).includes(recipientKey));
  const ofThis = own.length > 0 || !hasOwnReturnPath ? own : recipients;
  return ofThis.find(({ action }) => action === 'failed');
}

function reportedAddresses({ originalRecipient, finalRecipient }: ReportedRecipient): string[] {
  return [originalRecipient, finalRecipient].filter((key) => key !== null);
}

async function recordBounce(
  { clock, suppressions, countRefusal }: RecordReportParts,
  client: Queryable,
  sent: SentMessage,
  delivery: ReportedDelivery,
  failure: ReportedRecipient,
  report: NonNullable<DeliveryEventData['report']>,
): Promise<void> {
  const atMs = clock.now();
  const bounce = classifyReport(failure);
  const smtp: SmtpFacts = {
    code: failure.code,
    enhanced: failure.status,
    text: failure.text,
    // The server that accepted the message, so that statistics count the bounce where they counted
    // the delivery.
    mx: delivery.smtp?.mx ?? null,
    ip: null,
    tls: null,
  };
  if (delivery.status === 'deferred') await requeue(client, sent, delivery.ordinal);
  const sequence = await markBounced(client, sent, delivery.ordinal, { bounce, smtp, atMs });
  const about = deliveryEventFacts(sent, delivery);
  const data: DeliveryEventData = { ...about, bounce, smtp, report };
  const event = { ...sent, type: 'message.bounced', atMs, sequence, data } as const;
  await appendEvents(client, [event]);
  if (SENDER_REASONS.has(bounce.reason)) {
    const { messageId } = sent;
    await countRefusal(client, sent, { messageId, ordinal: delivery.ordinal });
  }
  if (bounce.class !== 'hard') return;
  const { message_id } = about;
  const evidence: BounceEvidence = { message_id, smtp, ...reportBasis(failure), report };
  const { recipientKey: emailKey } = delivery;
  const reason = 'hard_bounce';
  await suppressions.suppress(client, sent, { emailKey, stream: EVERYWHERE, reason, evidence });
}
