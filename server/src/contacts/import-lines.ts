import { isUtf8 } from 'node:buffer';
import { stripFormulaGuard } from '../lib/csv-line.ts';
import { type FieldError, RefusedError } from '../lib/refused-error.ts';
import type { Mailbox } from '../mail/address.ts';
import { isStreamKey } from '../streams/stream-source.ts';
import { type ContactChange, parseContact, SUBSCRIPTION_COLUMN_PREFIX } from './contact-fields.ts';
import { type CsvError, endOfLine, readCsv } from './csv.ts';

/**
 * Parses the bytes of an upload into contacts, line by line, as NDJSON or CSV. Pure: it takes a
 * window of the file and its cursor, and returns the lines in it and the cursor of the next window.
 * Failures never repeat the content of a line.
 */

export type ImportFormat =
  | { kind: 'ndjson' }
  | { kind: 'csv'; delimiter: string; columns: Column[] };

/** What the cells of a column become. Some columns of our own exports are ignored. */
export type Column =
  | { to: 'field'; name: 'email' | 'first_name' | 'last_name' | 'locale' | 'attributes' }
  | { to: 'attribute'; name: string }
  | { to: 'subscription'; name: string; field: 'status' | 'changed_at' }
  | { to: 'nothing' };

export type ImportLine =
  | { line: number; mailbox: Mailbox; change: ContactChange }
  | { line: number; failure: LineFailure };

export interface LineFailure {
  /** The field, as a JSON Pointer; null for the whole line. */
  field: string | null;
  code: string;
  detail: string;
}

/** A position in a file. */
export interface ImportCursor {
  bytes: number;
  /** Line breaks before this position. */
  lines: number;
  /** Inside a line that is too long, whose rest is skipped. */
  inSkippedLine: boolean;
}

export interface ReadLines {
  lines: ImportLine[];
  next: ImportCursor;
}

/** Enough for 32 KiB of attributes with every quote doubled. */
const LINE_BYTES_MAX = 128 * 1024;

export function readLines(
  format: ImportFormat,
  window: Buffer,
  cursor: ImportCursor,
  bounds: { atEnd: boolean; linesMax: number },
): ReadLines {
  if (cursor.inSkippedLine) {
    const { end, found } = endOfLine(window, 0, bounds.atEnd);
    const lines = cursor.lines + (found ? 1 : 0);
    return { lines: [], next: { bytes: cursor.bytes + end, lines, inSkippedLine: !found } };
  }
  return format.kind === 'csv'
    ? readCsvLines(format, window, cursor, bounds)
    : readJsonLines(window, cursor, bounds);
}

const UTF8_BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const DELIMITERS = [',', ';', '\t'];

/**
 * Checks the encoding and the CSV header at the beginning of an upload, so that an unreadable file
 * is rejected at once. `start` is where the lines begin.
 */
export function readUploadHead(
  kind: 'ndjson' | 'csv',
  head: Buffer,
  atEnd: boolean,
): { format: ImportFormat; start: ImportCursor } {
  const utf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (utf16)
    throw unreadableUpload('wrong_encoding', 'The file is encoded as UTF-16. Save it as UTF-8.');
  const skipped = head.subarray(0, 3).equals(UTF8_BOM) ? 3 : 0;
  const text = head.subarray(skipped);
  if (text.length === 0) throw unreadableUpload('empty', 'The body is empty.');
  if (kind === 'ndjson') {
    return {
      format: { kind },
      start: { bytes: skipped, lines: 0, inSkippedLine: false },
    };
  }
  for (const delimiter of DELIMITERS) {
    const read = readCsv(text, {
      delimiter: delimiter.charCodeAt(0),
      atEnd,
      recordsMax: 1,
      recordBytesMax: LINE_BYTES_MAX,
    });
    const names = read.records[0]?.fields?.map((field) => cellText(field) ?? '');
    const columns = names?.map(toColumn);
    if (!columns?.some((column) => column.to === 'field' && column.name === 'email')) continue;
    refuseBadColumns(columns);
    const start = { bytes: skipped + read.used, lines: read.lines, inSkippedLine: false };
    return { format: { kind, delimiter, columns }, start };
  }
  throw unreadableUpload(
    'missing_column',
    'The first line must contain the column names, including "email".',
  );
}

