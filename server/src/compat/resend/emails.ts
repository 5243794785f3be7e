import { decodeWords } from 'postal-mime';
import { type Static, type TSchema, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { formatAddress } from '../../mail/address.ts';
import { parseAddress, parseAddressList } from '../address-list.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { refusedOperation } from '../refused-operation.ts';
import { isReturnPath } from '../return-path-header.ts';
import { type Accepted, sendEach } from '../send-each.ts';
import { Attachment, attachmentOperations, fetchAttachments, toAttachment } from './attachments.ts';
import { ListQuery, pageQuery, toPage } from './lists.ts';

/** https://resend.com/docs/api-reference/emails */

const Addresses = Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 1000 })]);
/** Programs send null for what they do not set. */
const Nullable = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));

const Email = closed(
  {
    from: Type.Optional(Type.String()),
    to: Addresses,
    cc: Nullable(Addresses),
    bcc: Nullable(Addresses),
    reply_to: Nullable(Addresses),
    subject: Nullable(Type.String()),
    html: Nullable(Type.String()),
    text: Nullable(Type.String()),
    headers: Nullable(Type.Record(Type.String(), Type.String())),
    attachments: Nullable(Type.Array(Attachment)),
    tags: Nullable(Type.Array(closed({ name: Type.String(), value: Type.String() }))),
    scheduled_at: Nullable(Type.String()),
    topic_id: Nullable(Type.String({ description: 'The key of a stream.' })),
    template: Nullable(
      closed({
        id: Type.String({ description: 'The key of a published template.' }),
        variables: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      }),
    ),
  },
  { title: 'ResendEmail' },
);

const EmailId = Type.Object({ id: Type.String() });
const Sent = Type.Object({ id: Type.String() }, { title: 'ResendSent' });

export function emailOperations(deps: CompatDependencies): Operation[] {
  return [
    sendEmail(deps),
    sendEmailBatch(deps),
    ...emailLookups(deps),
    ...attachmentOperations(deps),
    ...emailChanges(deps),
  ];
}

function sendEmail(deps: CompatDependencies): Operation {
  return operation(
    {
      id: 'resendSendEmail',
      method: 'POST',
      path: '/emails',
      tag: 'Sending',
      summary: 'Send an email',
      scope: 'send:transactional',
      body: Email,
      responses: { 200: { description: 'Accepted.', body: Sent } },
      handlesIdempotency: true,
    },
    async (request) => {
      const { idempotency } = request;
      const attachments = request.body.attachments ?? [];
      const email = attachments.some(({ path }) => path !== undefined)
        ? { ...request.body, attachments: await fetchAttachments(deps, request, attachments) }
        : request.body;
      const body = toSendBody(email);
      const accepted = await deps.call(request, 'sendTransactional', { body, idempotency });
      return { status: 200, body: { id: accepted.body.id } };
    },
  );
}

function sendEmailBatch({ call }: CompatDependencies): Operation {
  return operation(
    {
      id: 'resendSendBatch',
      method: 'POST',
      path: '/emails/batch',
      tag: 'Sending',
      summary: 'Send a batch of emails',
      description:
        'With the header `x-batch-validation: permissive`, valid emails are accepted and `errors` lists the others.',
      scope: 'send:transactional',
      body: Type.Array(Email, { minItems: 1 }),
      responses: {
        200: {
          description: 'Accepted.',
          body: Type.Object({
            data: Type.Array(Sent),
            errors: Type.Optional(
              Type.Array(Type.Object({ index: Type.Integer(), message: Type.String() })),
            ),
          }),
        },
      },
      handlesIdempotency: true,
    },
    async (request) => {
      const { idempotency, body } = request;
      const send = async (messages: object[], mode: 'strict' | 'permissive') =>
        (await call(request, 'sendBatch', { body: { messages, mode }, idempotency })).body.data;
      if (request.header('x-batch-validation') !== 'permissive') {
        const messages = body.map((email, index) => toSendBody(email, `/${index}`));
        const items: { message: Accepted }[] = await send(messages, 'strict');
        return { status: 200, body: { data: items.map(({ message }) => ({ id: message.id })) } };
      }
      const results = await sendEach(
        body,
        (email) => toSendBody(email),
        (messages) => send(messages, 'permissive'),
      );
      return {
        status: 200,
        body: {
          data: results.flatMap((result) =>
            'message' in result ? [{ id: result.message.id }] : [],
          ),
          errors: results.flatMap((result, index) =>
            'error' in result ? [{ index, message: result.error.detail }] : [],
          ),
        },
      };
    },
  );
}

