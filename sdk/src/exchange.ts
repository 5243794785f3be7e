import { PostriderConnectionError, PostriderError, type Problem } from './errors.ts';
import type { Method } from './operations.ts';
import { type Time, timerMs } from './time.ts';

/**
 * One request and its repetitions. Comes in: a request whose bytes are settled. Leaves: what `read`
 * made of a 2xx answer, a PostriderError, a PostriderConnectionError, or the reason of an abort.
 * Promises that all tries are the same, key included, that only what is safe to repeat is repeated,
 * and that tries and waits are bounded, unless it is to be patient.
 */
export interface Exchange {
  method: Method;
  url: URL;
  /** Its name in errors, with the path's template: addresses stay out of logs. */
  operation: string;
  headers: Headers;
  body: string | Uint8Array<ArrayBuffer> | undefined;
  idempotencyKey: string | undefined;
  signal: AbortSignal | undefined;
  timeoutMs: number;
  retriesMax: number;
  /** Whether it may be sent again when nobody knows what became of it. */
  repeatable: boolean;
  /** Whether it waits for a server that is away, for as long as that takes. */
  patient: boolean;
  /** Whether the answer's body is read later: the signal then ends that too. */
  streamed: boolean;
}

export interface ExchangeParts {
  fetch: typeof fetch;
  time: Time;
}

const FIRST_WAIT_MS = 500;
const LONGEST_BACK_OFF_MS = 8_000;
/** Who is asked to wait longer than this is told so at once: a quota may be a day's. */
const WAIT_MS_MAX = 60_000;

export async function exchange<T>(
  request: Exchange,
  read: (response: Response) => Promise<T>,
  parts: ExchangeParts,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await tryOnce(request, read, tries, parts);
    if ('answer' in outcome) return outcome.answer;
    const waitMs = waitBeforeRepeating(request, outcome.failure, tries, parts.time);
    if (waitMs === null) throw outcome.failure;
    await parts.time.wait(waitMs, request.signal);
  }
}

type Failure = PostriderError | PostriderConnectionError;

async function tryOnce<T>(
  request: Exchange,
  read: (response: Response) => Promise<T>,
  tries: number,
  { fetch, time }: ExchangeParts,
): Promise<{ answer: T } | { failure: Failure }> {
  const { method, headers, body, signal, timeoutMs, operation, idempotencyKey } = request;
  signal?.throwIfAborted();
  // Not AbortSignal.any: runtimes have lost combined signals to their garbage collectors.
  const end = new AbortController();
  const abort = () => end.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  let isStreaming = false;
  const tooLate = () => end.abort(new Error(`${timeoutMs} ms were up`));
  const late = setTimeout(tooLate, timerMs(timeoutMs));
  try {
    const response = await fetch(request.url, {
      method,
      headers,
      signal: end.signal,
      // Followed, a POST would arrive as a GET.
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    });
    if (!response.ok) return { failure: await refusalOf(response, request, time) };
    const answer = await read(response);
    isStreaming = request.streamed;
    return { answer };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PostriderError) return { failure: error };
    return { failure: new PostriderConnectionError(operation, error, { tries, idempotencyKey }) };
  } finally {
    clearTimeout(late);
    if (!isStreaming) signal?.removeEventListener('abort', abort);
  }
}

/** Null: it is not repeated. */
function waitBeforeRepeating(
  { retriesMax, repeatable, patient }: Exchange,
  failure: Failure,
  tries: number,
  time: Time,
): number | null {
  if (!patient && tries > retriesMax) return null;
  if (failure instanceof PostriderConnectionError) {
    if (!repeatable) return null;
  } else if (!isForNow(failure) && !(patient && failure.status >= 500)) return null;
  const backOffMs = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_BACK_OFF_MS);
  const askedMs = failure instanceof PostriderError ? failure.retryAfterMs : undefined;
  if (askedMs !== undefined && askedMs > WAIT_MS_MAX && !patient) return null;
  // All who were asked to wait a second would otherwise come back in the same moment.
  return askedMs === undefined
    ? backOffMs * (0.5 + time.random() / 2)
    : askedMs + (backOffMs * time.random()) / 2;
}

/** Refusals that say: nothing was done, come again. */
function isForNow({ status, code }: PostriderError): boolean {
  return status === 429 || status === 503 || code === 'idempotency_key_in_progress';
}

async function refusalOf(response: Response, request: Exchange, time: Time) {
  const problem = problemOf(await response.text()) ?? notPostrider(response);
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

/** What an answer is that Postrider did not write: a proxy's page, or another server. */
export function notPostrider(response: Response): Problem {
  const type = response.headers.get('content-type') ?? 'no content type';
  return {
    type: 'about:blank',
    title: 'The answer is not one of Postrider',
    status: response.status,
    code: 'unexpected_answer',
    detail: `The answer has status ${response.status} and ${type}, and is not one of Postrider.`,
    fix: 'Check that baseUrl is the address of Postrider, and what stands in front of it.',
    request_id: response.headers.get('x-request-id') ?? '',
  };
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function retryAfterMsOf(response: Response, time: Time): number | undefined {
  const value = response.headers.get('retry-after');
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - time.nowMs();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
