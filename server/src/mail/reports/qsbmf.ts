import type { DeliveryReport } from './dsn.ts';
import type { MailStructure } from './mime-structure.ts';
import { parseAddressKey, parseDiagnostic, stageIn } from './report-fields.ts';

/**
 * Reads bounces of qmail and its derivatives (QSBMF, the qmail-send bounce message format): plain
 * text whose first paragraph begins with "Hi. This is the", then a paragraph per recipient, then
 * the original below a line of dashes. Such bounces are always permanent.
 */
export function readQsbmf(mail: MailStructure): DeliveryReport | undefined {
  const [text] = mail.parts;
  if (text?.type.name !== 'text/plain') return undefined;
  const paragraphs = text.body.replaceAll('\r\n', '\n').trimStart().split(/\n\n+/, PARAGRAPHS_MAX);
  const [greeting = '', ...others] = paragraphs;
  const host = /^Hi\. This is (?:the )?.{0,200}? at ([\w.-]{0,254}\w)/.exec(greeting);
  if (!/^Hi\. This is/.test(greeting)) return undefined;
  const end = others.findIndex((paragraph) => paragraph.startsWith('-'));
  const recipients = others.slice(0, end === -1 ? undefined : end).flatMap((paragraph) => {
    const [first = '', ...reason] = paragraph.split('\n');
    const address = /^<(.+)>:$/.exec(first.trim())?.[1];
    return address === undefined ? [] : [toFailedRecipient(address, reason.join(' '))];
  });
  return recipients.length === 0 ? undefined : { reportingMta: host?.[1] ?? null, recipients };
}

const PARAGRAPHS_MAX = 200;

function toFailedRecipient(address: string, reason: string): DeliveryReport['recipients'][number] {
  const diagnostic = parseDiagnostic(reason);
  return {
    action: 'failed',
    status: diagnostic.status,
    originalRecipient: null,
    finalRecipient: parseAddressKey(address),
    remoteMta: null,
    code: diagnostic.code,
    text: diagnostic.text,
    stage: stageIn(reason),
  };
}
