import { inTransaction, type Queryable } from '../db/pool.ts';
import type { DeliveryEventData, SmtpFacts } from '../events/event-types.ts';
import { appendEvents } from '../events/events-store.ts';
import type { DeliveryReport, ReportedRecipient } from '../mail/reports/dsn.ts';
import { classifyReport } from '../messages/verdict/verdict.ts';
import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import type { InboundReportsParts, ReportOutcome } from './inbound-reports.ts';
import {
  deliveryEventFacts,
  hasEvent,
  lockReportedDeliveries,
  markBounced,
  type ReportedDelivery,
  requeue,
  type SentMessage,
} from './report-store.ts';

/**
 * A report of failure, written: state, event and suppression in one commit, or none of them. One
 * outcome for each recipient that it is about.
 */
export async function recordBounces(
  parts: Pick<InboundReportsParts, 'pool' | 'clock' | 'suppressions'>,
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

/** What a failure means for a delivery in its state. */
export function bounceOutcome(
  delivery: Pick<ReportedDelivery, 'status' | 'leased' | 'attempts' | 'recipientKey'>,
): ReportOutcome {
  // What would be told of an erased address might name it.
  if (delivery.recipientKey === ERASED_ADDRESS) return 'not_applicable';
  switch (delivery.status) {
    case 'delivered':
      return 'bounced';
    case 'deferred':
      // Its final dot was never answered, and yet it had arrived: there is nothing left to try.
      return delivery.leased ? 'retry_later' : 'bounced';
    case 'queued':
      // The report was quicker than our commit, or is about a run before this one.
      return delivery.leased || delivery.attempts > 0 ? 'retry_later' : 'not_applicable';
    default:
      return 'not_applicable';
  }
}

/**
 * What the report says of this delivery. A return path of one recipient names the delivery by itself:
 * servers that forward mail report of addresses that we never wrote to. But not when they say that
 * our own recipient has it.
 */
function reportedFailure(
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
  { clock, suppressions }: Pick<InboundReportsParts, 'clock' | 'suppressions'>,
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
    // The server that had taken it: counts of bounces must lie beside those of deliveries.
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
  if (bounce.class !== 'hard') return;
  await suppressions.suppress(client, sent, {
    emailKey: delivery.recipientKey,
    reason: 'hard_bounce',
    evidence: { message_id: about.message_id, smtp, report },
  });
}
