import type { ReportOutcome } from '../bounces/report-outcome.ts';
import type { CellAddress } from '../config/cell-settings.ts';
import { CELL_REPORTS_PATH, type RoutedReportResponse } from '../http/pages/cell-reports.ts';
import type { Log } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { isComplaintsAddress, mayBeSignedAddress } from '../mail/return-path-address.ts';
import type { ReportReceiver } from '../smtp/return-path-listener.ts';
import type { CellDirectory } from './cell-directory.ts';
import type { RoutingSubject } from './routing-subject.ts';

/**
 * Bounces and complaints for several cells: the router speaks SMTP with the reporting server, as a node
 * does, and passes each report to the cell that holds the message it is about. Only addresses that a cell
 * confirms are accepted. The reply to the final dot follows the commit of the cell; if none can commit,
 * the reporting server is asked to try again. A cell never passes a report on, so there is no loop.
 */
export interface ReportForwarderParts {
  cells: readonly CellAddress[];
  directory: CellDirectory;
  token: string;
  log: Log;
}

export interface RoutedAddress {
  address: string;
  /** Undefined for complaints, which name their message in their content: any cell may have it. */
  cell: CellAddress | undefined;
}

/** Of a report. Cells answer within their own limits. */
const SEND_TIMEOUT_MS = 60_000;

export class ReportForwarder implements ReportReceiver<RoutedAddress> {
  readonly #parts: ReportForwarderParts;

  constructor(parts: ReportForwarderParts) {
    this.#parts = parts;
  }

  /** An address that cannot be one of ours costs no lookup. */
  async resolveAddress(address: string): Promise<RoutedAddress | undefined> {
    const isForComplaints = isComplaintsAddress(address);
    if (!isForComplaints && !mayBeSignedAddress(address)) return undefined;
    const cell = await this.#locate(address);
    return cell && { address, cell: isForComplaints ? undefined : cell };
  }

  async process(
    data: Buffer,
    { from, to }: { from: string; to: readonly RoutedAddress[] },
  ): Promise<ReportOutcome[]> {
    const outcomes: ReportOutcome[] = [];
    for (const one of to) {
      const found = one.cell
        ? await this.#send(one.cell, one.address, from, data)
        : await this.#sendComplaint(one.address, from, data);
      outcomes.push(...found);
    }
    return outcomes;
  }

  async #send(
    cell: CellAddress,
    address: string,
    from: string,
    data: Buffer,
  ): Promise<ReportOutcome[]> {
    const response = await this.#post(cell, address, from, data);
    if ('outcomes' in response) return response.outcomes;
    // It has moved since RCPT.
    const again = await this.#locate(address);
    const repeated = again && (await this.#post(again, address, from, data));
    if (repeated && 'outcomes' in repeated) return repeated.outcomes;
    throw unavailable();
  }

  /** Each cell counts a complaint once, however often it arrives. */
  async #sendComplaint(address: string, from: string, data: Buffer): Promise<ReportOutcome[]> {
    let last: ReportOutcome[] = [];
    for (const cell of this.#parts.cells) {
      const response = await this.#post(cell, address, from, data);
      last = 'outcomes' in response ? response.outcomes : [];
      if (last.some((outcome) => outcome !== 'unverified')) return last;
    }
    return last;
  }

  async #locate(value: string): Promise<CellAddress | undefined> {
    const subject: RoutingSubject = { kind: 'report', value };
    const located = await this.#parts.directory.locateAgain(subject);
    if (located.state === 'unavailable') throw unavailable();
    return located.state === 'here' ? located.cell : undefined;
  }

  async #post(
    cell: CellAddress,
    to: string,
    from: string,
    data: Buffer,
  ): Promise<RoutedReportResponse> {
    const { token, log } = this.#parts;
    try {
      const response = await fetch(
        `${cell.url}${CELL_REPORTS_PATH}?${new URLSearchParams({ from, to })}`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'message/rfc822' },
          body: new Uint8Array(data),
          redirect: 'error',
          signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
        },
      );
      const text = await response.text();
      if (response.status === 200) return JSON.parse(text) as RoutedReportResponse;
      throw new Error(`a report was answered with ${response.status}, not 200`);
    } catch (error) {
      log.debug({ cell: cell.name, err: error }, 'a cell does not accept a report');
      throw unavailable();
    }
  }
}

function unavailable(): RefusedError {
  const detail =
    'The server of this message cannot be reached, or its workspace is being moved. Try again.';
  return new RefusedError('storage_unavailable', detail, { retryAfterSeconds: 2 });
}