function toColumn(header: string): Column {
  const name = stripFormulaGuard(header).trim();
  const plain = name.toLowerCase().replaceAll(/[\s-]+/g, '_');
  switch (plain) {
    case 'email':
    case 'e_mail':
      return { to: 'field', name: 'email' };
    case 'first_name':
    case 'last_name':
    case 'locale':
    case 'attributes':
      return { to: 'field', name: plain };
    case '':
    case 'id':
    case 'mode':
    case 'created_at':
    case 'updated_at':
      return { to: 'nothing' };
    default:
      return subscriptionColumn(name.toLowerCase()) ?? { to: 'attribute', name };
  }
}

/** `subscription:<stream>`, with the columns that exports add for its time and its source. */
function subscriptionColumn(name: string): Column | undefined {
  if (!name.startsWith(SUBSCRIPTION_COLUMN_PREFIX)) return undefined;
  const [stream = '', field = 'status', ...more] = name
    .slice(SUBSCRIPTION_COLUMN_PREFIX.length)
    .split(':');
  if (more.length > 0 || !isStreamKey(stream)) return undefined;
  if (field === 'source') return { to: 'nothing' };
  if (field !== 'status' && field !== 'changed_at') return undefined;
  return { to: 'subscription', name: stream, field };
}

function refuseBadColumns(columns: readonly Column[]): void {
  const seen = new Set<string>();
  for (const column of columns) {
    if (column.to === 'nothing') continue;
    const name = `${column.to} ${column.name} ${'field' in column ? column.field : ''}`;
    if (seen.has(name)) {
      throw unreadableUpload('duplicate_column', `The column "${column.name}" occurs twice.`);
    }
    seen.add(name);
    if (column.to !== 'attribute') continue;
    const tried = parseContact({ attributes: Object.fromEntries([[column.name, '']]) });
    if (!tried.ok) throw unreadableUpload('invalid_column', `A column: ${tried.errors[0].detail}`);
  }
}

function unreadableUpload(code: string, detail: string): RefusedError {
  return new RefusedError('validation_failed', detail, { errors: [{ pointer: '', code, detail }] });
}

function readCsvLines(
  format: Extract<ImportFormat, { kind: 'csv' }>,
  window: Buffer,
  cursor: ImportCursor,
  { atEnd, linesMax }: { atEnd: boolean; linesMax: number },
): ReadLines {
  const read = readCsv(window, {
    delimiter: format.delimiter.charCodeAt(0),
    atEnd,
    recordsMax: linesMax,
    recordBytesMax: LINE_BYTES_MAX,
  });
  const lines = read.records.map(({ linesBefore, fields, error }): ImportLine => {
    const line = cursor.lines + linesBefore + 1;
    if (!fields) return { line, failure: csvLineFailure(error ?? 'too_long') };
    const given = fieldsToObject(fields, format.columns);
    return 'code' in given ? { line, failure: given } : toImportLine(line, given.object);
  });
  const next = {
    bytes: cursor.bytes + read.used,
    lines: cursor.lines + read.lines,
    inSkippedLine: read.inSkippedLine,
  };
  return { lines, next };
}