const MESSAGES = { list: '/messages', prefix: 'msg' } as const;

function emailLookups({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'resendGetEmail',
        method: 'GET',
        path: '/emails/{id}',
        tag: 'Messages',
        summary: 'Retrieve an email',
        scope: 'read:messages',
        params: EmailId,
        responses: { 200: { description: 'The email.', body: Type.Object({}) } },
      },
      async (request) => {
        const { params } = request;
        const { body: message } = await call(request, 'getMessage', { params });
        const content = await contentOf(call, request, params);
        return {
          status: 200,
          body: {
            ...toEmail(message),
            reply_to: content ? replyToOf(content.headers) : null,
            html: content?.html ?? null,
            text: content?.text ?? null,
            tags: Object.entries(message.metadata).map(([name, value]) => ({ name, value })),
          },
        };
      },
    ),
    // The path would otherwise be that of the email `metrics`.
    refusedOperation(
      {
        id: 'resendGetMetrics',
        method: 'GET',
        path: '/emails/metrics',
        tag: 'Messages',
        summary: 'Retrieve metrics',
      },
      'not_found',
      '`GET /api/v1/stats` has the counts, over time and by stream, tag, template, domain and receiver.',
    ),
    operation(
      {
        id: 'resendListEmails',
        method: 'GET',
        path: '/emails',
        tag: 'Messages',
        summary: 'List emails',
        scope: 'read:messages',
        query: ListQuery,
        responses: { 200: { description: 'The emails, newest first.', body: Type.Object({}) } },
      },
      async (request) => {
        const { body: page } = await call(request, 'listMessages', {
          query: pageQuery(request.query, MESSAGES),
        });
        return { status: 200, body: toPage(page, toEmail) };
      },
    ),
  ];
}

interface Content {
  html: string | null;
  text: string | null;
  headers: { name: string; value: string }[];
}

/** Undefined once the content was deleted, as the workspace's retention says. */
async function contentOf(
  call: CompatDependencies['call'],
  request: AnyRequest,
  params: { id: string },
): Promise<Content | undefined> {
  try {
    return (await call(request, 'getMessageContent', { params })).body;
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'not_found') return undefined;
    throw error;
  }
}

function replyToOf(headers: Content['headers']): string[] | null {
  const header = headers.find(({ name }) => name.toLowerCase() === 'reply-to');
  if (!header) return null;
  return parseAddressList(header.value, '/reply_to').map(({ email, name }) =>
    formatAddress({ email, name: name === undefined ? null : decodeWords(name) }),
  );
}

function emailChanges({ call }: CompatDependencies): Operation[] {
  const Changed = Type.Object({ object: Type.Literal('email'), id: Type.String() });
  const changed = ({ id }: { id: string }) => ({ status: 200, body: { object: 'email', id } });
  return [
    operation(
      {
        id: 'resendUpdateEmail',
        method: 'PATCH',
        path: '/emails/{id}',
        tag: 'Messages',
        summary: 'Reschedule an email',
        scope: 'send:transactional',
        params: EmailId,
        body: closed({ scheduled_at: Type.String() }),
        responses: { 200: { description: 'Rescheduled.', body: Changed } },
      },
      async (request) => {
        const { params } = request;
        const body = { scheduled_at: toTime(request.body.scheduled_at, '/scheduled_at') };
        await call(request, 'rescheduleMessage', { params, body });
        return changed(params);
      },
    ),
    operation(
      {
        id: 'resendCancelEmail',
        method: 'POST',
        path: '/emails/{id}/cancel',
        tag: 'Messages',
        summary: 'Cancel a scheduled email',
        scope: 'send:transactional',
        params: EmailId,
        responses: { 200: { description: 'Canceled.', body: Changed } },
      },
      async (request) => {
        const { params } = request;
        await call(request, 'cancelMessage', { params });
        return changed(params);
      },
    ),
  ];
}

