import type { publicMessage } from '../../../messages/lookup/public-message.ts';
import { exportOperation } from '../../export-operation.ts';
import type { Operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { listMessages } from './list.ts';
import { MessageSummary } from './schemas.ts';

const COLUMNS = [
  'message_id',
  'created_at',
  'scheduled_at',
  'from',
  'recipient',
  'kind',
  'subject',
  'template',
  'tags',
  'status',
  'reason',
  'explanation',
  'attempts',
  'finished_at',
  'smtp_code',
  'smtp_text',
  'stream',
  'metadata',
  'complained_at',
];

export function exportMessages(
  deps: Parameters<typeof listMessages>[0] & { largeAnswers: LargeResponseLimiter },
): Operation {
  return exportOperation<ReturnType<typeof publicMessage>>(listMessages(deps), deps.largeAnswers, {
    id: 'exportMessages',
    summary: 'Export messages',
    items: 'messages',
    schema: MessageSummary,
    columns: COLUMNS,
    // A record for each recipient, because each has a status of its own.
    toCells: (message) =>
      message.recipients.map((recipient) => [
        message.id,
        message.created_at,
        message.scheduled_at,
        message.from.email,
        recipient.email,
        recipient.kind,
        message.subject,
        message.template?.key,
        // A tag can contain spaces.
        message.tags.join(', '),
        recipient.status,
        recipient.reason,
        recipient.explanation,
        recipient.attempts,
        recipient.finished_at,
        recipient.smtp?.code,
        recipient.smtp?.text,
        message.stream,
        JSON.stringify(message.metadata),
        recipient.complained_at,
      ]),
  });
}
