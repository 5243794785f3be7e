import type { NamedMailbox } from '../mail/address.ts';
import { compose } from '../mail/mime/compose.ts';
import type { FieldErrors } from '../messages/accept/field-errors.ts';
import { parseNamedMailbox } from '../messages/accept/parse-envelope.ts';
import {
  checkRenderedHeader,
  headerPointer,
  isMessageIdHeader,
  parseAttachments,
  parseHeaders,
  parseMessageIdHeader,
} from '../messages/accept/parse-options.ts';
import type { SendLimits } from '../messages/accept/send-limits.ts';
import type { AddressInput, AttachmentInput } from '../messages/accept/send-request.ts';

/** A mail that a caller describes, as a mail program of the sender would compose it. */
export interface SimulatedMail {
  from: AddressInput;
  to: AddressInput;
  subject: string;
  text?: string;
  html?: string;
  headers?: Record<string, string>;
  attachments?: AttachmentInput[];
}

export interface ComposedMail {
  from: NamedMailbox;
  to: NamedMailbox;
  raw: Buffer;
}

export interface ComposeOptions {
  limits: SendLimits;
  /** Unique. */
  id: string;
  nowMs: number;
  /** The Message-ID of the message that it answers. */
  answers: string | undefined;
}

/** Adds what is wrong to `errors`; the result is then undefined. */
export function composeSimulatedMail(
  mail: SimulatedMail,
  { limits, id, nowMs, answers }: ComposeOptions,
  errors: FieldErrors,
): ComposedMail | undefined {
  const from = parseNamedMailbox(mail.from, '/from', errors);
  const to = parseNamedMailbox(mail.to, '/to', errors);
  const given = parseHeaders(mail, limits, errors);
  const ownMessageId = parseMessageIdHeader(given, errors);
  const headers = given.filter(([name]) => !isMessageIdHeader(name));
  for (const [name, value] of headers) checkRenderedHeader(name, value, limits, errors);
  if (answers !== undefined) headers.push(...threadHeaders(answers, headers, errors));
  const attachments = parseAttachments(mail, errors);
  if (/[\p{Cc}]/u.test(mail.subject)) {
    const detail = 'A subject cannot contain line breaks or other control characters.';
    errors.add('/subject', 'invalid_text', detail);
  }
  if (!from || !to || errors.all.length > 0) return undefined;
  const { subject, text = '', html = '' } = mail;
  const messageId = ownMessageId ?? `${id}@${from.domain}`;
  const raw = compose({
    messageId,
    dateMs: nowMs,
    from,
    to: [to],
    cc: [],
    replyTo: [],
    subject,
    text,
    html,
    headers,
    attachments,
  });
  return { from, to, raw };
}

function threadHeaders(
  messageId: string,
  headers: readonly [string, string][],
  errors: FieldErrors,
): [string, string][] {
  const names = ['In-Reply-To', 'References'];
  const given = headers.find(([name]) => /^(in-reply-to|references)$/i.test(name));
  if (given) {
    const detail = 'Use either this header or `in_reply_to_message_id`.';
    errors.add(headerPointer(given[0]), 'conflict', detail);
  }
  return names.map((name) => [name, `<${messageId}>`]);
}
