import type { ReportOutcome } from '../bounces/report-outcome.ts';
import type { CellAddress } from '../config/cell-settings.ts';
import {
  CELL_INBOUND_MAIL_PATH,
  type RoutedMailResponse,
  writeRoutedMail,
} from '../http/pages/cell-inbound-mail.ts';
import { CELL_REPORTS_PATH, type RoutedReportResponse } from '../http/pages/cell-reports.ts';
import type { InboundOutcome } from '../inbound/inbound-receiver.ts';
import type { Log } from '../lib/log.ts';
import { WeightedCache } from '../lib/memory/weighted-cache.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { parseMailbox } from '../mail/address.ts';
import { beginningOfReport } from '../mail/reports/report-beginning.ts';
import { isComplaintsAddress, mayBeSignedAddress } from '../mail/return-path-address.ts';
import type { MailEnvelope, MailOutcomes, MailReceiver } from '../smtp/return-path-listener.ts';
import type { CellDirectory } from './cell-directory.ts';
import type { RoutingSubject } from './routing-subject.ts';

/**
 * Mail from other servers for several cells: the router speaks SMTP with them, as a node does, and passes
 * each report to the cell that holds the message it is about, and other mail to the cell whose workspace
 * receives it. Only addresses that a cell confirms are accepted. The reply to the final dot follows the
 * commit of the cell; if one cannot commit, the sender is asked to try again. A cell never passes mail
 * on, so there is no loop.
 */
export interface MailForwarderParts {
  cells: readonly CellAddress[];
  directory: CellDirectory;
  token: string;
  clock: Clock;
  log: Log;
}

export interface RoutedAddress {
  address: string;
  /** Of an address at a receiving domain. */
  domain?: string;
  /** Undefined for complaints, which name their message in their content: any cell may have it. */
  cell: CellAddress | undefined;
}

/** Of a mail. Cells answer within their own limits. */
const SEND_TIMEOUT_MS = 60_000;

/** Anyone can write to any domain, so that no cell has it is remembered for a moment. */
const ABSENT_TTL_MS = 5_000;
const ABSENT_MAX = 5_000;

export class MailForwarder implements MailReceiver<RoutedAddress> {
  readonly #parts: MailForwarderParts;
  /** Domains that no cell has, with the time of the lookup. */
  readonly #absent = new WeightedCache<number>(ABSENT_MAX);

  constructor(parts: MailForwarderParts) {
    this.#parts = parts;
  }

  /** An address that cannot be a signed one costs no lookup of its own, only one of its domain. */
  async resolveAddress(address: string): Promise<RoutedAddress | undefined> {
    const isForComplaints = isComplaintsAddress(address);
    if (isForComplaints || mayBeSignedAddress(address)) {
      const cell = await this.#locateReport(address);
      if (cell) return { address, cell: isForComplaints ? undefined : cell };
    }
    return this.#locateReceiver(address);
  }

  ownerOfWhole(to: readonly RoutedAddress[]): string | undefined {
    return to.find(isInbound)?.domain;
  }

  async process(data: Buffer, envelope: MailEnvelope<RoutedAddress>): Promise<MailOutcomes> {
    const reports = await this.#processReports(data, envelope);
    if (reports.includes('retry_later')) return { reports, inbound: [] };
    return { reports, inbound: await this.#processInbound(data, envelope) };
  }

  async #processReports(
    data: Buffer,
    { from, to }: MailEnvelope<RoutedAddress>,
  ): Promise<ReportOutcome[]> {
    const beginning = beginningOfReport(data);
    const outcomes: ReportOutcome[] = [];
    for (const one of to.filter((address) => !isInbound(address))) {
      const found = one.cell
        ? await this.#send(one.cell, one.address, from, beginning)
        : await this.#sendComplaint(one.address, from, beginning);
      outcomes.push(...found);
    }
    return outcomes;
  }

