import { inTransaction, type Queryable } from '../db/connections/pool.ts';
import type { DeliveryEventData } from '../events/event-types.ts';
import { appendEvents } from '../events/events-store.ts';
import type { FeedbackReport } from '../mail/reports/arf.ts';
import { markComplained } from '../messages/deliveries/delivery-change-store.ts';
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
 * Records a complaint about a message that is proven to be ours: event and suppression in one
 * commit. When several recipients shared the return path, the report must name one of them.
 */
export async function recordComplaint(
  parts: RecordReportParts,
  sent: SentMessage,
  feedback: FeedbackReport,
  reportId: string,
): Promise<ReportOutcome> {
  return inTransaction(parts.pool, async (client) => {
    const deliveries = await lockReportedDeliveries(client, sent, feedback.recipients);
    if (deliveries.length === 0) return 'unknown_recipient';
    let outcome: ReportOutcome = 'not_applicable';
    for (const delivery of deliveries) {
      // A message that was never sent cannot be complained about, and an erased address gets no
      // events.
      if (delivery.attempts === 0 || delivery.recipientKey === ERASED_ADDRESS) continue;
      if (await hasEvent(client, sent, delivery.recipient, { type: 'message.complained' })) {
        if (outcome === 'not_applicable') outcome = 'duplicate';
        continue;
      }
      await recordOne(parts, client, sent, delivery, {
        id: reportId,
        reported_by: feedback.reporter,
        feedback_type: feedback.type,
      });
      outcome = 'complained';
    }
    return outcome;
  });
}

async function recordOne(
  { clock, suppressions, complaintScope, countRefusal }: RecordReportParts,
  client: Queryable,
  sent: SentMessage,
  delivery: ReportedDelivery,
  report: NonNullable<DeliveryEventData['report']>,
): Promise<void> {
  const atMs = clock.now();
  const sequence = await markComplained(client, sent, delivery.ordinal, atMs);
  const about = deliveryEventFacts(sent, delivery);
  const smtp = delivery.smtp ? { smtp: delivery.smtp } : {};
  const data: DeliveryEventData = { ...about, ...smtp, report };
  await appendEvents(client, [{ ...sent, type: 'message.complained', atMs, sequence, data }]);
  const { messageId } = sent;
  await countRefusal(client, sent, { messageId, ordinal: delivery.ordinal });
  await suppressions.suppress(client, sent, {
    emailKey: delivery.recipientKey,
    stream: complaintScope === 'stream' ? delivery.stream : EVERYWHERE,
    reason: 'complaint',
    evidence: { message_id: about.message_id, smtp: delivery.smtp, report },
  });
}
