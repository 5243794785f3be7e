import { type Static, type TSchema, Type } from 'typebox';
import { invalidFields } from '../../../lib/refused-error.ts';
import {
  Address,
  Metadata,
  SendMessage,
  Variables,
} from '../../../messages/accept/send-request.ts';
import type { BatchSender } from '../../batch-sender.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { BatchResult, batchResponse, SendMode } from './send-batch.ts';
import { REPLAYED_HEADER, SEND_PROBLEMS } from './send-problems.ts';

const {
  to: _to,
  cc: _cc,
  bcc: _bcc,
  headers: _headers,
  metadata: _metadata,
  ...CONTENT
} = SendMessage.properties;

const BulkRecipient = closed(
  {
    to: Address,
    variables: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        ...Variables,
        description: 'Added to the variables of the content; the recipient’s own value wins.',
      }),
    ),
    metadata: Type.Optional(
      Type.Unsafe<Static<typeof Metadata>>({
        ...Metadata,
        description: 'Added to the metadata of the bulk send.',
      }),
    ),
  },
  { title: 'BulkRecipient' },
);

export function sendBulk(deps: {
  batchSender: BatchSender;
  baseUrl: string;
  batchMax: number;
  bodyBytesMax: number;
}): Operation {
  const bodyOf = (content: Record<string, TSchema>, recipient: TSchema) =>
    closed(
      {
        ...content,
        headers: SendMessage.properties.headers,
        metadata: SendMessage.properties.metadata,
        recipients: Type.Array(recipient, { minItems: 1, maxItems: deps.batchMax }),
        mode: SendMode,
      },
      { title: 'SendBulk' },
    );
  return operation(
    {
      id: 'sendBulk',
      method: 'POST',
      path: '/transactional/bulk',
      tag: 'Sending',
      summary: 'Send one content to many recipients',
      description:
        'Sends each recipient a message of their own, with their own variables; recipients do ' +
        'not see each other. Results, `mode`, idempotency and the rate limit are those of a ' +
        'batch: up to 500 messages in one transaction, each counted as one request.',
      scope: 'send:transactional',
      notAudited: 'sends',
      body: bodyOf(CONTENT, BulkRecipient),
      examples: {
        template: {
          summary: 'A template for two recipients',
          value: {
            from: { email: 'hello@yourdomain.com' },
            template_key: 'welcome',
            recipients: [
              { to: { email: 'jane@example.com' }, variables: { first_name: 'Jane' } },
              { to: { email: 'joe@example.com' }, variables: { first_name: 'Joe' } },
            ],
          },
        },
      },
      responses: {
        202: {
          description: 'Accepted and stored durably.',
          body: BatchResult,
          headers: REPLAYED_HEADER,
        },
      },
      problems: SEND_PROBLEMS,
      handlesIdempotency: true,
    },
    async ({ caller, body, idempotency, requestId }) => {
      const { recipients, mode, ...content } = body as BulkBody;
      checkSize(content, recipients, deps.bodyBytesMax);
      const batch = await deps.batchSender.send(
        caller,
        recipients.map((recipient) => messageFor(recipient, content)),
        { strict: mode !== 'permissive', idempotency, requestId, itemsPointer: '/recipients' },
      );
      return batchResponse(batch, deps.baseUrl);
    },
  );
}

type Content = Omit<Static<typeof SendMessage>, 'to' | 'cc' | 'bcc'>;
type BulkBody = Content & {
  recipients: Static<typeof BulkRecipient>[];
  mode?: Static<typeof SendMode>;
};

function messageFor(
  { to, variables, metadata }: Static<typeof BulkRecipient>,
  content: Content,
): Static<typeof SendMessage> {
  const field = content.template_key === undefined ? 'variables' : 'template_variables';
  const values = variables && { [field]: { ...content[field], ...variables } };
  return {
    ...content,
    ...values,
    ...(metadata && { metadata: { ...content.metadata, ...metadata } }),
    to,
  };
}

/**
 * Merging the variables of the content with those of a recipient copies their names, and the headers are
 * checked for each recipient.
 */
const NAME_BYTES = 32;

/**
 * Every message has its own copy of the content. Together they may be as large as a batch, which is
 * limited by the size of a request.
 */
function checkSize(
  content: Content,
  recipients: readonly Static<typeof BulkRecipient>[],
  bytesMax: number,
): void {
  const { subject = '', html = '', text = '', attachments = [], headers = {} } = content;
  const files = attachments.reduce((sum, file) => sum + file.content.length, 0);
  const variables = Object.keys(content.variables ?? content.template_variables ?? {}).length;
  const merged = recipients.filter((recipient) => recipient.variables).length;
  const names = Object.keys(headers).length * recipients.length + variables * merged;
  const bytes =
    (subject.length + html.length + text.length + files) * recipients.length + names * NAME_BYTES;
  if (bytes <= bytesMax) return;
  const detail = `The messages of a bulk send can have at most ${bytesMax} bytes together; these have about ${bytes}. Use fewer recipients, variables or headers, or link to files instead of attaching them.`;
  throw invalidFields([{ pointer: '/recipients', code: 'message_too_large', detail }]);
}
