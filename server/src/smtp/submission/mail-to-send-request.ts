import { type Attachment, addressParser, decodeWords, type Email } from 'postal-mime';
import { isHeaderName, isReservedHeader } from '../../mail/mime/header.ts';
import { type ParsedMail, parseMail, unreadable } from '../../mail/mime/parse-mail.ts';
import type {
  AddressInput,
  AttachmentInput,
  SendRequest,
} from '../../messages/accept/send-request.ts';
import { headerText } from '../../templates/engine/escape.ts';
import { type ControlHeaders, parseControlHeaders } from './control-headers.ts';
import { classifyRecipients } from './submission-recipients.ts';

/**
 * From the bytes of a mail to the very request that the HTTP door would hand over, so that every
 * check is made once and by the same code. The envelope says who receives; the headers say who is
 * shown. What only servers write (Received, DKIM-Signature, Message-ID, Date and their like) is
 * left out without a word, because every mailer writes some of it.
 */
export interface Submitted {
  request: SendRequest;
  idempotencyKey: string | undefined;
}

export async function readMessage(data: Buffer, recipients: readonly string[]): Promise<Submitted> {
  const { mail, file } = await parseMail(data);
  const { control, headers } = sortHeaders(mail);
  const html = bodyText(mail.html ?? '');
  const { idempotencyKey, ...options } = control;
  const replyTo = flat(mail.replyTo);
  const request: SendRequest = {
    from: senderOf(mail),
    ...classifyRecipients(recipients, flat(mail.to), flat(mail.cc)),
    ...(replyTo.length > 0 ? { reply_to: replyTo } : {}),
    subject: mail.subject ?? '',
    html,
    // A text is made from html where the mail has none; a mail without html is its text.
    ...(mail.text !== undefined || html === '' ? { text: bodyText(mail.text ?? '') } : {}),
    ...(mail.attachments.length > 0
      ? {
          attachments: mail.attachments.map((part, at) => attachmentOf(part, file(part), at, html)),
        }
      : {}),
    ...(headers.length > 0 ? { headers } : {}),
    ...options,
  };
  return { request, idempotencyKey };
}

/** One mailbox, in one header: a second one might be the one that the reader sees. */
function senderOf({ headers }: Email): AddressInput {
  const from = headers.filter(({ key }) => key === 'from');
  const mailboxes = from.flatMap(({ value }) => flat(addressParser(value)));
  const [sender] = mailboxes;
  if (sender && mailboxes.length === 1 && from.length === 1) return sender;
  throw unreadable('The message needs one From header with one address.');
}

type Addresses = ReturnType<typeof addressParser>;

/** Members of groups stand like any others. What is written without an address is nobody. */
function flat(addresses: Addresses = []): AddressInput[] {
  return addresses
    .flatMap((one) => one.group ?? [one])
    .flatMap(({ address, name }) => {
      if (!address) return [];
      const shown = headerText(name).trim();
      return [shown === '' ? { email: address } : { email: address, name: shown }];
    });
}

const READ_ELSEWHERE = new Set(['from', 'to', 'cc', 'bcc', 'reply-to', 'subject']);

interface SortedHeaders {
  control: ControlHeaders;
  /** Extra headers in their order, each as often as it was written. */
  headers: [string, string][];
}

function sortHeaders(mail: Email): SortedHeaders {
  const controls: [string, string][] = [];
  const headers: [string, string][] = [];
  for (const { key, originalKey, value } of mail.headers) {
    const text = headerText(decodeWords(value)).trim();
    if (key.startsWith('x-postrider-')) controls.push([originalKey, text]);
    else if (READ_ELSEWHERE.has(key) || isReservedHeader(key) || !isHeaderName(key)) continue;
    else if (text !== '') headers.push([originalKey, text]);
  }
  return { control: parseControlHeaders(controls), headers };
}

/** Without the break that ends its last line. The database cannot store NUL, and no mail may hold it. */
function bodyText(text: string): string {
  return text.replace(/\n$/, '').replaceAll('\0', '\ufffd').toWellFormed();
}

type File = ReturnType<ParsedMail['file']>;

function attachmentOf(part: Attachment, file: File, at: number, html: string): AttachmentInput {
  const contentId = part.contentId?.replace(/^\s*<|>\s*$/g, '');
  // Some mailers give every file an id. It belongs into the html only where the html speaks of it.
  const isShown = contentId !== undefined && (part.related || html.includes(`cid:${contentId}`));
  const type = typeOf(part, file);
  return {
    filename: filenameOf(part, at),
    content: file.content.toString('base64'),
    ...(type === undefined ? {} : { content_type: type }),
    ...(isShown ? { content_id: contentId } : {}),
  };
}

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/;

function typeOf({ mimeType, method }: Attachment, { charset }: File): string | undefined {
  if (!MEDIA_TYPE.test(mimeType)) return undefined;
  let type = mimeType;
  // Calendars show an invitation only with its method.
  const isInvitation = method !== undefined && /^[A-Z]{1,20}$/.test(method);
  if (isInvitation) type += `; method=${method}`;
  if (charset && /^[A-Za-z0-9._-]{1,40}$/.test(charset)) type += `; charset=${charset}`;
  return type;
}

const FILENAME_CHARS_MAX = 200;

function filenameOf({ filename, mimeType }: Attachment, index: number): string {
  const name = headerText(filename ?? '')
    .replace(/[/\\]/g, '_')
    .trim();
  if (name !== '') return name.slice(-FILENAME_CHARS_MAX).toWellFormed();
  const extension = /\/([a-z0-9]{1,8})$/.exec(mimeType)?.[1] ?? 'bin';
  return `attachment-${index + 1}.${extension}`;
}
