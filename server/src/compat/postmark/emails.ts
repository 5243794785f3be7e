import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { toStreamKey } from '../../webhooks/formats/postmark-stream-id.ts';
import { parseAddress, parseAddressList } from '../address-list.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { toRecord } from '../name-value-list.ts';
import { withoutReturnPath } from '../return-path-header.ts';
import { type Accepted, type Refusal, refusalOf, sendEach } from '../send-each.ts';
import { errorCodeOf, INACTIVE_RECIPIENT } from './errors.ts';
import { checkTestEmail, isSharedTestToken, testJob } from './test-token.ts';

/** https://postmarkapp.com/developer/api/email-api and /templates-api */

const Text = Type.Union([Type.String(), Type.Null()]);

/** Programs send numbers as they have them, which Postmark stores as text. */
const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);

const COMMON = {
  From: Type.String(),
  To: Type.Optional(Text),
  Cc: Type.Optional(Text),
  Bcc: Type.Optional(Text),
  ReplyTo: Type.Optional(Text),
  Tag: Type.Optional(Text),
  MessageStream: Type.Optional(Text),
  TrackOpens: Type.Optional(Type.Boolean()),
  TrackLinks: Type.Optional(
    Type.Union(['None', 'HtmlAndText', 'HtmlOnly', 'TextOnly'].map((value) => Type.Literal(value))),
  ),
  Headers: Type.Optional(Type.Array(closed({ Name: Type.String(), Value: Scalar }))),
  Metadata: Type.Optional(Type.Record(Type.String(), Scalar)),
  Attachments: Type.Optional(
    Type.Array(
      closed({
        Name: Type.String(),
        Content: Type.String(),
        ContentType: Type.String(),
        ContentID: Type.Optional(Text),
        ContentLength: Type.Optional(Type.Integer()),
      }),
    ),
  ),
};

const Email = closed(
  {
    ...COMMON,
    Subject: Type.Optional(Text),
    HtmlBody: Type.Optional(Text),
    TextBody: Type.Optional(Text),
  },
  { title: 'PostmarkEmail' },
);

const TemplatedEmail = closed(
  {
    ...COMMON,
    TemplateId: Type.Optional(Type.Unknown()),
    TemplateAlias: Type.Optional(Type.String({ description: 'The key of a published template.' })),
    TemplateModel: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    InlineCss: Type.Optional(Type.Boolean()),
  },
  { title: 'PostmarkTemplatedEmail' },
);

type Common = Pick<Static<typeof Email>, keyof typeof COMMON>;

const Sent = Type.Object(
  {
    To: Type.Optional(Type.String()),
    SubmittedAt: Type.Optional(Type.String()),
    MessageID: Type.Optional(Type.String()),
    ErrorCode: Type.Integer(),
    Message: Type.String(),
  },
  { title: 'PostmarkSent' },
);

export function emailOperations(deps: CompatDependencies): Operation[] {
  const { call, clock } = deps;
  const send = (id: string, path: string, summary: string, body: typeof Email) =>
    operation(
      {
        id,
        method: 'POST',
        path,
        tag: 'Sending',
        summary,
        scope: 'send:transactional',
        isAnonymous: isSharedTestToken,
        body,
        responses: { 200: { description: 'Accepted.', body: Sent } },
        handlesIdempotency: true,
      },
      async (request) => {
        const { caller, idempotency } = request;
        if (!caller) {
          checkTestEmail(deps, request.body, toSendBody);
          return { status: 200, body: testJob(request.body, clock.now()) };
        }
        const message = toSendBody(request.body);
        const accepted = await call(request, 'sendTransactional', { body: message, idempotency });
        const body = sent(request.body, accepted.body);
        return { status: body.ErrorCode === 0 ? 200 : 422, body };
      },
    );
  const batch = (
    id: string,
    path: string,
    summary: string,
    body: ReturnType<typeof Type.Unsafe>,
    emailsOf: (body: unknown) => Static<typeof Email>[],
  ) =>
    operation(
      {
        id,
        method: 'POST',
        path,
        tag: 'Sending',
        summary,
        description: 'Each email is accepted or refused on its own.',
        scope: 'send:transactional',
        isAnonymous: isSharedTestToken,
        body,
        responses: { 200: { description: 'A result for each email.', body: Type.Array(Sent) } },
        handlesIdempotency: true,
      },
      async (request) => {
        const emails = emailsOf(request.body);
        if (!request.caller) {
          return { status: 200, body: emails.map((email) => testResult(deps, email)) };
        }
        const results = await sendEach(emails, toSendBody, async (messages) => {
          const { idempotency } = request;
          const input = { body: { messages, mode: 'permissive' }, idempotency };
          return (await call(request, 'sendBatch', input)).body.data;
        });
        return {
          status: 200,
          body: results.map((result, index) =>
            'message' in result
              ? sent(emails[index] as Common, result.message)
              : refused(result.error),
          ),
        };
      },
    );
  return [
    send('postmarkSendEmail', '/email', 'Send an email', Email),
    send(
      'postmarkSendWithTemplate',
      '/email/withTemplate',
      'Send an email from a template',
      TemplatedEmail as never,
    ),
    // Postmark documents this path, with which Anymail sends.
    send(
      'postmarkSendWithTemplateSlash',
      '/email/withTemplate/',
      'Send an email from a template (path with a slash)',
      TemplatedEmail as never,
    ),
    batch(
      'postmarkSendBatch',
      '/email/batch',
      'Send a batch of emails',
      Type.Array(Email, { minItems: 1, maxItems: 500 }) as never,
      (body) => body as Static<typeof Email>[],
    ),
    batch(
      'postmarkSendBatchWithTemplates',
      '/email/batchWithTemplates',
      'Send a batch of emails from templates',
      closed({ Messages: Type.Array(TemplatedEmail, { minItems: 1, maxItems: 500 }) }) as never,
      (body) => (body as { Messages: Static<typeof Email>[] }).Messages,
    ),
  ];
}

