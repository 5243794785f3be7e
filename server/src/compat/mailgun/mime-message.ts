import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type FieldError, invalidFields } from '../../lib/refused-error.ts';
import { parseMessageId } from '../../mail/mime/header.ts';
import { parseAddress } from '../address-list.ts';
import {
  addressesOf,
  checkSenderDomain,
  File,
  MESSAGE_ID_FIELD,
  metadataOf,
  Several,
} from './message-form.ts';
import { parseSendOptions } from './send-options.ts';

/** A message that the caller composed, and its translation to the body of our own raw send. */
export const MimeForm = closed(
  {
    to: Several,
    message: Type.Union([Type.String(), File], { description: 'The whole message.' }),
  },
  {
    title: 'MailgunMimeMessage',
    patternProperties: {
      '^o:.': { description: 'Options, such as `o:tag`.' },
      '^v:.': { type: 'string', description: 'Your own data, returned with events.' },
    },
  },
);

export interface RawMessage {
  body: object;
  /** The message's own Message-ID, without angle brackets. */
  messageId: string | undefined;
}

export function toRawMessage(
  form: Static<typeof MimeForm> & Record<string, unknown>,
  { domain, nowMs, isLive }: { domain: string; nowMs: number; isLive: boolean },
): RawMessage {
  const { to, message } = form;
  const raw =
    typeof message === 'string' ? Buffer.from(message).toString('base64') : message.content;
  const headers = readHeaders(Buffer.from(raw.slice(0, HEADER_BASE64_MAX), 'base64').toString());
  checkSenderDomain(parseAddress(headers.get('from') ?? '', '/message'), domain);
  refuseMailgunHeaders(headers);
  const { fields, isTest } = parseSendOptions(form, nowMs);
  if (isTest && isLive) {
    const detail = 'A MIME message cannot be tested with a live key. Use a test key.';
    throw invalidFields([{ pointer: '/o:testmode', code: 'unsupported', detail }]);
  }
  const messageId = parseMessageId(headers.get('message-id') ?? '');
  const own = messageId === undefined ? {} : { [MESSAGE_ID_FIELD]: messageId };
  return {
    body: {
      raw,
      recipients: addressesOf(to, '/to').map(({ email }) => email),
      metadata: { ...metadataOf(form), ...own },
      ...fields,
    },
    messageId,
  };
}

/** The largest header that our own parser accepts. */
const HEADER_BASE64_MAX = Math.ceil((256 * 1024) / 3) * 4;

/** The first field of each name, unfolded. Our own raw send parses the message strictly. */
function readHeaders(text: string): Map<string, string> {
  const [header = ''] = text.split(/\r?\n\r?\n/, 1);
  const fields = new Map<string, string>();
  for (const line of header.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0 && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

function refuseMailgunHeaders(headers: ReadonlyMap<string, string>): void {
  const errors: FieldError[] = [...headers.keys()]
    .filter((name) => name.startsWith('x-mailgun-'))
    .map((name) => ({
      pointer: '/message',
      code: 'unsupported',
      detail: `The header ${name} is not supported. Give the option as an \`o:\` or \`v:\` field.`,
    }));
  if (errors.length > 0) throw invalidFields(errors);
}
