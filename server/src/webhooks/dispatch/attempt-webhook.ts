import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { FairQueue } from '../../lib/scheduling/fair-queue.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Endpoint, EndpointCache } from '../fan-out/endpoint-cache.ts';
import type { LeasedRow } from '../fan-out/fan-out-store.ts';
import { FORMATS, renderEvent, sendsInboundContent } from '../formats/formats.ts';
import type { SignedRequest, Signing } from '../formats/webhook-format.ts';
import { redactHeaders } from '../requests/custom-headers.ts';
import type { PostWebhook, WebhookResponse } from '../requests/webhook-client.ts';
import { classifyResponse, type DisableReason } from './classify-response.ts';
import type { ReadSource } from './read-source.ts';
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
  readSource: ReadSource;
  /** Limits requests that contain the content of inbound messages, which may be large. */
  contents: FairQueue;
  post: PostWebhook;
  clock: Clock;
  random?: () => number;
  userAgent: string;
  baseUrl: string;
}

type SendParts = Pick<AttemptParts, 'post' | 'clock' | 'userAgent' | 'baseUrl'>;

interface Sent {
  response: WebhookResponse;
  /** As sent, with the values of custom headers redacted. */
  headers: Record<string, string>;
  /** Why there was nothing to send. */
  note?: string;
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
    const { response, headers, note } = await send(parts, scope, row, endpoint);
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
        due_at: eventMissing ? null : dueAtMs,
        at: nowMs,
        started_at: response.startedAtMs,
        duration_ms: response.durationMs,
        url: endpoint.url.href,
        headers,
        response_status: response.status,
        response_body: response.body,
        error: note ?? response.error,
        // What was not sent says nothing about the endpoint.
        failing: note === undefined && row.failing_since !== null,
      },
      disable,
      retryAfterMs: response.retryAfterMs,
    };
  };
}

async function send(
  parts: AttemptParts,
  scope: TenantScope,
  row: LeasedRow,
  endpoint: Endpoint,
): Promise<Sent> {
  if (row.data === null) {
    return notSent(parts, 'The event is past its retention period and can no longer be sent.');
  }
  const event = {
    id: row.event_id,
    type: row.type,
    mode: row.mode,
    createdAtMs: row.created_at,
    sequence: row.sequence,
    data: row.data,
  };
  const post = async (): Promise<Sent> => {
    const content = await renderEvent(endpoint.format, event, parts.readSource(scope));
    if (content === undefined) return skipped(parts, endpoint);
    return postSigned(parts, endpoint, event, Buffer.from(content));
  };
  const hasContent = sendsInboundContent(endpoint.format, [row.type]);
  return hasContent ? parts.contents.run(scope.workspaceId, post) : post();
}

/** Signs and sends a request. */
export async function postSigned(
  parts: SendParts,
  endpoint: Endpoint,
  event: { id: string; createdAtMs: number },
  content: Buffer,
  sign: Sign = FORMATS[endpoint.format].sign,
): Promise<Sent & { body: Buffer }> {
  if (endpoint.refusal !== undefined) {
    return { ...notSent(parts, endpoint.refusal), body: content };
  }
  const nowMs = parts.clock.now();
  const signed = await sign(content, {
    eventId: event.id,
    createdAtMs: event.createdAtMs,
    nowMs,
    endpointId: endpoint.id,
    keys: endpoint.keysAt(nowMs),
    baseUrl: parts.baseUrl,
  });
  const ours = { 'user-agent': parts.userAgent, ...signed.headers };
  const length = { 'content-length': String(signed.body.length) };
  const headers = { ...endpoint.headers, ...ours, ...length };
  const response = await parts.post({ url: endpoint.url, headers, body: signed.body });
  return {
    response,
    headers: { ...redactHeaders(endpoint.headers), ...ours },
    body: signed.body,
  };
}

type Sign = (content: Buffer, signing: Signing) => SignedRequest | Promise<SignedRequest>;

/** An event of a type that has an equivalent, without one itself, is done. */
function skipped(parts: Pick<AttemptParts, 'clock'>, { format }: Endpoint): Sent {
  const note = `Not sent: the format ${format} has no equivalent of this event.`;
  return { ...notSent(parts, null), note };
}

function notSent({ clock }: Pick<AttemptParts, 'clock'>, error: string | null): Sent {
  const none = { status: null, body: null, retryAfterMs: undefined };
  return { response: { startedAtMs: clock.now(), durationMs: 0, ...none, error }, headers: {} };
}
