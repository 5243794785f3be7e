import { Type } from 'typebox';
import { type Operation, operation } from '../../http/operation.ts';
import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { type SendResult, sendEach } from '../send-each.ts';
import { SizeBudget } from '../size-budget.ts';
import { refuseUnsupported, SendBulkEmail, SendEmail, unsupported } from './email-schemas.ts';
import {
  checkContent,
  optionFields,
  recipientsOf,
  streamField,
  toBulkBody,
  toSendBody,
} from './to-send-body.ts';

export function emailOperations({ call, bodyBytesMax }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'sesSendEmail',
        method: 'POST',
        path: '/v2/email/outbound-emails',
        tag: 'Sending',
        summary: 'Send an email',
        scope: 'send:transactional',
        body: SendEmail,
        responses: {
          200: { description: 'Accepted.', body: Type.Object({ MessageId: Type.String() }) },
        },
        handlesIdempotency: true,
      },
      async (request) => {
        const { body: email, idempotency } = request;
        checkContent(email);
        const accepted = email.Content.Raw
          ? await call(request, 'sendRaw', { body: toRawBody(email), idempotency }).catch(rejected)
          : await call(request, 'sendTransactional', { body: toSendBody(email), idempotency });
        return { status: 200, body: { MessageId: accepted.body.id } };
      },
    ),
    operation(
      {
        id: 'sesSendBulkEmail',
        method: 'POST',
        path: '/v2/email/outbound-bulk-emails',
        tag: 'Sending',
        summary: 'Send a template to many recipients',
        description: 'Each email is accepted or refused on its own.',
        scope: 'send:transactional',
        body: SendBulkEmail,
        responses: {
          200: {
            description: 'A result for each email.',
            body: Type.Object({
              BulkEmailEntryResults: Type.Array(
                Type.Object({
                  Status: Type.String(),
                  MessageId: Type.Optional(Type.String()),
                  Error: Type.Optional(Type.String()),
                }),
              ),
            }),
          },
        },
        handlesIdempotency: true,
      },
      async (request) => {
        const { body: bulk, idempotency } = request;
        refuseUnsupported(bulk);
        checkSize(bulk, bodyBytesMax);
        const results = await sendEach(
          bulk.BulkEmailEntries,
          (_entry, index) => toBulkBody(bulk, index),
          async (messages) => {
            const input = { body: { messages, mode: 'permissive' }, idempotency };
            return (await call(request, 'sendBatch', input)).body.data;
          },
        );
        return { status: 200, body: { BulkEmailEntryResults: results.map(toResult) } };
      },
    ),
  ];
}

/** Every entry has its own copy of what is the same for all. */
function checkSize(bulk: SendBulkEmail, bytesMax: number): void {
  const { DefaultContent, DefaultEmailTags, ReplyToAddresses, BulkEmailEntries } = bulk;
  const common = JSON.stringify([DefaultContent, DefaultEmailTags, ReplyToAddresses]).length;
  new SizeBudget(bytesMax, {
    pointer: '/BulkEmailEntries',
    detail: `The messages of a bulk send can have at most ${bytesMax} bytes together. Use fewer entries, or link to files instead of attaching them.`,
  }).spend(common * BulkEmailEntries.length);
}

/**
 * The message is kept as it is, so everything about its content is in it. At SES, FromEmailAddress is the
 * sender of the envelope, which is always an address of ours here.
 */
function toRawBody(email: SendEmail): object {
  refuseUnsupported(email);
  if (email.ReplyToAddresses !== undefined) {
    const detail = 'ReplyToAddresses is not supported with Raw. Set Reply-To in the message.';
    throw invalidFields([unsupported('/ReplyToAddresses', detail)]);
  }
  const raw = email.Content.Raw?.Data ?? '';
  const recipients = recipientsOf(email.Destination);
  return {
    raw,
    ...(recipients.length > 0 ? { recipients } : {}),
    ...optionFields(email.EmailTags, email.ConfigurationSetName),
    ...streamField(email.ListManagementOptions),
  };
}

/** SES has an error of its own for a message that it cannot send, by which nodemailer verifies. */
function rejected(error: unknown): never {
  if (!(error instanceof RefusedError) || error.code !== 'validation_failed') throw error;
  throw new RefusedError('malformed_request', error.message, { errors: error.errors });
}

const STATUSES: Record<string, string> = {
  template_not_found: 'TEMPLATE_NOT_FOUND',
  workspace_suspended: 'ACCOUNT_SUSPENDED',
  domain_not_owned: 'MESSAGE_REJECTED',
  domain_not_allowed: 'MESSAGE_REJECTED',
  domain_not_verified: 'MAIL_FROM_DOMAIN_NOT_VERIFIED',
  quota_exceeded: 'ACCOUNT_DAILY_QUOTA_EXCEEDED',
};

function toResult(result: SendResult): object {
  if ('message' in result) return { Status: 'SUCCESS', MessageId: result.message.id };
  const { code, detail } = result.error;
  return { Status: STATUSES[code] ?? 'INVALID_PARAMETER', Error: detail };
}
