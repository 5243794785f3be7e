import { type TSchema, Type } from 'typebox';
import { DOMAIN_STATUSES } from '../../../domains/domain.ts';
import type { EventType } from '../../../events/event-types.ts';
import { MESSAGE_QUOTAS } from '../../../quotas/quota.ts';
import { ALARM_KINDS } from '../../../stats/alarm-store.ts';
import { id, Metadata, NullableTime, oneOf, Time } from '../../openapi/shared-schemas.ts';
import { ApiKey } from '../api-keys/schemas.ts';
import { AuditEventEntry } from '../audit-log/schemas.ts';
import { MissingRecord } from '../domains/schemas.ts';
import { InboundMessageSummary } from '../inbound-messages/schemas.ts';
import { ACCEPTED_MESSAGE, BOUNCE_REPLY } from '../messages/examples.ts';
import { Bounce, SmtpReply } from '../messages/reply-schemas.ts';
import { Brake } from '../operator/brake-schemas.ts';
import { Suppression } from '../suppressions/schemas.ts';

/** What an event of each type contains. */

const About = {
  message_id: id('msg', 'the message'),
  stream: Type.String({ description: 'The key of the stream.', examples: ['transactional'] }),
  metadata: Metadata,
  tags: Type.Array(Type.String(), { examples: [['welcome']] }),
};

const OneRecipient = {
  ...About,
  recipient: Type.String({ examples: ['jane@example.com'] }),
  attempt: Type.Integer({ description: 'The number of the attempt; 0 if none was made.' }),
};

const Machine = Type.Boolean({
  description:
    'Whether this was probably not a human but, for example, a link scanner, a preview, or an email client that preloads images.',
});

const Domain = Type.Object({
  id: id('dom', 'the domain'),
  name: Type.String({ examples: ['yourdomain.com'] }),
  status: oneOf(DOMAIN_STATUSES),
});

const DOMAIN = (status: string) => ({
  id: 'dom_01kc8x3f7ye6qvj2m4n5p6q7r8',
  name: 'yourdomain.com',
  status,
});

/** A rejection with the receiver’s last reply, if there was one. */
const Refusal = {
  bounce: Bounce,
  smtp: Type.Optional(Type.Unsafe({ ...SmtpReply, examples: [BOUNCE_REPLY] })),
};

const Deferral = {
  bounce: Type.Unsafe({
    ...Bounce,
    examples: [
      {
        class: 'soft',
        reason: 'greylisted',
        explanation: 'The receiver asked to try again later.',
      },
    ],
  }),
  smtp: Type.Optional(
    Type.Unsafe({
      ...SmtpReply,
      examples: [{ ...BOUNCE_REPLY, code: 451, enhanced: '4.7.1', text: 'Try again later' }],
    }),
  ),
};

/** For results that arrive by email, after the delivery. */
const REPORT = {
  id: '5f0c3a1e9b7d4c2a8e6f1b3d5a7c9e0f',
  reported_by: 'mx1.example.com',
};

const Report = (
  examples: object,
  more: Record<string, TSchema>,
): Record<'report', ReturnType<typeof Type.Optional>> => ({
  report: Type.Optional(
    Type.Object(
      {
        id: Type.String({
          description: 'Identifies the report; the same if the report arrives more than once.',
        }),
        reported_by: Type.Union([Type.String(), Type.Null()], {
          description: 'The server or program that wrote the report, as it identifies itself.',
        }),
        ...more,
      },
      {
        description: 'The report email. Absent if the receiver replied during delivery.',
        examples: [{ ...REPORT, ...examples }],
      },
    ),
  ),
});

const BounceReport = Report(
  { remote_mta: 'mailbox7.example.com', previous_status: 'delivered' },
  {
    remote_mta: Type.Union([Type.String(), Type.Null()], {
      description: 'The server that rejected the message, if it was another one.',
    }),
    previous_status: Type.Optional(
      oneOf(['delivered', 'deferred'], {
        description:
          'The previous status of the recipient: `deferred` if the receiver had accepted the message without a reply reaching us.',
      }),
    ),
  },
);

const ComplaintReport = Report(
  { reported_by: 'Provider-Feedback/1.0', feedback_type: 'abuse' },
  { feedback_type: Type.String({ description: 'The feedback type of RFC 5965.' }) },
);

const Alarm = Type.Object({
  kind: oneOf(ALARM_KINDS),
  subject: Type.Union([Type.String(), Type.Null()], {
    description:
      'The domain or stream, or the id of the endpoint or key; null if it concerns the whole workspace.',
    examples: ['yourdomain.com'],
  }),
  stream: Type.Union([Type.String(), Type.Null()], {
    description: 'The stream, if the alarm concerns one.',
    examples: [null],
  }),
  value: Type.Union([Type.Number(), Type.Null()], {
    description:
      'A share from 0 to 1 for rates, seconds for durations, or the missing records of a ' +
      'domain; null if there is nothing left to measure.',
    examples: [0.08],
  }),
  threshold: Type.Number({ examples: [0.05] }),
  raised_at: Time,
  explanation: Type.String({ examples: ['The bounce rate of yourdomain.com is too high.'] }),
});

