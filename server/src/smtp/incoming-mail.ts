import type { InboundReports, ReportAddress } from '../bounces/inbound-reports.ts';
import type { InboundAddress, InboundReceiver } from '../inbound/inbound-receiver.ts';
import { beginningOfReport } from '../mail/reports/report-beginning.ts';
import type { MailEnvelope, MailOutcomes, MailReceiver } from './return-path-listener.ts';

/**
 * What a node does with mail from other servers: a return path or another signed address makes it a
 * report, and any other address at a receiving domain an inbound message. A mail may be both.
 */
export type IncomingAddress = ReportAddress | InboundAddress;

export class IncomingMail implements MailReceiver<IncomingAddress> {
  readonly #reports: Pick<InboundReports, 'resolveAddress' | 'process'>;
  readonly #inbound: Pick<InboundReceiver, 'resolveAddress' | 'receive'>;

  constructor(parts: {
    reports: Pick<InboundReports, 'resolveAddress' | 'process'>;
    inbound: Pick<InboundReceiver, 'resolveAddress' | 'receive'>;
  }) {
    this.#reports = parts.reports;
    this.#inbound = parts.inbound;
  }

  /** Signed addresses first: a receiving domain may be the host of return paths. */
  async resolveAddress(address: string): Promise<IncomingAddress | undefined> {
    const report = await this.#reports.resolveAddress(address);
    return report ?? this.#inbound.resolveAddress(address);
  }

  ownerOfWhole(to: readonly IncomingAddress[]): string | undefined {
    return to.find(isInbound)?.workspaceId;
  }

  /**
   * Reports first: one that must be sent again later is sent to all recipients again. Both parts
   * recognize what they have processed before.
   */
  async process(
    data: Buffer,
    { from, to, client }: MailEnvelope<IncomingAddress>,
  ): Promise<MailOutcomes> {
    const inbound = to.filter(isInbound);
    const signed = to.filter((address) => !isInbound(address));
    const reports =
      signed.length > 0
        ? await this.#reports.process(beginningOfReport(data), { from, to: signed })
        : [];
    if (inbound.length === 0 || reports.includes('retry_later')) return { reports, inbound: [] };
    const outcome = await this.#inbound.receive({ mailFrom: from, to: inbound, client, data });
    return { reports, inbound: [outcome] };
  }
}

function isInbound(address: IncomingAddress): address is InboundAddress {
  return address.kind === 'inbound';
}
