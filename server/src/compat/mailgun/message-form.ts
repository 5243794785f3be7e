import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type FieldError, invalidFields } from '../../lib/refused-error.ts';
import { parseDomainName } from '../../mail/domain-name.ts';
import { type AddressInput, parseAddress, parseAddressList } from '../address-list.ts';
import { parseJsonObject } from '../json-object.ts';
import {
  BATCH_RECIPIENTS_MAX,
  onOneLine,
  parseRecipientVariables,
  type RecipientVariables,
  type Substitute,
} from './recipient-variables.ts';
import { parseFlag, parseSendOptions } from './send-options.ts';

/** The form of a message and its translation to the body of our own send. */

export const Several = Type.Union([
  Type.String(),
  Type.Array(Type.String(), { maxItems: BATCH_RECIPIENTS_MAX }),
]);
export const File = closed(
  {
    filename: Type.String(),
    content_type: Type.String(),
    content: Type.String({ description: 'In JSON: encoded as Base64.' }),
  },
  { title: 'MailgunFile', description: 'An uploaded file.' },
);
const Files = Type.Union([File, Type.Array(File)]);

/** Fields by their prefix. */
const OPTIONS = {
  patternProperties: {
    '^o:.': { description: 'Options, such as `o:tag`.' },
    '^h:.': { type: 'string', description: 'A header, such as `h:Reply-To`.' },
    '^v:.': { type: 'string', description: 'Your own data, returned with events.' },
  },
};

export const MessageForm = closed(
  {
    from: Type.String(),
    to: Several,
    cc: Type.Optional(Several),
    bcc: Type.Optional(Several),
    subject: Type.Optional(Type.String()),
    text: Type.Optional(Type.String()),
    html: Type.Optional(Type.String()),
    attachment: Type.Optional(Files),
    inline: Type.Optional(Files),
    template: Type.Optional(Type.String({ description: 'The key of a published template.' })),
    't:version': Type.Optional(Type.String({ description: 'The number of a version.' })),
    't:text': Type.Optional(Type.String()),
    't:variables': Type.Optional(Type.String({ description: 'A JSON object.' })),
    'recipient-variables': Type.Optional(
      Type.String({
        description:
          'A JSON object with values for each address. Every recipient gets a message of their own, in which `%recipient.name%` is replaced.',
      }),
    ),
  },
  { title: 'MailgunMessage', ...OPTIONS },
);

export type MessageFormBody = Static<typeof MessageForm> & Record<string, unknown>;

/** One content, and those who get it: all in one message, or each in one of their own. */
export interface Outgoing {
  to: AddressInput[];
  /** Present for a batch: each recipient gets a message of their own. */
  variables: RecipientVariables | undefined;
  isTest: boolean;
  /** The sender's own Message-ID. */
  messageId: string | undefined;
  /** About how large each message is. */
  bytes(): number;
  bodyFor(to: AddressInput | AddressInput[], substitute: Substitute): SendBody;
}

export type SendBody = Record<string, unknown> & { metadata: Record<string, string> };

/** In the metadata of a message whose Message-ID as Mailgun returns it is not the generated one. */
export const MESSAGE_ID_FIELD = 'mailgun-message-id';

export function toOutgoing(form: MessageFormBody, domain: string, nowMs: number): Outgoing {
  const from = parseAddress(form.from, '/from');
  checkSenderDomain(from, domain);
  const to = addressesOf(form.to, '/to');
  const variables = parseRecipientVariables(form['recipient-variables']);
  if (variables) checkBatch(form, to);
  const { fields, isTest } = parseSendOptions(form, nowMs);
  const headers = headersOf(form, from);
  const { replyTo, userVariables, messageId } = headers;
  const metadata = metadataOf(form);
  if (messageId) metadata[MESSAGE_ID_FIELD] = messageId;
  const content = contentOf(form, userVariables);
  const attachments = attachmentsOf(form);
  refuseHostedPages(content.texts);
  refuseHostedPages(headers.custom);
  return {
    to,
    variables,
    isTest,
    messageId,
    bytes: () =>
      lengthOf(Object.values(content.texts)) +
      lengthOf(attachments.map((file) => file.content)) +
      JSON.stringify([content.variables, metadata, headers.custom]).length,
    bodyFor(recipients, substitute) {
      const line = onOneLine(substitute);
      const sender = from.name === undefined ? from : { ...from, name: line(from.name) };
      const body: SendBody = { from: sender, to: recipients, metadata };
      if (hasAny(metadata)) body.metadata = mapValues(metadata, substitute);
      if (hasAny(headers.custom)) body.headers = mapValues(headers.custom, line);
      if (form.cc !== undefined) body.cc = addressesOf(form.cc, '/cc');
      if (form.bcc !== undefined) body.bcc = addressesOf(form.bcc, '/bcc');
      if (replyTo) body.reply_to = parseAddressList(line(replyTo), '/h:Reply-To');
      if (attachments.length > 0) body.attachments = attachments;
      content.addTo(body, substitute);
      return Object.assign(body, fields);
    },
  };
}

