import type { SmtpStage } from '../smtp-client/smtp-results.ts';
import type { MailStructure } from './mime-structure.ts';
import { stageIn } from './report-fields.ts';

/**
 * What the human-readable part of a bounce says about one recipient. Some servers give the reason
 * only there: Exim and Sendmail in indented lines below the address, OpenSMTPD after it.
 */
export function noticeTextFor(mail: MailStructure, address: string): string | undefined {
  for (const [first = '', ...others] of noticesFor(mail, address)) {
    const lines = [first, ...others.filter((line) => !ROUTING_LINE.test(line))];
    const text = lines.join(' ').trim();
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

/** The text after each occurrence of the address, then the lines indented below it. */
function* noticesFor(mail: MailStructure, address: string): Generator<string[]> {
  if (address === '') return;
  const lines = humanReadablePart(mail).split(/\r?\n/, LINES_MAX);
  const needle = address.toLowerCase();
  for (const [index, line] of lines.entries()) {
    const afterAddress = textAfterAddress(line, needle);
    if (afterAddress !== undefined) yield [afterAddress, ...indentedLinesAfter(lines, index)];
  }
}

/** One character per byte, like all bodies. */
export function humanReadablePart({ parts }: MailStructure): string {
  const notice = parts.find(({ type }) => type.name === 'text/plain')?.body ?? '';
  return notice.slice(0, NOTICE_CHARS_MAX);
}

const NOTICE_CHARS_MAX = 8 * 1024;
const LINES_MAX = 300;
const REASON_CHARS_MAX = 500;

/** The text after the address in a line that begins with it; undefined for any other line. */
function textAfterAddress(line: string, address: string): string | undefined {
  const text = line.trim();
  const [name = ''] = text.split(/\s/, 1);
  const named = name.replace(/:$/, '').replace(/^<(.*)>$/, '$1');
  return named.toLowerCase() === address ? text.slice(name.length).trim() : undefined;
}

/** Lines that are indented deeper than the given one, up to an empty line. */
function indentedLinesAfter(lines: readonly string[], index: number): string[] {
  const indent = indentOf(lines[index] ?? '');
  const below: string[] = [];
  for (const line of lines.slice(index + 1)) {
    if (line.trim() === '' || indentOf(line) <= indent) break;
    below.push(line.trim());
  }
  return below;
}

/** Where the message was going, not why it failed. */
const ROUTING_LINE =
  /^\s*(\((ultimately )?(generated|expanded) from|host \S+ \[|SMTP error from remote )/;

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Removes what OpenSMTPD and Sendmail put around the text. */
function unwrap(text: string): string {
  return text.replace(/^"(.*)"$/, '$1').replace(/^\(reason: (.*)\)$/, '$1');
}
