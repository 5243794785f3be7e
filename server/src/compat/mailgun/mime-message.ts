import { decodeWords } from 'postal-mime';
import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type FieldError, invalidFields } from '../../lib/refused-error.ts';
import { parseMessageId } from '../../mail/mime/header.ts';
import { parseAddress } from '../address-list.ts';
import { parseJsonObject } from '../json-object.ts';
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
  checkSenderDomain(parseAddress(headers.first('from') ?? '', '/message'), domain);
  const inMessage = mailgunHeaders(headers);
  const merged = merge(inMessage.fields, form);
  const { fields, isTest } = parseSendOptions(merged, nowMs);
  if (isTest && isLive) {
    const detail = 'A MIME message cannot be tested with a live key. Use a test key.';
    throw invalidFields([{ pointer: '/o:testmode', code: 'unsupported', detail }]);
  }
  const messageId = parseMessageId(headers.first('message-id') ?? '');
  const own = messageId === undefined ? {} : { [MESSAGE_ID_FIELD]: messageId };
  return {
    body: {
      raw: inMessage.names.size === 0 ? raw : withoutHeaders(raw, inMessage.names),
      recipients: addressesOf(to, '/to').map(({ email }) => email),
      metadata: { ...metadataOf(merged), ...own },
      ...fields,
    },
    messageId,
  };
}

/** The largest header that our own parser accepts. */
const HEADER_BASE64_MAX = Math.ceil((256 * 1024) / 3) * 4;

interface Headers {
  /** In lower case, with unfolded values. */
  fields: readonly (readonly [name: string, value: string])[];
  first(name: string): string | undefined;
}

/** Our own raw send parses the message strictly. */
function readHeaders(text: string): Headers {
  const [header = ''] = text.split(/\r?\n\r?\n/, 1);
  const fields: [string, string][] = [];
  for (const line of header.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0) fields.push([name, line.slice(colon + 1).trim()]);
  }
  return { fields, first: (name) => fields.find(([other]) => other === name)?.[1] };
}

const VARIABLES = 'x-mailgun-variables';

/** https://documentation.mailgun.com/docs/mailgun/user-manual/sending-messages/send-smtp */
const OPTION_HEADERS: Record<string, string> = {
  'x-mailgun-tag': 'o:tag',
  'x-mailgun-dkim': 'o:dkim',
  'x-mailgun-deliver-by': 'o:deliverytime',
  'x-mailgun-drop-message': 'o:testmode',
  'x-mailgun-track': 'o:tracking',
  'x-mailgun-track-clicks': 'o:tracking-clicks',
  'x-mailgun-track-opens': 'o:tracking-opens',
  'x-mailgun-require-tls': 'o:require-tls',
  'x-mailgun-skip-verification': 'o:skip-verification',
};

/** Options that are given in the message, as the fields of the form with the same meaning. */
function mailgunHeaders({ fields }: Headers) {
  const names = new Set<string>();
  const given: [name: string, value: string][] = [];
  const errors: FieldError[] = [];
  for (const [name, value] of fields) {
    if (!name.startsWith('x-mailgun-')) continue;
    names.add(name);
    const text = decodeWords(value);
    const option = Object.hasOwn(OPTION_HEADERS, name) ? OPTION_HEADERS[name] : undefined;
    if (name === VARIABLES) given.push(...variableFields(parseJsonObject(text, '/message')));
    else if (option !== undefined) given.push([option, text]);
    else errors.push({ pointer: '/message', code: 'unsupported', detail: unsupported(name) });
  }
  if (errors.length > 0) throw invalidFields(errors);
  return { names, fields: given };
}

function unsupported(name: string): string {
  return `The header ${name} is not supported.`;
}

function variableFields(values: Record<string, unknown>): [name: string, value: string][] {
  return Object.entries(values).map(([name, value]) => [
    `v:${name}`,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}

/** Fields of the form replace headers; tags are added. */
function merge(
  headers: readonly (readonly [name: string, value: string])[],
  form: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const tags = headers.filter(([name]) => name === 'o:tag').map(([, value]) => value);
  const allTags = [...tags, ...[form['o:tag'] ?? []].flat()];
  return {
    ...Object.fromEntries(headers),
    ...form,
    ...(allTags.length > 0 ? { 'o:tag': allTags } : {}),
  };
}

/** Recipients do not see the options. Everything else stays as it is, byte for byte. */
function withoutHeaders(raw: string, names: ReadonlySet<string>): string {
  const text = Buffer.from(raw, 'base64').toString('latin1');
  const end = /\r?\n\r?\n/.exec(text)?.index ?? text.length;
  const kept = text
    .slice(0, end)
    .split(/(?<=\n)(?![ \t])/)
    .filter((field) => !names.has(field.slice(0, field.indexOf(':')).trim().toLowerCase()));
  // The last line break belongs to the end of the header.
  const header = kept.join('').replace(/\r?\n$/, '');
  return Buffer.from(header + text.slice(end), 'latin1').toString('base64');
}