function hasAny(object: object): boolean {
  for (const _ in object) return true;
  return false;
}

function lengthOf(texts: readonly (string | undefined)[]): number {
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

/** The path names the domain, and nothing of another domain is sent or seen through it. */
export function checkSenderDomain({ email }: AddressInput, domain: string): void {
  const given = email.slice(email.lastIndexOf('@') + 1);
  if (given === domain) return;
  const parsed = parseDomainName(given);
  if (parsed.ok && parsed.domain === domain) return;
  const detail = `The sender must be an address of ${domain}, the domain in the path.`;
  throw invalidFields([{ pointer: '/from', code: 'domain_mismatch', detail }]);
}

export function addressesOf(value: string | string[], pointer: string): AddressInput[] {
  if (typeof value === 'string') return parseAddressList(value, pointer);
  return value.flatMap((text) => parseAddressList(text, pointer));
}

function checkBatch(form: MessageFormBody, to: readonly AddressInput[]): void {
  const errors: FieldError[] = [];
  for (const name of ['cc', 'bcc', 'h:Message-Id'] as const) {
    if (!Object.keys(form).some((key) => key.toLowerCase() === name.toLowerCase())) continue;
    const detail =
      'Cannot be combined with `recipient-variables`: each recipient gets a message of their own.';
    errors.push({ pointer: `/${name}`, code: 'conflict', detail });
  }
  if (to.length > BATCH_RECIPIENTS_MAX) {
    const detail = `A batch can have at most ${BATCH_RECIPIENTS_MAX} recipients; this one has ${to.length}.`;
    errors.push({ pointer: '/to', code: 'too_many_recipients', detail });
  }
  if (errors.length > 0) throw invalidFields(errors);
}

interface Headers {
  custom: Record<string, string>;
  replyTo: string | undefined;
  /** `h:X-Mailgun-Variables`: values for the template, or else metadata. */
  userVariables: Record<string, unknown>;
  messageId: string | undefined;
}

function headersOf(form: MessageFormBody, from: AddressInput): Headers {
  const headers: Headers = {
    custom: {},
    replyTo: undefined,
    userVariables: {},
    messageId: undefined,
  };
  const errors: FieldError[] = [];
  for (const field in form) {
    if (!field.startsWith('h:')) continue;
    const name = field.slice(2);
    const text = String(form[field]);
    const refuse = (detail: string): void => {
      errors.push({ pointer: `/${field}`, code: 'unsupported', detail });
    };
    switch (name.toLowerCase()) {
      case 'reply-to':
        headers.replyTo = text;
        break;
      case 'sender':
        // RFC 5322 section 3.6.2: a Sender that equals From is left out.
        if (parseAddress(text, `/${field}`).email.toLowerCase() !== from.email.toLowerCase()) {
          refuse('The sender is the address in `from`.');
        }
        break;
      case 'message-id':
        headers.custom['Message-ID'] = text;
        headers.messageId = text.replace(/^\s*<|>\s*$/g, '');
        break;
      case 'x-mailgun-variables':
        headers.userVariables = parseJsonObject(text, `/${field}`);
        break;
      case 'list-unsubscribe':
        headers.custom[name] = withoutHostedAddress(text);
        break;
      case 'return-path':
        // See return-path-header.ts.
        break;
      case '__proto__':
        refuse('A header cannot have this name.');
        break;
      default:
        if (/^x-mailgun-/i.test(name)) refuse('Give the option as an `o:` or `v:` field.');
        else headers.custom[name] = text;
    }
  }
  if (errors.length > 0) throw invalidFields(errors);
  return headers;
}

/**
 * `<%tag_unsubscribe_email%>` is an address at Mailgun that unsubscribes. We have none, and every
 * entry of the header is an alternative, so it is left out if there is another one.
 */
function withoutHostedAddress(value: string): string {
  // The expressions below take quadratic time.
  if (value.length > 1_000) return value;
  const rest = value
    .replaceAll(/<[^<>]*%(?:tag_)?unsubscribe_email%[^<>]*>/g, '')
    .replaceAll(/^[\s,]+|[\s,]+$/g, '')
    .replaceAll(/,[\s,]+/g, ', ');
  return rest === '' ? value : rest;
}

function refuseHostedPages(texts: Record<string, string | undefined>): void {
  for (const field in texts) {
    const text = texts[field];
    if (!text?.includes('unsubscribe_')) continue;
    const [found] = /%(?:tag_|mailing_list_)?unsubscribe_(?:url|email)%/.exec(text) ?? [];
    if (found === undefined) continue;
    const detail = `${found} is not supported: there are no unsubscribe pages here. Link to your own.`;
    throw invalidFields([{ pointer: `/${field}`, code: 'unsupported', detail }]);
  }
}

export function metadataOf(form: Record<string, unknown>): Record<string, string> {
  const reserved = `v:${MESSAGE_ID_FIELD}`;
  if (Object.hasOwn(form, reserved)) {
    const detail = 'This name is reserved. Choose another one.';
    throw invalidFields([{ pointer: `/${reserved}`, code: 'reserved_name', detail }]);
  }
  const entries: [string, string][] = [];
  for (const field in form) {
    if (field.startsWith('v:')) entries.push([field.slice(2), String(form[field])]);
  }
  return entries.length === 0 ? {} : Object.fromEntries(entries);
}

interface Content {
  texts: Record<string, string | undefined>;
  /** Of a template. */
  variables?: Record<string, unknown>;
  /** Sets its fields in the body of a message. */
  addTo(body: Record<string, unknown>, substitute: Substitute): void;
}

/** Content is sent as it is; only templates have placeholders of their own. */
function contentOf(form: MessageFormBody, userVariables: Record<string, unknown>): Content {
  if (form.template !== undefined) return templateOf(form, form.template, userVariables);
  const unused = ['t:version', 't:text', 't:variables'].find((name) => form[name] !== undefined);
  if (unused !== undefined || Object.keys(userVariables).length > 0) {
    const pointer = `/${unused ?? 'h:X-Mailgun-Variables'}`;
    const detail = 'Needs a `template`. For data of your own, use `v:` fields.';
    throw invalidFields([{ pointer, code: 'conflict', detail }]);
  }
  const { subject, html, text } = form;
  return {
    texts: { subject, html, text },
    addTo(body, substitute) {
      body.placeholders = false;
      if (subject !== undefined) body.subject = onOneLine(substitute)(subject);
      if (html) body.html = substitute(html);
      if (text !== undefined && !(text === '' && html)) body.text = substitute(text);
    },
  };
}

function templateOf(
  form: MessageFormBody,
  template: string,
  userVariables: Record<string, unknown>,
): Content {
  const errors: FieldError[] = [];
  for (const name of ['html', 'text'] as const) {
    // Programs send the fields that they have no content for empty.
    if (!form[name]) continue;
    const detail = 'Cannot be combined with `template`.';
    errors.push({ pointer: `/${name}`, code: 'conflict', detail });
  }
  const { 't:version': version, 't:text': generatesText = 'yes', subject } = form;
  if (version !== undefined && !/^[1-9]\d{0,8}$/.test(version)) {
    const detail = 'Versions are numbered. Write the number of the version.';
    errors.push({ pointer: '/t:version', code: 'invalid_format', detail });
  }
  if (parseFlag(generatesText) !== true) {
    const detail = 'A template without text always gets one, generated from its HTML.';
    errors.push({ pointer: '/t:text', code: 'unsupported', detail });
  }
  if (errors.length > 0) throw invalidFields(errors);
  const given = form['t:variables'];
  // Our templates have a subject of their own, which may be no more than `{{ subject }}`.
  const variables = {
    ...(subject === undefined ? {} : { subject }),
    ...metadataOf(form),
    ...userVariables,
    ...(given === undefined ? {} : parseJsonObject(given, '/t:variables')),
  };
  return {
    texts: { subject },
    variables,
    addTo(body, substitute) {
      body.template_key = template.toLowerCase();
      if (version !== undefined) body.template_version = Number(version);
      body.template_variables = substituteDeep(variables, substitute);
    },
  };
}

function substituteDeep(value: unknown, substitute: Substitute): unknown {
  if (typeof value === 'string') return substitute(value);
  if (Array.isArray(value)) return value.map((item) => substituteDeep(item, substitute));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, substituteDeep(inner, substitute)]),
  );
}

