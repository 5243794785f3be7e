/**
 * Only the beginning of a report is processed: its status and headers precede the returned mail.
 */
export const REPORT_BYTES_KEPT = 256 * 1024;

export function beginningOfReport(data: Buffer): Buffer {
  return data.length <= REPORT_BYTES_KEPT
    ? data
    : completeLines(data.subarray(0, REPORT_BYTES_KEPT));
}

/** A partial line has another meaning than the whole line, and may end between CR and LF. */
export function completeLines(data: Buffer): Buffer {
  return data.subarray(0, data.lastIndexOf(LF) + 1);
}

const LF = 0x0a;
