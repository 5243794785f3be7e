import { Type } from 'typebox';
import { operation } from '../operation.ts';

export interface PublishedLimits {
  requests_per_second: number;
  requests_burst: number;
  request_body_bytes: number;
  message_bytes: number;
  html_bytes: number;
  text_bytes: number;
  subject_bytes: number;
  recipients: number;
  batch_messages: number;
  headers: number;
  header_bytes: number;
  metadata_pairs: number;
  tags: number;
  schedule_ahead_seconds: number;
  retry_window_seconds: number;
  idempotency_seconds: number;
  content_retention_days: number;
  record_retention_days: number;
}

export function getLimits(parts: { limits: PublishedLimits }) {
  const fields = Object.keys(parts.limits).map((name) => [name, Type.Integer()]);
  return operation(
    {
      id: 'getLimits',
      method: 'GET',
      path: '/limits',
      tag: 'Service',
      summary: 'Read the limits in force',
      description: 'What the operator of this server allows.',
      scope: 'any',
      answers: {
        200: {
          description: 'The limits.',
          body: Type.Object(Object.fromEntries(fields), { title: 'Limits' }),
        },
      },
    },
    () => ({ status: 200, body: parts.limits }),
  );
}
