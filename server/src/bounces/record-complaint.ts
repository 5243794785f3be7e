import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import { inTransaction, type Queryable } from '../db/pool.ts';
import type { DeliveryEventData } from '../events/event-types.ts';
import { appendEvents } from '../events/events-store.ts';
import type { FeedbackReport } from '../mail/reports/arf.ts';
import {
  countTold,
  factsOf,
  lockReported,
  type ReportedDelivery,
  type SentMessage,
  wasTold,
} from './report-store.ts';
import type { ReportOutcome, ReportsParts } from './inbound-reports.ts';

/**
 * A complaint about a message that was proved to be ours, written: event and suppression in one
 * commit. Where several recipients shared the return path, the report must name one of them.
 */
export async function recordComplaint(
  parts: Pick<ReportsParts, 'pool' | 'clock' | 'suppressions'>,
  sent: SentMessage,
  feedback: FeedbackReport,
  reportId: string,
): Promise<ReportOutcome> {
  return inTransaction(parts.pool, async (client) => {
    const deliveries = await lockReported(client, sent, feedback.recipients);
    if (deliveries.length === 0) return 'unknown_recipient';
    let outcome: ReportOutcome = 'ended';
    for (const delivery of deliveries) {
      // Nobody complains of what never left; of an erased address nothing is told.
      if (delivery.attempts === 0 || delivery.recipientKey === ERASED_ADDRESS) continue;
      if (await wasTold(client, sent, delivery.recipient, { type: 'message.complained' })) {
        if (outcome === 'ended') outcome = 'repeated';
        continue;
      }
      await record(parts, client, sent, delivery, {
        id: reportId,
        reported_by: feedback.reporter,
        feedback_type: feedback.type,
      });
      outcome = 'complained';
    }
    return outcome;
  });
}

async function record(
  { clock, suppressions }: Pick<ReportsParts, 'clock' | 'suppressions'>,
  client: Queryable,
  sent: SentMessage,
  delivery: ReportedDelivery,
  report: NonNullable<DeliveryEventData['report']>,
): Promise<void> {
  const atMs = clock.now();
  const sequence = await countTold(client, sent, delivery.ordinal);
  const about = factsOf(sent, delivery);
  const smtp = delivery.smtp ? { smtp: delivery.smtp } : {};
  const data: DeliveryEventData = { ...about, ...smtp, report };
  await appendEvents(client, [{ ...sent, type: 'message.complained', atMs, sequence, data }]);
  await suppressions.suppress(client, sent, {
    emailKey: delivery.recipientKey,
    reason: 'complaint',
    evidence: { message_id: about.message_id, smtp: delivery.smtp, report },
  });
}