/** The body of our own send. Content is sent as it is: Resend replaces no placeholders in it. */
function toSendBody(email: Static<typeof Email>, at = ''): Record<string, unknown> {
  const { from, to, cc, bcc, template, tags, attachments } = email;
  const { headers, replyTo } = headersOf(email);
  return {
    ...(from === undefined ? {} : { from: parseAddress(from, `${at}/from`) }),
    to: toAddresses(to, `${at}/to`),
    ...(cc ? { cc: toAddresses(cc, `${at}/cc`) } : {}),
    ...(bcc ? { bcc: toAddresses(bcc, `${at}/bcc`) } : {}),
    ...(replyTo ? { reply_to: toAddresses(replyTo, `${at}/reply_to`) } : {}),
    ...(typeof email.subject === 'string' ? { subject: email.subject } : {}),
    ...(template
      ? { template_key: template.id, template_variables: template.variables ?? {} }
      : { ...contentFields(email), placeholders: false }),
    ...(headers ? { headers } : {}),
    ...(typeof email.topic_id === 'string' ? { stream: email.topic_id } : {}),
    ...(attachments?.length
      ? {
          attachments: attachments.map((one, index) =>
            toAttachment(one, `${at}/attachments/${index}`),
          ),
        }
      : {}),
    ...(tags ? { metadata: Object.fromEntries(tags.map(({ name, value }) => [name, value])) } : {}),
    ...(typeof email.scheduled_at === 'string'
      ? { scheduled_at: toTime(email.scheduled_at, `${at}/scheduled_at`) }
      : {}),
  };
}

/** Some programs send Reply-To as a header too. */
function headersOf({ headers, reply_to: given }: Static<typeof Email>) {
  const isReplyTo = (name: string) => name.toLowerCase() === 'reply-to';
  const entries = Object.entries(headers ?? {});
  const [, inHeader] = entries.find(([name]) => isReplyTo(name)) ?? [];
  const others = entries.filter(([name]) => !isReplyTo(name) && !isReturnPath(name));
  return {
    headers: others.length > 0 ? Object.fromEntries(others) : undefined,
    replyTo: given ?? inHeader,
  };
}

function contentFields({ html, text }: Static<typeof Email>): { html?: string; text?: string } {
  return {
    ...(typeof html === 'string' ? { html } : {}),
    ...(typeof text === 'string' ? { text } : {}),
  };
}

function toAddresses(value: string | string[], pointer: string) {
  if (typeof value === 'string') return parseAddressList(value, pointer);
  return value.map((text, index) => parseAddress(text, `${pointer}/${index}`));
}

const UNIT_MS: Record<string, number> = {
  sec: 1_000,
  min: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** Resend also takes phrases; those of the form "in 5 minutes" are understood. */
function toTime(text: string, pointer: string): string {
  const phrase = /^in (\d{1,4}) (sec|min|hour|day)(?:ond|ute)?s?$/i.exec(text.trim());
  if (phrase) {
    const [, count, unit = ''] = phrase;
    return new Date(Date.now() + Number(count) * (UNIT_MS[unit.toLowerCase()] ?? 0)).toISOString();
  }
  if (!Number.isNaN(Date.parse(text)) && /^\d{4}-\d\d-\d\d/.test(text)) {
    return new Date(text).toISOString();
  }
  const detail = 'Not a time. Write `2026-11-15T09:30:00Z` or `in 5 minutes`.';
  throw invalidFields([{ pointer, code: 'invalid_format', detail }]);
}

interface Message {
  id: string;
  status: string;
  created_at: string;
  scheduled_at: string | null;
  header_message_id: string;
  from: { email: string; name: string | null };
  subject: string;
  recipients: { kind: string; email: string; name: string | null; complained_at: string | null }[];
}

const LAST_EVENTS: Record<string, string> = {
  scheduled: 'scheduled',
  queued: 'queued',
  deferred: 'delivery_delayed',
  delivered: 'delivered',
  bounced: 'bounced',
  expired: 'bounced',
  failed: 'failed',
  cancelled: 'canceled',
  suppressed: 'suppressed',
  partial: 'bounced',
};

function lastEvent({ status, recipients }: Message): string {
  const complained = recipients.some(({ complained_at: at }) => at !== null);
  return status === 'delivered' && complained ? 'complained' : (LAST_EVENTS[status] ?? status);
}

function toEmail(message: Message) {
  const addressesOf = (kind: string) =>
    message.recipients.filter((recipient) => recipient.kind === kind).map(formatAddress);
  const orNull = (list: string[]) => (list.length > 0 ? list : null);
  return {
    object: 'email',
    id: message.id,
    message_id: message.header_message_id,
    to: addressesOf('to'),
    cc: orNull(addressesOf('cc')),
    bcc: orNull(addressesOf('bcc')),
    from: formatAddress(message.from),
    reply_to: null,
    subject: message.subject,
    created_at: message.created_at,
    scheduled_at: message.scheduled_at,
    last_event: lastEvent(message),
  };
}