const Quota = Type.Object(
  {
    name: oneOf([...MESSAGE_QUOTAS, 'contacts', 'content_bytes'] as const),
    limit: Type.Integer({ maximum: Number.MAX_SAFE_INTEGER, examples: [10_000] }),
    used: Type.Integer({
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Includes messages that servers have reserved and not yet accepted.',
      examples: [8_000],
    }),
    resets_at: Type.Unsafe({
      ...NullableTime,
      description: 'Null for `contacts` and `content_bytes`, which have no period.',
      examples: ['2026-11-16T00:00:00.000Z'],
    }),
  },
  { title: 'QuotaNotice' },
);

export const PAYLOADS: Record<EventType, { description: string; data: TSchema }> = {
  'message.accepted': {
    description: 'A message was accepted and stored durably.',
    data: Type.Object({
      ...About,
      from: Type.String({ examples: ['hello@yourdomain.com'] }),
      subject: Type.String({ examples: ['Welcome, Jane'] }),
      scheduled_at: Type.Unsafe({ ...NullableTime, examples: [null] }),
      template: Type.Union([
        Type.Object({
          key: Type.String({ examples: ['welcome'] }),
          version: Type.Union([Type.Integer({ examples: [3] }), Type.Literal('draft')]),
        }),
        Type.Null(),
      ]),
      content_bytes: Type.Integer({
        description: 'The size of HTML, text and attachments.',
        examples: [5_120],
      }),
      recipients: Type.Array(
        Type.Object({
          email: Type.String(),
          kind: oneOf(['to', 'cc', 'bcc'] as const),
          status: Type.String(),
          reason: Type.Optional(Type.String()),
        }),
        { examples: [ACCEPTED_MESSAGE.recipients] },
      ),
    }),
  },
  'message.scheduled': {
    description: 'A message was scheduled.',
    data: Type.Object({ ...About, scheduled_at: Time }),
  },
  'message.rescheduled': {
    description: 'A scheduled message was rescheduled.',
    data: Type.Object({ ...About, scheduled_at: Time }),
  },
  'message.cancelled': {
    description: 'Delivery to a recipient was cancelled before it started.',
    data: Type.Object(OneRecipient),
  },
  'message.suppressed': {
    description: 'A recipient is suppressed and was not contacted.',
    data: Type.Object({ ...OneRecipient, reason: Type.String({ examples: ['hard_bounce'] }) }),
  },
  'message.deferred': {
    description:
      'The receiver temporarily rejected the message, or the server holds it back; it will be retried.',
    data: Type.Object({
      ...OneRecipient,
      ...Deferral,
      next_attempt_at: Type.Unsafe<string>({
        ...Time,
        description: 'The next attempt, or the expiry if that comes first.',
      }),
    }),
  },
  'message.delivered': {
    description: 'The receiver accepted responsibility for the message.',
    data: Type.Object({ ...OneRecipient, smtp: SmtpReply }),
  },
  'message.bounced': {
    description:
      'The receiver permanently rejected the message, either immediately or by a later ' +
      'report, possibly after `message.delivered`. In that case `report` is present, and ' +
      '`smtp` contains the text of the report.',
    data: Type.Object({ ...OneRecipient, ...Refusal, ...BounceReport }),
  },
  'message.failed': {
    description: 'The message cannot be sent.',
    data: Type.Object({
      ...OneRecipient,
      reason: Type.Optional(Type.String({ examples: ['domain_not_verified'] })),
    }),
  },
  'message.expired': {
    description: 'The message expired before a receiver accepted it.',
    data: Type.Object({
      ...OneRecipient,
      bounce: Type.Optional(Deferral.bounce),
      smtp: Deferral.smtp,
    }),
  },
  'message.complained': {
    description:
      'The recipient marked the message as spam. `smtp` is the reply with which it had been accepted.',
    data: Type.Object({
      ...OneRecipient,
      smtp: Type.Optional(SmtpReply),
      ...ComplaintReport,
    }),
  },
  'message.unsubscribed': {
    description:
      'The recipient left the stream of the message, with the link in it. The address is suppressed ' +
      'in this stream.',
    data: Type.Object({
      ...OneRecipient,
      source: oneOf(['one_click', 'page', 'mail'] as const, {
        description:
          '`one_click`: the button of an email client (RFC 8058). `page`: our page. `mail`: a mail ' +
          'to the address in `List-Unsubscribe`.',
      }),
    }),
  },
  'message.opened': {
    description:
      'The pixel of a tracked message was loaded. Reported for the first open by a human and by a machine.',
    data: Type.Object({ ...OneRecipient, machine: Machine }),
  },
  'message.clicked': {
    description:
      'A link in a tracked message was followed. Reported for the first click on each link ' +
      'by a human and by a machine.',
    data: Type.Object({
      ...OneRecipient,
      machine: Machine,
      url: Type.String({ examples: ['https://yourdomain.com/welcome'] }),
      first: Type.Boolean({
        description: 'Whether this is the first click on any link of the message.',
      }),
    }),
  },
  'domain.verified': {
    description:
      'All records of a domain were found, for the first time or again, and it can send.',
    data: Type.Object({ domain: Type.Unsafe({ ...Domain, examples: [DOMAIN('verified')] }) }),
  },
  'domain.degraded': {
    description:
      'A record of a verified domain disappeared. With the status `degraded`, the domain can ' +
      'send until `sending_stops_at`; the event is sent again with the status `failed` when ' +
      'sending stops.',
    data: Type.Object({
      domain: Type.Unsafe({ ...Domain, examples: [DOMAIN('degraded')] }),
      sending_stops_at: NullableTime,
      records: Type.Array(MissingRecord),
    }),
  },
  'inbound_message.received': {
    description:
      'Mail arrived at a domain for which receiving is on. The data has everything but the content: retrieve the inbound message for its text, HTML, headers and attachments.',
    data: InboundMessageSummary,
  },
  'domain.claimed': {
    description:
      'Another workspace of this server verified the same domain or a subdomain of it with ' +
      'its own DNS token. If you did not publish that token, check who can change your DNS ' +
      'zone.',
    data: Type.Object({
      domain: Type.Unsafe({ ...Domain, examples: [DOMAIN('verified')] }),
      claimed_name: Type.String({ examples: ['news.yourdomain.com'] }),
    }),
  },
  'template.published': {
    description: 'A version of a template, layout or partial was published.',
    data: Type.Object({
      template: Type.Object({
        kind: Type.String({ examples: ['template'] }),
        key: Type.String({ examples: ['welcome'] }),
        version: Type.Integer({ examples: [3] }),
      }),
    }),
  },
  'suppression.created': {
    description: 'An address or domain was suppressed.',
    data: Type.Object({ suppression: Suppression }),
  },
  'suppression.deleted': {
    description: 'An address or domain is no longer suppressed.',
    data: Type.Object({ suppression: Suppression }),
  },
  'api_key.created': {
    description: 'An API key was created.',
    data: Type.Object({ api_key: ApiKey }),
  },
  'api_key.rotated': {
    description: 'An API key got a new secret.',
    data: Type.Object({ api_key: ApiKey }),
  },
  'api_key.expiring': {
    description: 'An API key expires within seven days.',
    data: Type.Object({ api_key: ApiKey }),
  },
  'api_key.revoked': {
    description: 'An API key was revoked.',
    data: Type.Object({ api_key: ApiKey }),
  },
  'webhook.disabled': {
    description: 'A webhook endpoint was disabled.',
    data: Type.Object({
      webhook: Type.Object({
        id: id('whk', 'the endpoint'),
        url: Type.String({ examples: ['https://yourdomain.com/hooks/mail'] }),
      }),
      reason: Type.String({
        description: '`gone`: it returned 410. `failing`: every delivery failed for five days.',
        examples: ['gone'],
      }),
      explanation: Type.String({
        examples: ['The endpoint returned 410 and was disabled.'],
      }),
    }),
  },
  'workspace.slowed': {
    description:
      'Bounces or complaints passed a threshold of the operator, so the workspace can send fewer live messages per hour.',
    data: Type.Object({ brake: Brake }),
  },
  'workspace.paused': {
    description:
      'Bounces or complaints passed a higher threshold, so live sending is suspended until the operator resumes it.',
    data: Type.Object({ brake: Brake }),
  },
  'workspace.released': {
    description: 'The workspace is no longer slowed down or paused. The data says what had been.',
    data: Type.Object({ brake: Brake }),
  },
  'quota.warning': {
    description:
      'A quota of the workspace is nearly used up: usage has reached the percentage that the operator chose. Sent once per period; for `contacts` and `content_bytes`, which have no period, again only after usage has fallen.',
    data: Type.Object({ quota: Quota }),
  },
  'quota.exceeded': {
    description:
      'A quota of the workspace is used up: requests that would exceed it fail with `quota_exceeded`. Sent once per period; for `contacts` and `content_bytes`, which have no period, again only after usage has fallen.',
    data: Type.Object({ quota: Quota }),
  },
  'alarm.raised': {
    description: 'A metric exceeded a threshold set by the operator. Sent once per incident.',
    data: Type.Object({ alarm: Alarm }),
  },
  'alarm.cleared': {
    description: 'An alarm was cleared.',
    data: Type.Object({ alarm: Alarm }),
  },
  'audit.recorded': {
    description:
      'A change by a member, an API key or the command line, as in the audit log. Sent only to ' +
      'endpoints that subscribe to `audit.*`, and returned only if the type is selected; both ' +
      'require `read:audit_log`.',
    data: Type.Object({ entry: AuditEventEntry }),
  },
};
