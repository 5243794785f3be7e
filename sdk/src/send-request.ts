import { PostriderConnectionError, PostriderError, type Problem } from './errors.ts';
import type { Method } from './operations.ts';
import { type Time, timerMs } from './time.ts';

/**
 * Sends one request, with retries. Takes a request with its final bytes; returns what `read` makes of
 * a 2xx response, or throws a PostriderError, a PostriderConnectionError or the reason of an abort.
 * All attempts are identical, including the idempotency key; only requests that are safe to repeat
 * are retried; attempts and waits are bounded unless `retryForever` is set.
 */
export interface PreparedRequest {
  method: Method;
  url: URL;
  /** The operation in error messages, with the path template, so that addresses stay out of logs. */
  operation: string;
  headers: Headers;
  body: string | Uint8Array<ArrayBuffer> | undefined;
  idempotencyKey: string | undefined;
  signal: AbortSignal | undefined;
  timeoutMs: number;
  maxRetries: number;
  /** Whether it may be retried when its outcome is unknown. */
  retryable: boolean;
  /** Whether to keep retrying for as long as the server is unavailable. */
  retryForever: boolean;
  /** Whether the body is read later; the signal then aborts that too. */
  streamed: boolean;
}

export interface Transport {
  fetch: typeof fetch;
  time: Time;
}

const BACKOFF_MS_MIN = 500;
const BACKOFF_MS_MAX = 8_000;
/** A longer wait is reported at once instead: a quota may last a day. */
const WAIT_MS_MAX = 60_000;

export async function sendRequest<T>(
  request: PreparedRequest,
  read: (response: Response) => Promise<T>,
  transport: Transport,
): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    const outcome = await attempt(request, read, attempts, transport);
    if ('result' in outcome) return outcome.result;
    const waitMs = delayBeforeRetry(request, outcome.failure, attempts, transport.time);
    if (waitMs === null) throw outcome.failure;
    await transport.time.wait(waitMs, request.signal);
  }
}

type Failure = PostriderError | PostriderConnectionError;

async function attempt<T>(
  request: PreparedRequest,
  read: (response: Response) => Promise<T>,
  attempts: number,
  { fetch, time }: Transport,
): Promise<{ result: T } | { failure: Failure }> {
  const { method, headers, body, signal, timeoutMs, operation, idempotencyKey } = request;
  signal?.throwIfAborted();
  // Not AbortSignal.any: some runtimes have garbage-collected combined signals too early.
  const end = new AbortController();
  const abort = () => end.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  let isStreaming = false;
  const onTimeout = () => end.abort(new Error(`timed out after ${timeoutMs} ms`));
  const timer = setTimeout(onTimeout, timerMs(timeoutMs));
  try {
    const response = await fetch(request.url, {
      method,
      headers,
      signal: end.signal,
      // A followed redirect would turn a POST into a GET.
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    });
    if (!response.ok) return { failure: await errorOf(response, request, time) };
    const result = await read(response);
    isStreaming = request.streamed;
    return { result };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PostriderError) return { failure: error };
    const { origin } = request.url;
    return {
      failure: new PostriderConnectionError(operation, error, { origin, attempts, idempotencyKey }),
    };
  } finally {
    clearTimeout(timer);
    if (!isStreaming) signal?.removeEventListener('abort', abort);
  }
}

/** Null: do not retry. */
function delayBeforeRetry(
  { maxRetries, retryable, retryForever }: PreparedRequest,
  failure: Failure,
  attempts: number,
  time: Time,
): number | null {
  if (!retryForever && attempts > maxRetries) return null;
  if (failure instanceof PostriderConnectionError) {
    if (!retryable) return null;
  } else if (!isTemporary(failure) && !(retryForever && failure.status >= 500)) return null;
  const backoffMs = Math.min(BACKOFF_MS_MIN * 2 ** (attempts - 1), BACKOFF_MS_MAX);
  const retryAfterMs = failure instanceof PostriderError ? failure.retryAfterMs : undefined;
  if (retryAfterMs !== undefined && retryAfterMs > WAIT_MS_MAX && !retryForever) return null;
  // Jitter: clients with the same Retry-After would otherwise all return at the same moment.
  return retryAfterMs === undefined
    ? backoffMs * (0.5 + time.random() / 2)
    : retryAfterMs + (backoffMs * time.random()) / 2;
}

/** Errors that mean: nothing was executed, retry later. */
function isTemporary({ status, code }: PostriderError): boolean {
  return status === 429 || status === 503 || code === 'idempotency_key_in_progress';
}

async function errorOf(response: Response, request: PreparedRequest, time: Time) {
  const problem = problemOf(await response.text()) ?? unexpectedResponse(response);
  return new PostriderError(request.operation, problem, {
    retryAfterMs: retryAfterMsOf(response, time),
    idempotencyKey: request.idempotencyKey,
  });
}

function problemOf(text: string): Problem | undefined {
  try {
    const body = JSON.parse(text) as Partial<Problem> | null;
    const { code, detail, status, errors = [] } = body ?? {};
    const isOurs =
      [code, detail].every((one) => typeof one === 'string') &&
      typeof status === 'number' &&
      Array.isArray(errors);
    return isOurs ? (body as Problem) : undefined;
  } catch {
    return undefined;
  }
}

/** Describes a response that Postrider did not write: a proxy's error page, or another server. */
export function unexpectedResponse(response: Response): Problem {
  const type = response.headers.get('content-type') ?? 'no content type';
  return {
    type: 'about:blank',
    title: 'The response is not from Postrider',
    status: response.status,
    code: 'unexpected_response',
    detail: `The response has status ${response.status} and ${type}, and is not from Postrider.`,
    fix: 'Check that baseUrl is the URL of Postrider, and check any proxy in front of it.',
    request_id: response.headers.get('x-request-id') ?? '',
  };
}

/** Seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMsOf(response: Response, time: Time): number | undefined {
  const value = response.headers.get('retry-after');
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - time.nowMs();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
