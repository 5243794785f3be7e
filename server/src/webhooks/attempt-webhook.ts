import { eventBody } from '../events/events-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId } from '../lib/ids.ts';
import { classifyResponse, type DisableReason } from './classify-response.ts';
import { redactHeaders } from './custom-headers.ts';
import type { Endpoint, EndpointCache } from './endpoint-cache.ts';
import type { LeasedRow } from './fan-out-store.ts';
import { signedHeaders } from './sign-webhook.ts';
import type { PostWebhook, WebhookResponse } from './webhook-client.ts';
import type { AttemptRecord } from './webhook-queue-store.ts';

/** The result of one attempt: what is recorded, and what it means for the endpoint. */
export interface WebhookAttempt {
  result: Omit<AttemptRecord, 'lease'>;
  disable: DisableReason | undefined;
  /** How long the receiver asked us to wait. */
  retryAfterMs: number | undefined;
}

export interface AttemptParts {
  endpoints: EndpointCache;
  post: PostWebhook;
  clock: Clock;
  random?: () => number;
  userAgent: string;
}

/** Makes one attempt; undefined when the endpoint was deleted or disabled. */
export function createAttempt(
  parts: AttemptParts,
): (row: LeasedRow) => Promise<WebhookAttempt | undefined> {
  const { endpoints, clock, random = Math.random } = parts;
  return async (row) => {
    const scope = { workspaceId: row.workspace_id, mode: row.mode };
    const endpoint = await endpoints.find(scope, row.webhook_id, row.revision);
    if (!endpoint?.enabled) return undefined;
    const { response, headers } = await send(parts, row, endpoint);
    const nowMs = clock.now();
    const classified = classifyResponse(response, {
      cycleAttempts: row.cycle_attempts + 1,
      failingSinceMs: row.failing_since,
      nowMs,
      random: random(),
    });
    const { status, dueAtMs, disable } = classified;
    const eventMissing = row.data === null;
    return {
      result: {
        workspace_id: row.workspace_id,
        mode: row.mode,
        webhook_id: row.webhook_id,
        event_id: row.event_id,
        status: eventMissing ? 'failed' : status,
        due_at: eventMissing || dueAtMs === null ? null : new Date(dueAtMs).toISOString(),
        at: new Date(nowMs).toISOString(),
        started_at: new Date(response.startedAtMs).toISOString(),
        duration_ms: response.durationMs,
        url: endpoint.url.href,
        headers,
        response_status: response.status,
        response_body: response.body,
        error: response.error,
        failing: row.failing_since !== null,
      },
      disable,
      retryAfterMs: response.retryAfterMs,
    };
  };
}

async function send(
  parts: AttemptParts,
  row: LeasedRow,
  endpoint: Endpoint,
): Promise<{ response: WebhookResponse; headers: Record<string, string> }> {
  const id = encodeId('evt', row.event_id);
  if (row.data === null) {
    return notSent(parts, 'The event is past its retention period and can no longer be sent.');
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

/** Signs and sends a request; returns the headers in redacted form. */
export async function postSigned(
  parts: Pick<AttemptParts, 'post' | 'clock' | 'userAgent'>,
  endpoint: Endpoint,
  id: string,
  body: Buffer,
): Promise<{ response: WebhookResponse; headers: Record<string, string> }> {
  if (endpoint.refusal !== undefined) return notSent(parts, endpoint.refusal);
  const nowMs = parts.clock.now();
  const ours = {
    'content-type': 'application/json',
    'user-agent': parts.userAgent,
    ...signedHeaders(id, nowMs, body, endpoint.secretsAt(nowMs)),
  };
  const length = { 'content-length': String(body.length) };
  const headers = { ...endpoint.headers, ...ours, ...length };
  const response = await parts.post({ url: endpoint.url, headers, body });
  return { response, headers: { ...redactHeaders(endpoint.headers), ...ours } };
}

function notSent(
  { clock }: Pick<AttemptParts, 'clock'>,
  error: string,
): { response: WebhookResponse; headers: Record<string, string> } {
  const none = { status: null, body: null, retryAfterMs: undefined };
  return { response: { startedAtMs: clock.now(), durationMs: 0, ...none, error }, headers: {} };
}
