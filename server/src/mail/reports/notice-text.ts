import type { SmtpStage } from '../smtp-client/smtp-results.ts';
import type { MailStructure } from './mime-structure.ts';
import { stageIn } from './report-fields.ts';

/**
 * What the human-readable part of a bounce says about one recipient. Some servers give the reason
 * only there: Exim and Sendmail in indented lines below the address, OpenSMTPD after it.
 */
export function noticeTextFor(mail: MailStructure, address: string): string | undefined {
  for (const [first = '', ...others] of noticesFor(mail, address)) {
    const lines = [first, ...others.map((line) => line.replace(ROUTING, ''))];
    const text = lines.filter((line) => line !== '').join(' ');
    if (text !== '') return unwrap(text).slice(0, REASON_CHARS_MAX);
  }
  return undefined;
}

/** The command whose rejection is described below the address. */
export function noticeStageFor(mail: MailStructure, address: string): SmtpStage | null {
  for (const lines of noticesFor(mail, address)) {
    const stage = stageIn(lines.join(' '));
    if (stage) return stage;
  }
  return null;
}

/** Google's summary, which is sometimes all that it says: `** Address not found **`. */
export function noticeHeadline(mail: MailStructure): string | undefined {
  return /^\*\* (.{1,100}) \*\*\s*$/m.exec(humanReadablePart(mail))?.[1];
}

/** The lines of the human-readable part above the returned message. */
export function noticeLines(mail: MailStructure): string[] {
  const lines = humanReadablePart(mail).split(/\r\n|\n|\r/, LINES_MAX);
  const end = lines.findIndex((line, index) => index > 0 && RETURNED_MESSAGE.test(line));
  return lines.slice(0, end === -1 ? undefined : end);
}

/** One character per byte, like all bodies. */
export function humanReadablePart({ parts }: MailStructure): string {
  const [first] = parts;
  const plain = parts.find(({ type }) => /^text\/plain\b/.test(type.name));
  const isHtml = !plain && first?.type.name === 'text/html';
  if (isHtml) return withoutTags(first.body);
  const part = plain ?? (first?.type.name.startsWith('multipart/') ? first : undefined);
  return part?.body.slice(0, NOTICE_CHARS_MAX) ?? '';
}

function withoutTags(html: string): string {
  return html
    .slice(0, HTML_CHARS_MAX)
    .replaceAll(/<(br|p|div|tr|h\d)\b[^<>]{0,500}>/gi, '\n')
    .replaceAll(/<[^<>@]{0,500}>/g, '')
    .slice(0, NOTICE_CHARS_MAX);
}

const HTML_CHARS_MAX = 64 * 1024;
const NOTICE_CHARS_MAX = 8 * 1024;
const LINES_MAX = 300;
const BELOW_LINES_MAX = 20;
const REASON_CHARS_MAX = 500;

/** The line above the returned message, or the first line of its header. */
const RETURNED_MESSAGE =
  /^(received|return-path|dkim-signature|x-received|x-originating-ip): ?\S|^[\s|>*#=-]{2,80}(\w.{0,40}\b)?(original|returned|unsent|copy|message (text|headers?))\b|^(original message|message headers?) follow|\bcopy of the (original )?message( header)?:/i;

/** For each address, the text after each of its occurrences and the lines indented below it. */
type Notices = Map<string, string[][]>;

/** A report may name a hundred recipients; its text is searched once for all of them. */
const noticesByMail = new WeakMap<MailStructure, Notices>();

function noticesFor(mail: MailStructure, address: string): string[][] {
  let notices = noticesByMail.get(mail);
  if (!notices) {
    notices = findNotices(humanReadablePart(mail).split(/\r?\n/, LINES_MAX));
    noticesByMail.set(mail, notices);
  }
  return notices.get(address.toLowerCase()) ?? [];
}

function findNotices(lines: readonly string[]): Notices {
  const notices: Notices = new Map();
  for (const [index, line] of lines.entries()) {
    const text = line.trim();
    const [name = ''] = text.split(/\s/, 1);
    const address = name
      .replace(/:$/, '')
      .replace(/^<(.*)>$/, '$1')
      .toLowerCase();
    if (address === '') continue;
    const notice = [text.slice(name.length).trim(), ...indentedLinesAfter(lines, index)];
    const others = notices.get(address);
    if (others) others.push(notice);
    else notices.set(address, [notice]);
  }
  return notices;
}

/** Lines that are indented deeper than the given one, up to an empty line. */
function indentedLinesAfter(lines: readonly string[], index: number): string[] {
  const indent = indentOf(lines[index] ?? '');
  const below: string[] = [];
  for (const line of lines.slice(index + 1, index + 1 + BELOW_LINES_MAX)) {
    if (line.trim() === '' || indentOf(line) <= indent) break;
    below.push(line.trim());
  }
  return below;
}

/** Where the message was going, not why it failed. Exim puts the reply behind it, or below. */
const ROUTING =
  /^\((ultimately )?(generated|expanded) from.*|^host \S+ \[[^\]]*\]:?\s*|^SMTP error from remote .*/;

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Removes what OpenSMTPD and Sendmail put around the text. */
function unwrap(text: string): string {
  return text.replace(/^"(.*)"$/, '$1').replace(/^\(reason: (.*)\)$/, '$1');
}
