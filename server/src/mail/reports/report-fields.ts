import { parseMailbox } from '../address.ts';
import type { SmtpStage } from '../smtp-client/smtp-results.ts';
import { displayText } from './mime-structure.ts';

/**
 * Parses the fields of reports as servers actually write them: codes, texts, names and addresses.
 */

export interface Diagnostic {
  /** The SMTP reply code. */
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

/**
 * Parses the server's reply and its codes, wherever they are in the line (RFC 3464 section 2.3.6).
 */
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
/** Longest text that servers put before the reply, such as "Remote host said:". */
const PREFIX_CHARS_MAX = 40;

/** Multi-line replies repeat the codes in each line. */
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

/**
 * The command that was rejected, as Exim ("after MAIL FROM:<…>"), Postfix ("in reply to MAIL FROM
 * command"), dma ("did not like our RCPT TO"), Yahoo ("[RCPT_TO]") and transcripts (">>> MAIL FROM")
 * name it.
 */
export function stageIn(text: string): SmtpStage | null {
  const [, command] = COMMAND.exec(text) ?? [];
  return command === undefined
    ? null
    : (COMMAND_STAGES[command.toLowerCase().replace('_', ' ')] ?? null);
}

const COMMAND =
  /(?:\b(?:after|following|in reply to|did not like our)\s(?:pipelined\s)?|\[|>>> ?|<<< ?|\bSMTP:)(initial connection|HELO|EHLO|STARTTLS|MAIL(?:[ _]FROM)?|RCPT(?:[ _]TO)?|DATA|end of data)\b/i;

const COMMAND_STAGES: Record<string, SmtpStage> = {
  'initial connection': 'greeting',
  helo: 'ehlo',
  ehlo: 'ehlo',
  starttls: 'starttls',
  mail: 'mail',
  'mail from': 'mail',
  rcpt: 'rcpt',
  'rcpt to': 'rcpt',
  data: 'data',
  'end of data': 'body',
};

/**
 * The value without its type prefix (`rfc822;`, `dns;`, `smtp;`), which is often wrong or missing.
 */
export function fieldValue(field: string | undefined): string {
  return (field ?? '').replace(/^\s*[\w-]{1,30}\s*;/, '').trim();
}

export function parseMtaName(field: string | undefined): string | null {
  const name = displayText(fieldValue(field), NAME_CHARS_MAX);
  return name === '' ? null : name;
}

/** RFC 3464 section 2.3.1, also with angle brackets and with xtext (RFC 3461 section 4). */
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
