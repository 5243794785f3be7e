import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { DAY_MS, type Stats, startOf } from '../statistics.ts';

/**
 * The actions of version 1, each as requests of version 2 and a result made from their responses, except
 * for statistics, which version 2 has in other forms.
 */

export type Fields = Record<string, unknown>;
interface Input {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: object;
}

/** Calls an operation of version 2; returns the body of its response. */
// biome-ignore lint/suspicious/noExplicitAny: each operation documents its own body
export type CallVersion2 = (id: string, input?: Input) => Promise<any>;

export interface Action {
  /** The names of its parameters. */
  fields: readonly string[];
  required?: readonly string[];
  run(fields: Fields, call: CallVersion2, source: StatsSource): Promise<object>;
}

export interface StatsSource {
  nowMs: number;
  read(wanted: { interval: 'hour'; fromMs: number; toMs: number }): Promise<Stats>;
}

/** As at SES, but in hours instead of quarters, which are not kept that long. */
const STATISTICS_DAYS = 14;

/** ReturnPath is ignored, like the FeedbackForwardingEmailAddress of version 2. */
const COMMON = ['Source', 'ReplyToAddresses', 'ConfigurationSetName', 'ReturnPath'];

export const ACTIONS: Readonly<Record<string, Action>> = {
  SendEmail: {
    fields: [...COMMON, 'Destination', 'Message', 'Tags'],
    required: ['Source', 'Destination', 'Message'],
    async run(fields, call) {
      const { Message: message } = fields;
      return await call('sesSendEmail', {
        body: { ...common(fields), Content: { Simple: message } },
      });
    },
  },
  SendRawEmail: {
    fields: ['Source', 'ConfigurationSetName', 'Destinations', 'RawMessage', 'Tags'],
    required: ['RawMessage'],
    async run(fields, call) {
      const { Destinations: to } = fields;
      const destination = to === undefined ? {} : { Destination: { ToAddresses: to } };
      const body = { ...common(fields), ...destination, Content: { Raw: fields.RawMessage } };
      return await call('sesSendEmail', { body });
    },
  },
  SendTemplatedEmail: {
    fields: [...COMMON, 'Destination', 'Template', 'TemplateData', 'Tags'],
    required: ['Source', 'Destination', 'Template'],
    async run(fields, call) {
      const { Template: name, TemplateData: data } = fields;
      const template = defined({ TemplateName: name, TemplateData: data });
      return await call('sesSendEmail', {
        body: { ...common(fields), Content: { Template: template } },
      });
    },
  },
  SendBulkTemplatedEmail: {
    fields: [...COMMON, 'Destinations', 'Template', 'DefaultTemplateData', 'DefaultTags'],
    required: ['Source', 'Destinations', 'Template'],
    async run(fields, call) {
      const { Template: name, DefaultTemplateData: data, DefaultTags: tags } = fields;
      const { EmailTags: _none, ...rest } = common(fields);
      const body = defined({
        ...rest,
        DefaultEmailTags: tags,
        DefaultContent: { Template: defined({ TemplateName: name, TemplateData: data }) },
        BulkEmailEntries: entriesOf(fields.Destinations),
      });
      const { BulkEmailEntryResults: results } = await call('sesSendBulkEmail', { body });
      return { Status: (results as BulkResult[]).map(toStatus) };
    },
  },
  GetSendQuota: {
    fields: [],
    async run(_fields, call) {
      const { SendQuota: quota } = await call('sesGetAccount');
      return { SentLast24Hours: 0, ...quota };
    },
  },
  GetSendStatistics: {
    fields: [],
    async run(_fields, _call, { nowMs, read }) {
      const fromMs = startOf(nowMs - STATISTICS_DAYS * DAY_MS, 'hour');
      const { points } = await read({ interval: 'hour', fromMs, toMs: nowMs });
      return {
        SendDataPoints: points.map(({ start, accepted, bounced, expired, complained, failed }) => ({
          Timestamp: start,
          // Like the event Send, which SES also counts for suppressed addresses.
          DeliveryAttempts: accepted,
          Bounces: bounced + expired,
          Complaints: complained,
          Rejects: failed,
        })),
      };
    },
  },
  GetAccountSendingEnabled: {
    fields: [],
    async run(_fields, call) {
      return { Enabled: (await call('sesGetAccount')).SendingEnabled };
    },
  },
  ListIdentities: {
    fields: ['IdentityType', 'MaxItems', 'NextToken'],
    async run(fields, call) {
      const { EmailIdentities: found, NextToken: next } = await call(
        'sesListEmailIdentitiesByQuery',
        {
          query: pageOf(fields),
        },
      );
      const names = (found as { IdentityName: string }[]).map(({ IdentityName: name }) => name);
      // All identities are domains.
      return { Identities: fields.IdentityType === 'EmailAddress' ? [] : names, NextToken: next };
    },
  },
  GetIdentityVerificationAttributes: {
    fields: ['Identities'],
    async run({ Identities: identities }, call) {
      const found = new Map<string, object>();
      for (const identity of namesOf(identities)) {
        const status = await statusOf(identity, call);
        if (status !== undefined) found.set(identity, { VerificationStatus: status });
      }
      return { VerificationAttributes: found };
    },
  },
  CreateTemplate: {
    fields: ['Template'],
    required: ['Template'],
    async run(fields, call) {
      const { name, content } = templateOf(fields);
      await call('sesCreateEmailTemplate', {
        body: { TemplateName: name, TemplateContent: content },
      });
      return {};
    },
  },
  UpdateTemplate: {
    fields: ['Template'],
    required: ['Template'],
    async run(fields, call) {
      const { name, content } = templateOf(fields);
      await call('sesUpdateEmailTemplate', {
        params: { name },
        body: { TemplateContent: content },
      });
      return {};
    },
  },
  GetTemplate: {
    fields: ['TemplateName'],
    required: ['TemplateName'],
    async run(fields, call) {
      const params = { name: nameOf(fields.TemplateName) };
      const { TemplateName: name, TemplateContent: content } = await call('sesGetEmailTemplate', {
        params,
      });
      const { Subject: subject, Html: html, Text: text } = content;
      return {
        Template: { TemplateName: name, SubjectPart: subject, TextPart: text, HtmlPart: html },
      };
    },
  },
  DeleteTemplate: {
    fields: ['TemplateName'],
    required: ['TemplateName'],
    async run(fields, call) {
      await call('sesDeleteEmailTemplate', { params: { name: nameOf(fields.TemplateName) } });
      return {};
    },
  },
  ListTemplates: {
    fields: ['MaxItems', 'NextToken'],
    async run(fields, call) {
      const { TemplatesMetadata: templates, NextToken: next } = await call(
        'sesListEmailTemplates',
        {
          query: pageOf(fields),
        },
      );
      return {
        TemplatesMetadata: (templates as { TemplateName: string; CreatedTimestamp: number }[]).map(
          ({ TemplateName: name, CreatedTimestamp: at }) => ({
            Name: name,
            CreatedTimestamp: new Date(at * 1000).toISOString(),
          }),
        ),
        NextToken: next,
      };
    },
  },
};