/** An empty cell leaves the contact's value unchanged. */
function fieldsToObject(
  fields: readonly Buffer[],
  columns: readonly Column[],
): { object: Record<string, unknown> } | LineFailure {
  if (fields.length !== columns.length) {
    const detail = `This line has ${fields.length} fields, but the first line has ${columns.length}.`;
    return lineFailure('wrong_field_count', detail);
  }
  const object: Record<string, unknown> = {};
  // Without a prototype, so that no name is special before it is checked.
  const attributes: Record<string, unknown> = Object.create(null);
  const subscriptions: Record<string, Record<string, string>> = {};
  for (const [index, column] of columns.entries()) {
    const text = cellText(fields[index] as Buffer);
    if (text === undefined) return NOT_UTF8;
    const cell = stripFormulaGuard(text);
    if (cell === '' || column.to === 'nothing') continue;
    if (column.to === 'attribute') attributes[column.name] = cell;
    else if (column.to === 'subscription') {
      const value = column.field === 'status' ? cell.trim().toLowerCase() : cell.trim();
      subscriptions[column.name] = { ...subscriptions[column.name], [column.field]: value };
    } else if (column.name !== 'attributes') object[column.name] = cell.trim();
    else {
      const parsed = parseJson(cell);
      if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) {
        const detail = 'Attributes must be a JSON object.';
        return { field: '/attributes', code: 'invalid_json', detail };
      }
      Object.assign(attributes, parsed);
    }
  }
  if (Object.keys(attributes).length > 0) object.attributes = attributes;
  if (Object.keys(subscriptions).length > 0) object.subscriptions = subscriptions;
  return { object };
}

function readJsonLines(
  window: Buffer,
  cursor: ImportCursor,
  { atEnd, linesMax }: { atEnd: boolean; linesMax: number },
): ReadLines {
  const lines: ImportLine[] = [];
  let at = 0;
  let passed = 0;
  let inSkippedLine = false;
  while (at < window.length && lines.length < linesMax && !inSkippedLine) {
    const { end, found } = endOfLine(window, at, atEnd);
    const tooLong = end - at > LINE_BYTES_MAX;
    if (!found && !tooLong) break;
    const text = window.subarray(at, end);
    const line = cursor.lines + passed + 1;
    if (tooLong) lines.push({ line, failure: csvLineFailure('too_long') });
    else if (!isBlank(text)) lines.push(jsonLine(line, text));
    inSkippedLine = !found;
    if (found) passed += 1;
    at = end;
  }
  const next = { bytes: cursor.bytes + at, lines: cursor.lines + passed, inSkippedLine };
  return { lines, next };
}

function jsonLine(line: number, text: Buffer): ImportLine {
  if (!isUtf8(text)) return { line, failure: NOT_UTF8 };
  const given = parseJson(text.toString());
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    return { line, failure: lineFailure('invalid_json', 'This line is not a JSON object.') };
  }
  const { id: _id, mode: _mode, created_at: _c, updated_at: _u, ...fields } = given as ExportedLine;
  return toImportLine(line, fields);
}

/** Fields that an export adds to a contact. */
type ExportedLine = Record<string, unknown> & {
  id?: unknown;
  mode?: unknown;
  created_at?: unknown;
  updated_at?: unknown;
};

function toImportLine(line: number, given: Record<string, unknown>): ImportLine {
  const parsed = parseContact(given);
  if (!parsed.ok) return { line, failure: toLineFailure(parsed.errors[0]) };
  const { mailbox, ...change } = parsed.change;
  if (mailbox) return { line, mailbox, change };
  const detail = 'This line has no email address.';
  return { line, failure: { field: '/email', code: 'required', detail } };
}

export function toLineFailure({ pointer, code, detail }: FieldError): LineFailure {
  return { field: pointer || null, code, detail };
}

const NOT_UTF8 = lineFailure('invalid_text', 'This line is not valid UTF-8.');

function csvLineFailure(error: CsvError): LineFailure {
  switch (error) {
    case 'quote_not_closed':
      return lineFailure(error, 'A quote on this line is not closed.');
    case 'text_after_quote':
      return lineFailure(error, 'There is text after a closing quote.');
    case 'too_long':
      return lineFailure(error, `A line can have at most ${LINE_BYTES_MAX / 1024} KiB.`);
  }
}

function lineFailure(code: string, detail: string): LineFailure {
  return { field: null, code, detail };
}

function cellText(field: Buffer): string | undefined {
  return isUtf8(field) ? field.toString() : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isBlank(text: Buffer): boolean {
  for (const byte of text) if (byte > 0x20) return false;
  return true;
}
