import { type FieldError, fieldErrorsOf, invalidFields } from '../../../lib/refused-error.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { parseTime } from '../../../lib/time/rfc3339.ts';
import type { WebhookHistory } from '../../../webhooks/history/webhook-history.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { ReplayResult, ReplayWebhook } from './schemas.ts';

const RANGE_DEFAULT_MS = 30 * 24 * 60 * 60 * 1000;

export function replayWebhook(deps: { webhookHistory: WebhookHistory; clock: Clock }): Operation {
  return operation(
    {
      id: 'replayWebhook',
      method: 'POST',
      path: '/webhooks/{id}/replay',
      tag: 'Webhooks',
      summary: 'Replay webhook events',
      description:
        'Queues one delivery, all failed ones, or every event of a time range again, as far ' +
        'back as deliveries are kept. `webhook-id` remains the id of the event, so receivers ' +
        'that discard duplicates are not affected.',
      scope: 'write:webhooks',
      params: pathId('whk', 'the endpoint'),
      body: ReplayWebhook,
      semanticChecks: (range) => fieldErrorsOf(() => rangeOf(range, deps.clock.now())),
      examples: {
        failed: {
          summary: 'All failed deliveries since November 1',
          value: { from: '2026-11-01T00:00:00Z', only_failed: true },
        },
        one: {
          summary: 'One delivery',
          value: { delivery_id: 'whd_01kc8x3g0kf3s9w2a4b6c8d0e2' },
        },
      },
      responses: { 202: { description: 'The deliveries were queued.', body: ReplayResult } },
      problems: ['not_found', 'conflict'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('whk', (params as { id: string }).id, 'webhook endpoint');
      const { delivery_id, ...rest } = body;
      if (delivery_id !== undefined && Object.keys(rest).length > 0) {
        const detail = 'Specify either delivery_id or a range.';
        throw invalidFields([invalidValue('/delivery_id', detail)]);
      }
      const nowMs = deps.clock.now();
      const { replayed, nextFromMs } =
        delivery_id !== undefined
          ? await deps.webhookHistory.replayDelivery(
              caller,
              id,
              decodePathId('whd', delivery_id, 'webhook delivery'),
            )
          : await deps.webhookHistory.replayRange(caller, id, {
              ...rangeOf(rest, nowMs),
              onlyFailed: rest.only_failed ?? false,
            });
      const next_from = nextFromMs === null ? null : new Date(nextFromMs).toISOString();
      return { status: 202, body: { replayed, next_from } };
    },
  );
}

function rangeOf({ from, to }: { from?: string; to?: string }, nowMs: number) {
  const errors: FieldError[] = [];
  const fromMs = from === undefined ? nowMs - RANGE_DEFAULT_MS : timeOf('/from', from, errors);
  const toMs = to === undefined ? nowMs : timeOf('/to', to, errors);
  if (fromMs >= toMs) errors.push(invalidValue('/from', 'Must be before `to`.'));
  if (errors.length > 0) throw invalidFields(errors);
  return { fromMs, toMs };
}

/** An invalid time is not compared; it is reported separately. */
function timeOf(pointer: string, text: string, errors: FieldError[]): number {
  const ms = parseTime(text);
  if (ms !== undefined) return ms;
  errors.push(invalidValue(pointer, 'Must be an RFC 3339 time with an offset.'));
  return Number.NaN;
}

function invalidValue(pointer: string, detail: string): FieldError {
  return { pointer, code: 'invalid_value', detail };
}
