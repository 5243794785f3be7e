import { Type } from 'typebox';
import { MESSAGE_QUOTAS, WARN_AT_PERCENT_DEFAULT } from '../../../quotas/quota.ts';
import { closed, Time } from '../../openapi/shared-schemas.ts';

/** Quotas and usage, as the operator and the workspace see them. */

const LIMIT_MAX = 1_000_000_000;
const CONTENT_BYTES_MAX = 1_000_000_000_000_000;

const limit = (description: string, minimum = 0, maximum = LIMIT_MAX) =>
  Type.Union([Type.Integer({ minimum, maximum }), Type.Null()], {
    description: `${description} Null: no limit.`,
    default: null,
  });

const QuotaFields = {
  messages_per_hour: limit('Live messages per hour.'),
  messages_per_day: limit('Live messages per day, in UTC.'),
  messages_per_month: limit('Live messages per calendar month, in UTC.'),
  recipients_per_message: limit('Recipients of one live message.', 1, 1_000),
  contacts: limit('Live contacts.', 0, 10_000_000),
  content_bytes: limit(
    'Bytes of HTML, text and attachments of messages, and of inbound messages, live and test, that were accepted while content is kept.',
    0,
    CONTENT_BYTES_MAX,
  ),
  requests_per_second: limit(
    'Requests per second to each node, like the limit of the server, which it replaces.',
    1,
    100_000,
  ),
  warn_at_percent: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: WARN_AT_PERCENT_DEFAULT,
    description:
      'The percentage of a message, contact or content quota at which `quota.warning` is published.',
  }),
};

const QUOTAS = {
  messages_per_hour: null,
  messages_per_day: 10_000,
  messages_per_month: 200_000,
  recipients_per_message: null,
  contacts: 50_000,
  content_bytes: 10_000_000_000,
  requests_per_second: null,
  warn_at_percent: WARN_AT_PERCENT_DEFAULT,
};

export const WorkspaceQuotas = Type.Object(QuotaFields, {
  title: 'WorkspaceQuotas',
  examples: [QUOTAS],
});

export const SetWorkspaceQuotas = closed(
  {
    messages_per_hour: Type.Optional(QuotaFields.messages_per_hour),
    messages_per_day: Type.Optional(QuotaFields.messages_per_day),
    messages_per_month: Type.Optional(QuotaFields.messages_per_month),
    recipients_per_message: Type.Optional(QuotaFields.recipients_per_message),
    contacts: Type.Optional(QuotaFields.contacts),
    content_bytes: Type.Optional(QuotaFields.content_bytes),
    requests_per_second: Type.Optional(QuotaFields.requests_per_second),
    warn_at_percent: Type.Optional(QuotaFields.warn_at_percent),
  },
  { title: 'SetWorkspaceQuotas', examples: [QUOTAS] },
);

const Limit = Type.Union([Type.Integer(), Type.Null()], { description: 'Null: no limit.' });

const Used = Type.Object({
  limit: Limit,
  used: Type.Integer({ description: 'Live messages that were accepted in the present period.' }),
  resets_at: Time,
});

const USED = { limit: 10_000, used: 1_234, resets_at: '2026-11-16T00:00:00.000Z' };

const UsageFields = {
  ...(Object.fromEntries(MESSAGE_QUOTAS.map((name) => [name, Used])) as Record<
    (typeof MESSAGE_QUOTAS)[number],
    typeof Used
  >),
  recipients_per_message: Type.Object({ limit: Limit }),
  contacts: Type.Object({
    limit: Limit,
    used: Type.Integer({ description: 'Live contacts; the number may be a minute old.' }),
  }),
  content_bytes: Type.Object({
    limit: Type.Union([Type.Integer({ maximum: CONTENT_BYTES_MAX }), Type.Null()], {
      description: 'Null: no limit.',
    }),
    used: Type.Integer({
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Bytes of messages and inbound messages that were accepted in the last `content_retention_days`, deleted or not.',
    }),
  }),
  requests_per_second: Type.Object({ limit: Limit }),
};

const USAGE = {
  messages_per_hour: { ...USED, limit: null, used: 12 },
  messages_per_day: USED,
  messages_per_month: { ...USED, limit: 200_000, resets_at: '2026-12-01T00:00:00.000Z' },
  recipients_per_message: { limit: null },
  contacts: { limit: 50_000, used: 4_321 },
  content_bytes: { limit: 10_000_000_000, used: 123_456_789 },
  requests_per_second: { limit: null },
};

export const Usage = Type.Object(UsageFields, { title: 'Usage', examples: [USAGE] });

export const MonthlyUsage = Type.Object(
  {
    month: Type.String({ description: 'The calendar month in UTC.' }),
    starts_at: Time,
    ends_at: Time,
    messages: Type.Integer({ description: 'Live messages that were accepted.' }),
    recipients: Type.Integer({ description: 'Their recipients.' }),
  },
  {
    title: 'MonthlyUsage',
    examples: [
      {
        month: '2026-11',
        starts_at: '2026-11-01T00:00:00.000Z',
        ends_at: '2026-12-01T00:00:00.000Z',
        messages: 12_345,
        recipients: 12_400,
      },
    ],
  },
);

/** A calendar month in a path, such as `2026-11`. */
export function parseMonth(text: string): number | undefined {
  const match = /^([0-9]{4})-(0[1-9]|1[0-2])$/.exec(text);
  return match ? Date.UTC(Number(match[1]), Number(match[2]) - 1) : undefined;
}
