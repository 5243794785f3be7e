/**
 * Reads CSV (RFC 4180) from bytes: fields in double quotes may contain delimiters, line breaks and
 * doubled quotes; lines end with CRLF, LF or CR. In comes a window of a file that starts at a
 * record. Out go the records that end within it and where the next one starts, so that files of any
 * size are read window by window.
 *
 * An unclosed quote would swallow everything after it. A record that does not end within
 * `recordBytesMax`, or before the end of the file, is reported as broken, and reading continues at
 * the next line. This stays linear: a quote that opens on a later line would have closed the one
 * before it, so no text is searched for more than one missing quote.
 */

export interface CsvRecord {
  /** Line breaks in the window before this record. */
  linesBefore: number;
  /** Undefined when the record is broken. */
  fields: Buffer[] | undefined;
  error?: CsvError;
}

export type CsvError = 'quote_not_closed' | 'text_after_quote' | 'too_long';

export interface CsvWindow {
  records: CsvRecord[];
  /** Bytes consumed: the next window starts here. */
  used: number;
  /** Line breaks in the consumed bytes. */
  lines: number;
  /** The next window starts inside a broken line, whose rest must be skipped. */
  inSkippedLine: boolean;
}

export interface CsvOptions {
  delimiter: number;
  /** Whether the file ends with this window. */
  atEnd: boolean;
  recordsMax: number;
  recordBytesMax: number;
}

const QUOTE = 0x22;
const CR = 0x0d;
const LF = 0x0a;

export function readCsv(window: Buffer, options: CsvOptions): CsvWindow {
  const records: CsvRecord[] = [];
  let at = 0;
  let lines = 0;
  let inSkippedLine = false;
  while (at < window.length && records.length < options.recordsMax) {
    const record = readRecord(window, at, options);
    if (record.kind === 'cut') break;
    if (record.kind === 'broken') {
      records.push({ linesBefore: lines, fields: undefined, error: record.error });
      inSkippedLine = record.lines === 0;
    } else if (!isBlank(record.fields)) {
      records.push({ linesBefore: lines, fields: record.fields });
    }
    lines += record.lines;
    at = record.end;
  }
  return { records, used: at, lines, inSkippedLine };
}

/** The end of the line at the start of the window; `found` when it is within the window. */
export function endOfLine(
  window: Buffer,
  start: number,
  atEnd: boolean,
): { end: number; found: boolean } {
  let end = start;
  while (end < window.length && window[end] !== LF && window[end] !== CR) end += 1;
  // A CR at the very end may be half of a CRLF, so it is left to the next window.
  if (isCut(window, end) && !atEnd) return { end, found: false };
  return { end: afterLineBreak(window, end), found: true };
}

type ReadRecord =
  | { kind: 'record'; fields: Buffer[]; end: number; lines: number }
  | { kind: 'broken'; error: CsvError; end: number; lines: number }
  /** It may continue after the window. */
  | { kind: 'cut' };

function readRecord(window: Buffer, start: number, options: CsvOptions): ReadRecord {
  const { delimiter, atEnd, recordBytesMax } = options;
  const fields: Buffer[] = [];
  let lines = 0;
  let at = start;
  for (;;) {
    const field =
      window[at] === QUOTE
        ? readQuotedField(window, at, delimiter)
        : readUnquotedField(window, at, delimiter);
    if (field.end - start > recordBytesMax) {
      return broken(window, start, field.error ?? 'too_long', options);
    }
    if (field.cut && !atEnd) return { kind: 'cut' };
    if (field.error) return broken(window, start, field.error, options);
    fields.push(field.content);
    lines += field.lines;
    at = field.end;
    if (window[at] !== delimiter) {
      return { kind: 'record', fields, end: afterLineBreak(window, at), lines: lines + 1 };
    }
    at += 1;
  }
}

interface Field {
  content: Buffer;
  /** The position of the delimiter, the line break or the end of the window. */
  end: number;
  lines: number;
  /** The window ended first, so the field may continue. */
  cut: boolean;
  error?: CsvError;
}

function readUnquotedField(window: Buffer, start: number, delimiter: number): Field {
  let end = start;
  while (end < window.length) {
    const byte = window[end];
    if (byte === delimiter || byte === LF || byte === CR) break;
    end += 1;
  }
  return { content: window.subarray(start, end), end, lines: 0, cut: isCut(window, end) };
}

function readQuotedField(window: Buffer, start: number, delimiter: number): Field {
  const pieces: Buffer[] = [];
  let from = start + 1;
  for (;;) {
    const quote = window.indexOf(QUOTE, from);
    if (quote < 0) {
      const end = window.length;
      return { content: EMPTY, end, lines: 0, cut: true, error: 'quote_not_closed' };
    }
    if (window[quote + 1] === QUOTE) {
      pieces.push(window.subarray(from, quote + 1));
      from = quote + 2;
      continue;
    }
    pieces.push(window.subarray(from, quote));
    const end = quote + 1;
    const next = window[end];
    const content = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
    const lines = lineBreaks(content);
    if (next === undefined || next === delimiter || next === LF || next === CR) {
      return { content, end, lines, cut: isCut(window, end) };
    }
    return { content, end, lines, cut: false, error: 'text_after_quote' };
  }
}

const EMPTY = Buffer.alloc(0);

/** A CR at the very end may be half of a CRLF. */
function isCut(window: Buffer, end: number): boolean {
  return end >= window.length || (window[end] === CR && end + 1 === window.length);
}

/** A broken record ends with its first line, whatever its quotes say. */
function broken(window: Buffer, start: number, error: CsvError, options: CsvOptions): ReadRecord {
  const { end, found } = endOfLine(window, start, options.atEnd);
  if (found) return { kind: 'broken', error, end, lines: 1 };
  if (end - start <= options.recordBytesMax) return { kind: 'cut' };
  return { kind: 'broken', error, end, lines: 0 };
}

function afterLineBreak(window: Buffer, at: number): number {
  const width = window[at] === CR && window[at + 1] === LF ? 2 : 1;
  return Math.min(at + width, window.length);
}

function lineBreaks(content: Buffer): number {
  let lines = 0;
  for (let at = 0; at < content.length; at++) {
    const byte = content[at];
    if (byte === LF || (byte === CR && content[at + 1] !== LF)) lines += 1;
  }
  return lines;
}

/** An empty line is not a record; a line of delimiters is. */
function isBlank(fields: readonly Buffer[]): boolean {
  return fields.length === 1 && fields[0]?.length === 0;
}
