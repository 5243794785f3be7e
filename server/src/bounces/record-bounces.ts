import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import { inTransaction, type Queryable } from '../db/pool.ts';
import type { DeliveryEventData, SmtpFacts } from '../events/event-types.ts';
import { appendEvents } from '../events/events-store.ts';
import type { DeliveryReport, ReportedRecipient } from '../mail/reports/dsn.ts';
import { judgeReport } from '../messages/verdict/verdict.ts';
import {
  factsOf,
  lockReported,
  markBounced,
  type ReportedDelivery,
  requeue,
  type SentMessage,
  wasTold,
} from './report-store.ts';
import type { ReportOutcome, ReportsParts } from './inbound-reports.ts';

/**
 * A report of failure, written: state, event and suppression in one commit, or none of them. One
 * outcome for each recipient that it is about.
 */
export async function recordBounces(
  parts: Pick<ReportsParts, 'pool' | 'clock' | 'suppressions'>,
  sent: SentMessage,
  report: DeliveryReport,
  reportId: string,
): Promise<ReportOutcome[]> {
  const failed = report.recipients.filter(({ action }) => action === 'failed');
  if (failed.length === 0) return ['progress'];
  return inTransaction(parts.pool, async (client) => {
    const deliveries = await lockReported(client, sent, failed.flatMap(namesOf));
    const outcomes: ReportOutcome[] = [];
    for (const delivery of deliveries) {
      const said = failureOf(delivery, report, sent.ordinal !== undefined);
      if (!said) {
        outcomes.push('progress');
        continue;
      }
      const told = { type: 'message.bounced', reportId } as const;
      const repeated = await wasTold(client, sent, delivery.recipient, told);
      const outcome = repeated ? 'repeated' : outcomeFor(delivery);
      outcomes.push(outcome);
      if (outcome !== 'bounced') continue;
      await record(parts, client, sent, delivery, said, {
        id: reportId,
        reported_by: report.reportingMta,
        remote_mta: said.remoteMta,
        previous_status: delivery.status === 'deferred' ? 'deferred' : 'delivered',
      });
    }
    return outcomes.length > 0 ? outcomes : ['unknown_recipient'];
  });
}

/** What a failure means for a delivery in its state. */
export function outcomeFor(
  delivery: Pick<ReportedDelivery, 'status' | 'leased' | 'attempts' | 'recipientKey'>,
): ReportOutcome {
  // What would be told of an erased address might name it.
  if (delivery.recipientKey === ERASED_ADDRESS) return 'ended';
  switch (delivery.status) {
    case 'delivered':
      return 'bounced';
    case 'deferred':
      // Its final dot was never answered, and yet it had arrived: there is nothing left to try.
      return delivery.leased ? 'not_yet' : 'bounced';
    case 'queued':
      // The report was quicker than our commit, or is about a run before this one.
      return delivery.leased || delivery.attempts > 0 ? 'not_yet' : 'ended';
    default:
      return 'ended';
  }
}

/**
 * What the report says of this delivery. A return path of one recipient names the delivery by itself:
 * servers that forward mail report of addresses that we never wrote to. But not when they say that
 * our own recipient has it.
 */
function failureOf(
  { recipientKey }: ReportedDelivery,
  { recipients }: DeliveryReport,
  alone: boolean,
): ReportedRecipient | undefined {
  const own = recipients.filter((one) => namesOf(one).includes(recipientKey));
  const ofThis = own.length > 0 || !alone ? own : recipients;
  return ofThis.find(({ action }) => action === 'failed');
}

function namesOf({ originalRecipient, finalRecipient }: ReportedRecipient): string[] {
  return [originalRecipient, finalRecipient].filter((key) => key !== null);
}

async function record(
  { clock, suppressions }: Pick<ReportsParts, 'clock' | 'suppressions'>,
  client: Queryable,
  sent: SentMessage,
  delivery: ReportedDelivery,
  said: ReportedRecipient,
  report: NonNullable<DeliveryEventData['report']>,
): Promise<void> {
  const atMs = clock.now();
  const bounce = judgeReport(said);
  const smtp: SmtpFacts = {
    code: said.code,
    enhanced: said.status,
    text: said.text,
    // The server that had taken it: counts of bounces must lie beside those of deliveries.
    mx: delivery.smtp?.mx ?? null,
    ip: null,
    tls: null,
  };
  if (delivery.status === 'deferred') await requeue(client, sent, delivery.ordinal);
  const sequence = await markBounced(client, sent, delivery.ordinal, { bounce, smtp, atMs });
  const about = factsOf(sent, delivery);
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