const INACTIVE =
  'Inactive recipients are ones that have generated a hard bounce, a spam complaint, or a manual suppression.';

/** The wording about inactive recipients is Postmark's: its libraries find the addresses in it. */
function sent({ To }: Common, { id, created_at: createdAt, recipients }: Accepted) {
  const inactive = recipients.filter(({ status }) => status === 'suppressed');
  const addresses = inactive.map(({ email }) => email).join(', ');
  if (inactive.length === recipients.length) {
    const Message = `You tried to send to recipient(s) that have been marked as inactive. Found inactive addresses: ${addresses}. ${INACTIVE}`;
    return { ErrorCode: INACTIVE_RECIPIENT, Message };
  }
  const Message =
    inactive.length === 0
      ? 'OK'
      : `Message OK, but will not deliver to these inactive addresses: ${addresses}. ${INACTIVE}`;
  return { To: To ?? '', SubmittedAt: createdAt, MessageID: id, ErrorCode: 0, Message };
}

function refused({ code, status, detail }: Refusal): object {
  return { ErrorCode: errorCodeOf(code, status), Message: detail };
}

function testResult(deps: CompatDependencies, email: Static<typeof Email>): object {
  try {
    checkTestEmail(deps, email, toSendBody);
    return testJob(email, deps.clock.now());
  } catch (error) {
    return refused(refusalOf(error));
  }
}

/** The body of our own send. Content is sent as it is; only templates have placeholders. */
function toSendBody(email: Static<typeof Email> & Partial<Static<typeof TemplatedEmail>>): object {
  const { ReplyTo, Tag, Headers, Metadata, Attachments, MessageStream } = email;
  return {
    from: parseAddress(email.From, '/From'),
    ...recipientsOf(email),
    ...(ReplyTo ? { reply_to: parseAddressList(ReplyTo, '/ReplyTo') } : {}),
    ...contentOf(email),
    ...(MessageStream ? { stream: toStreamKey(MessageStream) } : {}),
    ...(Tag ? { tags: [Tag] } : {}),
    ...(Metadata ? { metadata: mapToText(Metadata) } : {}),
    ...trackingOf(email),
    ...(Headers?.length
      ? { headers: withoutReturnPath(mapToText(toRecord(Headers, '/Headers'))) }
      : {}),
    ...(Attachments?.length ? { attachments: Attachments.map(toAttachment) } : {}),
  };
}

function recipientsOf({ To, Cc, Bcc }: Common) {
  if (!To && !Cc && !Bcc) {
    const detail = 'At least one address is required, in To, Cc or Bcc.';
    throw invalidFields([{ pointer: '/To', code: 'required', detail }]);
  }
  return {
    ...(To ? { to: parseAddressList(To, '/To') } : {}),
    ...(Cc ? { cc: parseAddressList(Cc, '/Cc') } : {}),
    ...(Bcc ? { bcc: parseAddressList(Bcc, '/Bcc') } : {}),
  };
}

function mapToText(values: Readonly<Record<string, Static<typeof Scalar>>>) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

function contentOf(
  email: Static<typeof Email> & Partial<Static<typeof TemplatedEmail>>,
): Record<string, unknown> {
  if (email.TemplateAlias !== undefined) {
    return {
      template_key: email.TemplateAlias,
      template_variables: email.TemplateModel ?? {},
      ...(email.InlineCss === undefined ? {} : { inline_css: email.InlineCss }),
    };
  }
  if (email.TemplateId !== undefined || email.TemplateModel !== undefined) {
    const detail = 'Templates have no numbers here. Name the key of the template in TemplateAlias.';
    throw invalidFields([{ pointer: '/TemplateAlias', code: 'required', detail }]);
  }
  return {
    subject: email.Subject ?? '',
    ...(email.HtmlBody ? { html: email.HtmlBody } : {}),
    ...(email.TextBody ? { text: email.TextBody } : {}),
    placeholders: false,
  };
}

function trackingOf({ TrackOpens: opens, TrackLinks: links }: Common): object {
  if (opens === undefined && links === undefined) return {};
  return {
    tracking: {
      ...(opens === undefined ? {} : { opens }),
      ...(links === undefined ? {} : { clicks: links !== 'None' }),
    },
  };
}

function toAttachment(attachment: NonNullable<Common['Attachments']>[number]): object {
  const { Name, Content, ContentType, ContentID } = attachment;
  return {
    filename: Name || 'attachment',
    content: Content,
    content_type: ContentType,
    ...(ContentID ? { content_id: ContentID.replace(/^cid:/, '') } : {}),
  };
}