function mapValues(
  values: Readonly<Record<string, string>>,
  change: (text: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, text]) => [key, change(text)]));
}

interface AttachmentInput {
  filename: string;
  content: string;
  content_type?: string;
  content_id?: string;
}

/** HTML shows an inline file as `cid:` and its name. */
function attachmentsOf({ attachment, inline }: MessageFormBody): AttachmentInput[] {
  if (attachment === undefined && inline === undefined) return [];
  return [
    ...[attachment ?? []].flat().map(toAttachment),
    ...inlineOf([inline ?? []].flat().map(toAttachment)),
  ];
}

/**
 * Of files with the same name, HTML can only show the first. A program that embeds an image twice sends
 * it twice, so a copy is left out; another one stays as an attachment.
 */
function inlineOf(files: readonly AttachmentInput[]): AttachmentInput[] {
  const shown = new Map<string, string>();
  return files.flatMap((file) => {
    const first = shown.get(file.filename);
    if (first !== undefined) return first === file.content ? [] : [file];
    shown.set(file.filename, file.content);
    return [{ ...file, content_id: file.filename }];
  });
}

/**
 * Mailgun’s client sends no type of its own, so the type is taken from the name, as at Mailgun, or else
 * from the content.
 */
function toAttachment({ content_type: type, ...file }: Static<typeof File>): AttachmentInput {
  return type === 'application/octet-stream' ? file : { ...file, content_type: type };
}