function common(fields: Fields): Fields {
  return defined({
    FromEmailAddress: fields.Source,
    Destination: fields.Destination,
    ReplyToAddresses: fields.ReplyToAddresses,
    ConfigurationSetName: fields.ConfigurationSetName,
    EmailTags: fields.Tags,
  });
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Whether they have the right types is checked by version 2. */
function entriesOf(destinations: unknown): unknown {
  if (!Array.isArray(destinations)) return destinations;
  return destinations.map((entry) => {
    const { ReplacementTemplateData: data, ...rest } = entry as Fields;
    if (data === undefined) return rest;
    const template = { ReplacementTemplateData: data };
    return { ...rest, ReplacementEmailContent: { ReplacementTemplate: template } };
  });
}

interface BulkResult {
  Status: string;
  MessageId?: string;
  Error?: string;
}

const STATUSES: Readonly<Record<string, string>> = {
  SUCCESS: 'Success',
  TEMPLATE_NOT_FOUND: 'TemplateDoesNotExist',
  ACCOUNT_SUSPENDED: 'AccountSuspended',
  MESSAGE_REJECTED: 'MessageRejected',
  MAIL_FROM_DOMAIN_NOT_VERIFIED: 'MailFromDomainNotVerified',
  ACCOUNT_DAILY_QUOTA_EXCEEDED: 'AccountDailyQuotaExceeded',
};

function toStatus({ Status: status, MessageId: id, Error: error }: BulkResult): object {
  return {
    Status: STATUSES[status] ?? 'InvalidParameterValue',
    MessageId: id,
    Error: error?.replace(/^\/BulkEmailEntries/, '/Destinations'),
  };
}

function pageOf({ MaxItems: size, NextToken: token }: Fields): Record<string, string> {
  return defined({ PageSize: size, NextToken: token }) as Record<string, string>;
}

function templateOf({ Template: template }: Fields): { name: string; content: Fields } {
  const { TemplateName, SubjectPart, HtmlPart, TextPart } = (template ?? {}) as Fields;
  return {
    name: nameOf(TemplateName, '/Template/TemplateName'),
    content: defined({ Subject: SubjectPart, Html: HtmlPart, Text: TextPart }),
  };
}

function nameOf(value: unknown, pointer = '/TemplateName'): string {
  if (typeof value === 'string' && value !== '') return value;
  throw invalidFields([{ pointer, code: 'required', detail: 'A name is required.' }]);
}

const IDENTITIES_MAX = 100;

function namesOf(identities: unknown): string[] {
  const names: unknown[] = Array.isArray(identities) ? identities : [];
  if (names.length > IDENTITIES_MAX || names.some((name) => typeof name !== 'string')) {
    const detail = `Up to ${IDENTITIES_MAX} names are allowed.`;
    throw invalidFields([{ pointer: '/Identities', code: 'too_many', detail }]);
  }
  return names as string[];
}

const VERIFICATION: Readonly<Record<string, string>> = {
  SUCCESS: 'Success',
  PENDING: 'Pending',
  FAILED: 'Failed',
  TEMPORARY_FAILURE: 'TemporaryFailure',
};

/** An address is as verified as its domain; undefined for a domain that is not ours. */
async function statusOf(identity: string, call: CallVersion2): Promise<string | undefined> {
  const name = identity.slice(identity.lastIndexOf('@') + 1);
  try {
    const { VerificationStatus: status } = await call('sesGetEmailIdentity', { params: { name } });
    return VERIFICATION[status];
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'not_found') return undefined;
    throw error;
  }
}