  /** One request for each cell. If one fails, all is sent again, and what was stored is recognized. */
  async #processInbound(
    data: Buffer,
    { from, to, client }: MailEnvelope<RoutedAddress>,
  ): Promise<InboundOutcome[]> {
    const outcomes: InboundOutcome[] = [];
    for (const [cell, addresses] of Map.groupBy(to.filter(isInbound), (one) => one.cell)) {
      const recipients = addresses.map(({ address }) => address);
      const body = writeRoutedMail({ from, to: recipients, client }, data);
      const response = await this.#post<RoutedMailResponse>(
        cell as CellAddress,
        CELL_INBOUND_MAIL_PATH,
        'application/octet-stream',
        body,
      );
      // It has moved since RCPT.
      if (!('outcome' in response)) throw unavailable();
      outcomes.push(response.outcome);
    }
    return outcomes;
  }

  async #send(
    cell: CellAddress,
    address: string,
    from: string,
    data: Buffer,
  ): Promise<ReportOutcome[]> {
    const response = await this.#postReport(cell, address, from, data);
    if ('outcomes' in response) return response.outcomes;
    // It has moved since RCPT.
    const again = await this.#locateReport(address);
    const repeated = again && (await this.#postReport(again, address, from, data));
    if (repeated && 'outcomes' in repeated) return repeated.outcomes;
    throw unavailable();
  }

  /** Each cell counts a complaint once, however often it arrives. */
  async #sendComplaint(address: string, from: string, data: Buffer): Promise<ReportOutcome[]> {
    let last: ReportOutcome[] = [];
    for (const cell of this.#parts.cells) {
      const response = await this.#postReport(cell, address, from, data);
      last = 'outcomes' in response ? response.outcomes : [];
      if (last.some((outcome) => outcome !== 'unverified')) return last;
    }
    return last;
  }

  async #locateReport(value: string): Promise<CellAddress | undefined> {
    const subject: RoutingSubject = { kind: 'report', value };
    const located = await this.#parts.directory.locateAgain(subject);
    if (located.state === 'unavailable') throw unavailable();
    return located.state === 'here' ? located.cell : undefined;
  }

  async #locateReceiver(given: string): Promise<RoutedAddress | undefined> {
    const parsed = parseMailbox(given);
    if (!parsed.ok) return undefined;
    const { domain, email: address } = parsed.mailbox;
    const { clock, directory } = this.#parts;
    const absentAtMs = this.#absent.get(domain) ?? Number.NEGATIVE_INFINITY;
    if (clock.now() - absentAtMs < ABSENT_TTL_MS) return undefined;
    const located = await directory.locate({ kind: 'receiver', value: domain });
    if (located.state === 'unavailable') throw unavailable();
    if (located.state === 'here') return { address, domain, cell: located.cell };
    this.#absent.set(domain, clock.now(), 1);
    return undefined;
  }

  #postReport(
    cell: CellAddress,
    to: string,
    from: string,
    data: Buffer,
  ): Promise<RoutedReportResponse> {
    const path = `${CELL_REPORTS_PATH}?${new URLSearchParams({ from, to })}`;
    return this.#post(cell, path, 'message/rfc822', data);
  }

  async #post<Response>(
    cell: CellAddress,
    path: string,
    contentType: string,
    body: Buffer,
  ): Promise<Response> {
    const { token, log } = this.#parts;
    try {
      const response = await fetch(`${cell.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': contentType },
        body: new Uint8Array(body),
        redirect: 'error',
        signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
      });
      const text = await response.text();
      if (response.status === 200) return JSON.parse(text) as Response;
      throw new Error(`a mail was answered with ${response.status}, not 200`);
    } catch (error) {
      log.debug({ cell: cell.name, err: error }, 'a cell does not accept a mail');
      throw unavailable();
    }
  }
}

function isInbound(address: RoutedAddress): address is RoutedAddress & { domain: string } {
  return address.domain !== undefined;
}

function unavailable(): RefusedError {
  const detail =
    'The server of this recipient cannot be reached, or its workspace is being moved. Try again.';
  return new RefusedError('storage_unavailable', detail, { retryAfterSeconds: 2 });
}
