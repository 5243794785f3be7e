import { createHash } from 'node:crypto';
import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { type FeedbackReport, readFeedbackReport } from '../mail/reports/arf.ts';
import { isAutoReply } from '../mail/reports/auto-reply.ts';
import { type DeliveryReport, readDeliveryReport } from '../mail/reports/dsn.ts';
import { readFailedRecipients } from '../mail/reports/failed-recipients.ts';
import { type MailStructure, parseMailStructure } from '../mail/reports/mime-structure.ts';
import { readQsbmf } from '../mail/reports/qsbmf.ts';
import { domainPart, findReturnPaths, parseReturnPath } from '../mail/return-path-address.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';
import { recordBounces } from './record-bounces.ts';
import { recordComplaint } from './record-complaint.ts';
import { findSentMessage, type SentMessage } from './report-store.ts';

/**
 * What comes back by mail. In come the bytes of a mail and the addresses of ours that it was sent to;
 * out goes what became of it: a delivery that bounced after all, a complaint, or nothing. A return
 * path names its delivery and proves that we wrote it: nothing else in a report selects a row, and a
 * complaint without one changes nothing. The same report may come as often as it likes and counts
 * once. Nothing is ever sent in answer.
 */

/** An address at which reports are taken. */
export type ReportAddress = { kind: 'return_path'; sent: SentMessage } | { kind: 'complaints' };

export const REPORT_OUTCOMES = [
  /** A delivery is now bounced. */
  'bounced',
  /** A complaint was told and its address suppressed. */
  'complained',
  /** Known already: told by this report, or there is nothing more to tell. */
  'duplicate',
  /** A failure of a delivery that ended otherwise, or never left. */
  'not_applicable',
  /** A failure of a delivery that is on its way at this moment: to be sent again later. */
  'retry_later',
  /** Delayed, relayed, delivered or expanded: changes nothing. */
  'progress',
  /** Not spam, authentication failures and other feedback: changes nothing. */
  'feedback',
  /** A complaint that does not prove that it is about a message of ours. */
  'unverified',
  /** It names no recipient of the message, though several shared the return path. */
  'unknown_recipient',
  /** Somebody is on holiday. */
  'auto_reply',
  /** From nobody, or a report, in no form that we know. */
  'unreadable',
  /** Mail of a person, or a program that takes us for one: refused. */
  'not_a_report',
] as const;
export type ReportOutcome = (typeof REPORT_OUTCOMES)[number];

export interface InboundReportsParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  suppressions: Pick<Suppressions, 'suppress'>;
  returnPathKey: Buffer;
  bounceHost: string;
  /** Events were appended. */
  onEventsAppended: () => void;
}

export const COMPLAINTS_LOCAL_PART = 'complaints';

/** RFC 5965 7.3, and `opt-out` of its drafts. `not-spam` is the opposite, others are about machines. */
const COMPLAINT_TYPES = new Set(['abuse', 'fraud', 'virus', 'opt-out', 'opt-out-list']);

export class InboundReports {
  readonly #parts: InboundReportsParts;

  constructor(parts: InboundReportsParts) {
    this.#parts = parts;
  }

  /** Undefined: no address of ours, or of a message that is not kept any more. */
  async resolveAddress(address: string): Promise<ReportAddress | undefined> {
    const { pool, returnPathKey, bounceHost } = this.#parts;
    const host = domainPart(address);
    const atBounceHost = host === bounceHost;
    if (atBounceHost && address.toLowerCase().startsWith(`${COMPLAINTS_LOCAL_PART}@`)) {
      return { kind: 'complaints' };
    }
    // First, since it costs nothing: strangers must not reach the database with what they make up.
    const path = parseReturnPath(address, returnPathKey);
    if (!path) return undefined;
    const sent = await findSentMessage(pool, path, atBounceHost ? undefined : host);
    return sent && { kind: 'return_path', sent };
  }

  /** What became of it for each of the addresses. Committed when it resolves. */
  async process(
    data: Buffer,
    envelope: { from: string; to: readonly ReportAddress[] },
  ): Promise<ReportOutcome[]> {
    const mail = parseMailStructure(data);
    const feedback = readFeedbackReport(mail);
    const report = feedback ? undefined : readBounceReport(mail, envelope.from);
    const outcomes: ReportOutcome[] = [];
    for (const address of envelope.to) {
      if (feedback) outcomes.push(await this.#recordComplaint(address, feedback, reportIdOf(mail)));
      else if (report && address.kind === 'return_path') {
        outcomes.push(...(await this.#recordBounce(address.sent, report, reportIdOf(mail))));
      } else outcomes.push(classifyOtherMail(mail, envelope.from));
    }
    if (outcomes.some((one) => one === 'bounced' || one === 'complained'))
      this.#parts.onEventsAppended();
    return outcomes;
  }

  async #recordBounce(
    sent: SentMessage,
    report: DeliveryReport,
    id: string,
  ): Promise<ReportOutcome[]> {
    const outcomes = await recordBounces(this.#parts, sent, report, id);
    this.#logOutcome(sent, outcomes);
    return outcomes;
  }

  async #recordComplaint(
    address: ReportAddress,
    feedback: FeedbackReport,
    id: string,
  ): Promise<ReportOutcome> {
    if (!COMPLAINT_TYPES.has(feedback.type)) return 'feedback';
    const sent =
      address.kind === 'return_path'
        ? address.sent
        : await this.#findByReturnPath(feedback.returned);
    if (!sent) return 'unverified';
    const outcome = await recordComplaint(this.#parts, sent, feedback, id);
    this.#logOutcome(sent, [outcome]);
    return outcome;
  }

  /** The message whose return path stands in what the provider returned. */
  async #findByReturnPath(returned: string): Promise<SentMessage | undefined> {
    const { pool, returnPathKey, bounceHost } = this.#parts;
    for (const { host, ...path } of findReturnPaths(returned, returnPathKey)) {
      const sent = await findSentMessage(pool, path, host === bounceHost ? undefined : host);
      if (sent) return sent;
    }
    return undefined;
  }

  #logOutcome({ messageId }: SentMessage, outcomes: readonly ReportOutcome[]): void {
    this.#parts.log.debug({ message: encodeId('msg', messageId), outcomes }, 'a report came back');
  }
}

/** A report shows by its form what it is. One in mere text is believed only of nobody (RFC 5321 4.5.5). */
function readBounceReport(mail: MailStructure, from: string): DeliveryReport | undefined {
  const report = readDeliveryReport(mail);
  if (report || from !== '') return report;
  return readQsbmf(mail) ?? readFailedRecipients(mail);
}

function classifyOtherMail(mail: MailStructure, from: string): ReportOutcome {
  if (isAutoReply(mail.header)) return 'auto_reply';
  // Receipts of readers are reports too, of nothing that we asked for.
  const isReport = mail.type.name === 'multipart/report';
  return from === '' || isReport ? 'unreadable' : 'not_a_report';
}

/** Servers on the way may add to the header, but neither to the id nor to the report itself. */
function reportIdOf(mail: MailStructure): string {
  const [report] = mail.parts.filter(({ type }) => /^message\/.*(status|report)$/.test(type.name));
  return createHash('sha256')
    .update(mail.header.get('message-id') ?? '')
    .update('\0')
    .update(report?.body ?? mail.parts[0]?.body ?? '')
    .digest('hex')
    .slice(0, 32);
}
