import { eventBody } from '../events/events-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId } from '../lib/ids.ts';
import type { Endpoint, EndpointBook } from './endpoint-book.ts';
import { hiddenHeaders } from './extra-headers.ts';
import type { LeasedRow } from './fan-out-store.ts';
import { type DisableReason, judge } from './judgement.ts';
import type { Posted, PostWebhook } from './post-webhook.ts';
import { signedHeaders } from './secrets.ts';
import type { TryResult } from './webhook-queue-store.ts';

/** One delivery, tried once: what is to be written of it, and what it means for its endpoint. */
export interface Tried {
  result: Omit<TryResult, 'lease'>;
  disable: DisableReason | undefined;
  /** How long the receiver wants to be left alone. */
  retryAfterMs: number | undefined;
}

export interface TryParts {
  book: EndpointBook;
  post: PostWebhook;
  clock: Clock;
  random?: () => number;
  userAgent: string;
}

/** Undefined when there is nothing to try any more: the endpoint is gone or switched off. */
export function createAttempt(parts: TryParts): (row: LeasedRow) => Promise<Tried | undefined> {
  const { book, clock, random = Math.random } = parts;
  return async (row) => {
    const scope = { workspaceId: row.workspace_id, mode: row.mode };
    const endpoint = await book.find(scope, row.webhook_id, row.revision);
    if (!endpoint?.enabled) return undefined;
    const { posted, headers } = await send(parts, row, endpoint);
    const nowMs = clock.now();
    const judgement = judge(posted, {
      runTries: row.cycle_attempts + 1,
      failingSinceMs: row.failing_since,
      nowMs,
      random: random(),
    });
    const { status, dueAtMs, disable } = judgement;
    const over = row.data === null;
    return {
      result: {
        workspace_id: row.workspace_id,
        mode: row.mode,
        webhook_id: row.webhook_id,
        event_id: row.event_id,
        status: over ? 'failed' : status,
        due_at: over || dueAtMs === null ? null : new Date(dueAtMs).toISOString(),
        at: new Date(nowMs).toISOString(),
        started_at: new Date(posted.startedAtMs).toISOString(),
        duration_ms: posted.durationMs,
        url: endpoint.url.href,
        headers,
        code: posted.status,
        answer: posted.answer,
        error: posted.error,
        failing: row.failing_since !== null,
      },
      disable,
      retryAfterMs: posted.retryAfterMs,
    };
  };
}

async function send(
  parts: TryParts,
  row: LeasedRow,
  endpoint: Endpoint,
): Promise<{ posted: Posted; headers: Record<string, string> }> {
  const id = encodeId('evt', row.event_id);
  if (row.data === null) {
    return unsent(parts, 'The event is past its retention: there is nothing left to send.');
  }
  const body = eventBody({
    id: row.event_id,
    type: row.type,
    mode: row.mode,
    createdAtMs: row.created_at,
    sequence: row.sequence,
    data: row.data,
  });
  return postSigned(parts, endpoint, id, Buffer.from(body));
}

/** Signs and posts; the headers come back as they may be shown. */
export async function postSigned(
  parts: Pick<TryParts, 'post' | 'clock' | 'userAgent'>,
  endpoint: Endpoint,
  id: string,
  body: Buffer,
): Promise<{ posted: Posted; headers: Record<string, string> }> {
  if (endpoint.refusal !== undefined) return unsent(parts, endpoint.refusal);
  const nowMs = parts.clock.now();
  const ours = {
    'content-type': 'application/json',
    'user-agent': parts.userAgent,
    ...signedHeaders(id, nowMs, body, endpoint.secretsAt(nowMs)),
  };
  const length = { 'content-length': String(body.length) };
  const headers = { ...endpoint.headers, ...ours, ...length };
  const posted = await parts.post({ url: endpoint.url, headers, body });
  return { posted, headers: { ...hiddenHeaders(endpoint.headers), ...ours } };
}

function unsent(
  { clock }: Pick<TryParts, 'clock'>,
  error: string,
): { posted: Posted; headers: Record<string, string> } {
  const none = { status: null, answer: null, retryAfterMs: undefined };
  return { posted: { startedAtMs: clock.now(), durationMs: 0, ...none, error }, headers: {} };
}
