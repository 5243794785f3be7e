import { parseMailbox } from '../address.ts';
import { displayText } from './mime-structure.ts';

/** What stands in the fields of reports: codes, words, names and addresses, as servers write them. */

export interface Diagnostic {
  /** SMTP's reply code. */
  code: number | null;
  /** RFC 3463, such as `5.1.1`. */
  status: string | null;
  text: string;
}

const TEXT_CHARS_MAX = 1000;
const NAME_CHARS_MAX = 255;

const STATUS = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.])/;

export function statusIn(text: string): string | null {
  return STATUS.exec(text)?.[0] ?? null;
}

/** The server's words with their codes, wherever in the line they stand (RFC 3464 2.3.6). */
export function parseDiagnostic(field: string): Diagnostic {
  const text = displayText(field.slice(0, 4 * TEXT_CHARS_MAX));
  const found = CODES.exec(text);
  const code = found?.[1] === undefined ? null : Number(found[1]);
  const status = found?.[2] ?? statusIn(text);
  const reply = found && found.index < PREFIX_CHARS_MAX ? text.slice(found.index) : text;
  const truncated = stripCodes(reply, found).slice(0, TEXT_CHARS_MAX).toWellFormed();
  return { code, status, text: truncated };
}

const CODES = /(?<![\d.])([45]\d\d)(?:[ -]+#?\(?([45]\.\d{1,3}\.\d{1,3})\)?)?(?![\d.])/;
/** What some put before the reply: "Remote host said:". */
const PREFIX_CHARS_MAX = 40;

/** A reply of several lines repeats its codes in each. */
function stripCodes(text: string, found: RegExpExecArray | null): string {
  const code = found?.[1];
  if (code === undefined) return text;
  const status = found?.[2];
  let stripped = text;
  for (const repeated of status === undefined
    ? [`${code}-`]
    : [`${code}-${status} `, `${code} ${status} `, `${code}-`]) {
    stripped = stripped.replaceAll(repeated, '');
  }
  return stripped.replace(new RegExp(`^${code}[ -]*`), '').trim() || text;
}

/** Without the type in front (`rfc822;`, `dns;`, `smtp;`), which is often wrong or missing. */
export function fieldValue(field: string | undefined): string {
  return (field ?? '').replace(/^\s*[\w-]{1,30}\s*;/, '').trim();
}

export function parseMtaName(field: string | undefined): string | null {
  const name = displayText(fieldValue(field), NAME_CHARS_MAX);
  return name === '' ? null : name;
}

/** RFC 3464 2.3.1, with the brackets that some put around it and the xtext of RFC 3461 4. */
export function parseAddressKey(field: string | undefined): string | null {
  const value = fieldValue(field);
  const bare = displayText(/<([^<>]*)>/.exec(value)?.[1] ?? value);
  for (const address of [bare, decodeXtext(bare)]) {
    const parsed = parseMailbox(address);
    if (parsed.ok) return parsed.mailbox.key;
  }
  return null;
}

function decodeXtext(text: string): string {
  return text.replaceAll(/\+([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
