import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Clock } from '../../lib/time/clock.ts';
import { parseRetryAfter } from '../dispatch/webhook-retry-schedule.ts';
import { type TargetGuard, TargetRefusedError } from './target-guard.ts';
import { hostOf } from './target-url.ts';
import { WebhookConnections } from './webhook-connections.ts';
import { webhookErrorText } from './webhook-error-text.ts';

/**
 * Sends one signed request and returns the result as a value; it never throws. The receiver
 * controls neither how long it takes nor how much is read, and redirects are not followed.
 */
export interface WebhookRequest {
  url: URL;
  headers: Record<string, string>;
  body: Buffer;
}

export interface WebhookResponse {
  startedAtMs: number;
  durationMs: number;
  /** Null when there was no response. */
  status: number | null;
  /** The first bytes of the response body, as text. */
  body: string | null;
  /** The error shown to the owner; null on success. */
  error: string | null;
  retryAfterMs: number | undefined;
}

export type PostWebhook = (posting: WebhookRequest) => Promise<WebhookResponse>;

export interface WebhookClientParts {
  clock: Clock;
  guard: TargetGuard;
  deadlineMs?: number;
  /** An additional certificate authority, for tests. */
  ca?: string;
}

export interface WebhookClient {
  post: PostWebhook;
  /** Closes all connections. */
  close(): void;
}

const DEADLINE_MS = 15_000;
/** The status decides. After it, the rest of the body gets only this long, within the deadline. */
const BODY_TIMEOUT_MS = 2_000;
const BODY_KEPT_BYTES = 4 * 1024;
/** A longer response costs the receiver the connection. */
const BODY_READ_BYTES_MAX = 64 * 1024;

export function createWebhookClient(parts: WebhookClientParts): WebhookClient {
  const { clock, guard, deadlineMs = DEADLINE_MS } = parts;
  const connections = new WebhookConnections({ lookup: guard.lookup, ca: parts.ca });
  const targets = new WeakMap<URL, Target>();

  function targetOf(url: URL): Target {
    let target = targets.get(url);
    if (!target) {
      const host = hostOf(url);
      target = {
        request: url.protocol === 'https:' ? https.request : http.request,
        origin: url.origin,
        host: url.host,
        path: url.pathname + url.search,
        refusedAddress: isIP(host) !== 0 && !guard.allowed(host) ? host : undefined,
      };
      targets.set(url, target);
    }
    return target;
  }

  async function post(posting: WebhookRequest): Promise<WebhookResponse> {
    const startedAtMs = clock.now();
    const target = targetOf(posting.url);
    const sent =
      target.refusedAddress === undefined
        ? await send(posting, target, { connections, clock, deadlineMs })
        : { error: new TargetRefusedError(target.refusedAddress) };
    const durationMs = clock.now() - startedAtMs;
    if ('error' in sent) {
      const error = webhookErrorText(sent.error, posting.url, deadlineMs);
      const none = { status: null, body: null, retryAfterMs: undefined };
      return { startedAtMs, durationMs, ...none, error };
    }
    const { status, retryAfter } = sent;
    return {
      startedAtMs,
      durationMs,
      status,
      body: textOf(sent.body),
      error: status >= 200 && status < 300 ? null : statusText(status),
      retryAfterMs: parseRetryAfter(retryAfter, clock.now()),
    };
  }

  return {
    post,
    close: () => connections.close(),
  };
}

/** What requests need of the URL of an endpoint. Reading it from the URL each time takes 15 µs. */
interface Target {
  request: typeof http.request;
  origin: string;
  /** With the port. */
  host: string;
  path: string;
  /** The address in the URL, if webhooks may not reach it. */
  refusedAddress: string | undefined;
}

type RawResponse =
  | { status: number; retryAfter: string | undefined; body: Buffer }
  | { error: Error };

function send(
  posting: WebhookRequest,
  target: Target,
  parts: { connections: WebhookConnections; clock: Clock; deadlineMs: number },
): Promise<RawResponse> {
  const { connections, clock, deadlineMs } = parts;
  return new Promise((resolve) => {
    let ended = false;
    const endsAtMs = clock.now() + deadlineMs;
    let timer = clock.after(deadlineMs, () => end({ error: new DeadlineError() }));
    let request = begin();

    function begin(): http.ClientRequest {
      const started = target.request({
        method: 'POST',
        path: target.path,
        agent: connections.agentFor(target.origin),
        // A list is written as it is.
        setHost: false,
        headers: ['host', target.host, ...Object.entries(posting.headers).flat()],
      });
      let responded = false;
      started.on('error', (error: NodeJS.ErrnoException) => {
        if (ended || responded) return;
        // The receiver closed the idle connection just before: retry on a new one.
        if (started.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) {
          request = begin();
          return;
        }
        end({ error });
      });
      started.on('response', (response) => {
        responded = true;
        timer.cancel();
        read(response);
      });
      // Without a listener an upgrade would not be reported, and the attempt would last until its
      // deadline.
      started.on('upgrade', ({ statusCode = 0 }) =>
        end({ status: statusCode, retryAfter: undefined, body: Buffer.alloc(0) }),
      );
      started.end(posting.body);
      return started;
    }

    function read(response: http.IncomingMessage): void {
      const chunks: Buffer[] = [];
      let keptBytes = 0;
      let readBytes = 0;
      const finish = (): void =>
        end({
          status: response.statusCode ?? 0,
          retryAfter: response.headers['retry-after'],
          body: Buffer.concat(chunks),
        });
      timer = clock.after(Math.min(BODY_TIMEOUT_MS, endsAtMs - clock.now()), finish);
      response.on('data', (chunk: Buffer) => {
        readBytes += chunk.length;
        const remaining = BODY_KEPT_BYTES - keptBytes;
        if (remaining > 0) chunks.push(chunk.subarray(0, remaining));
        keptBytes += Math.min(remaining, chunk.length);
        if (readBytes > BODY_READ_BYTES_MAX) finish();
      });
      response.on('end', finish);
      response.on('error', finish);
      response.on('close', finish);
    }

    function end(sent: RawResponse): void {
      if (ended) return;
      ended = true;
      timer.cancel();
      // After a complete response this does nothing: the connection is already back in the pool.
      request.destroy();
      resolve(sent);
    }
  });
}

class DeadlineError extends Error {
  readonly code = 'DEADLINE';
}

/** PostgreSQL's text cannot store NUL. */
function textOf(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '');
}

function statusText(status: number): string {
  if (status === 410) return 'The endpoint is permanently gone (410).';
  if (status >= 300 && status < 400) {
    return `The endpoint responded with a redirect (${status}). Redirects are not followed; use the final URL.`;
  }
  return `The endpoint responded with status ${status}. Only 2xx counts as delivered.`;
}
