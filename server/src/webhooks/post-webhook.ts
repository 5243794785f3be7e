import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { plainWords } from './plain-words.ts';
import { parseRetryAfter } from './retry-schedule.ts';
import { type TargetGuard, TargetRefusedError } from './target-guard.ts';
import { hostOf } from './target-url.ts';

/**
 * One try: a signed body goes out, what came back is told as a value; it never throws. The other
 * side decides neither how long it takes nor how much is read, and is never followed elsewhere.
 */
export interface Posting {
  url: URL;
  headers: Record<string, string>;
  body: Buffer;
}

export interface Posted {
  startedAtMs: number;
  durationMs: number;
  /** Null when there was no answer. */
  status: number | null;
  /** The first bytes of the answer, as text. */
  answer: string | null;
  /** What went wrong, in plain words; null for a success. */
  error: string | null;
  retryAfterMs: number | undefined;
}

export type PostWebhook = (posting: Posting) => Promise<Posted>;

export interface PosterParts {
  clock: Clock;
  guard: TargetGuard;
  deadlineMs?: number;
  /** Besides the public authorities: where the other side is ours. */
  ca?: string;
}

export interface Poster {
  post: PostWebhook;
  /** Closes connections that are kept for the next try. */
  close(): void;
}

const DEADLINE_MS = 15_000;
/** The status is what counts: after it, the rest of an answer gets only this long, within the deadline. */
const ANSWER_TAIL_MS = 2_000;
const ANSWER_KEPT_BYTES = 4 * 1024;
/** A longer answer costs its sender the connection. */
const ANSWER_READ_BYTES_MAX = 64 * 1024;
const IDLE_CONNECTION_MS = 20_000;

export function createPoster(parts: PosterParts): Poster {
  const { clock, guard, deadlineMs = DEADLINE_MS } = parts;
  const shared = {
    keepAlive: true,
    maxFreeSockets: 16,
    scheduling: 'lifo',
    timeout: IDLE_CONNECTION_MS,
    lookup: guard.lookup,
  } as const;
  const agents = {
    'http:': new http.Agent(shared),
    'https:': new https.Agent({ ...shared, ...(parts.ca === undefined ? {} : { ca: parts.ca }) }),
  };

  async function post(posting: Posting): Promise<Posted> {
    const startedAtMs = clock.now();
    const host = hostOf(posting.url);
    const sent =
      isIP(host) !== 0 && !guard.allowed(host)
        ? { error: new TargetRefusedError(host) }
        : await send(posting, agents, { clock, deadlineMs });
    const durationMs = clock.now() - startedAtMs;
    if ('error' in sent) {
      const error = plainWords(sent.error, posting.url, deadlineMs);
      const none = { status: null, answer: null, retryAfterMs: undefined };
      return { startedAtMs, durationMs, ...none, error };
    }
    const { status, retryAfter } = sent;
    return {
      startedAtMs,
      durationMs,
      status,
      answer: textOf(sent.body),
      error: status >= 200 && status < 300 ? null : statusWords(status),
      retryAfterMs: parseRetryAfter(retryAfter, clock.now()),
    };
  }

  return {
    post,
    close() {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

type Sent = { status: number; retryAfter: string | undefined; body: Buffer } | { error: Error };

interface Agents {
  'http:': http.Agent;
  'https:': https.Agent;
}

function send(
  posting: Posting,
  agents: Agents,
  limits: { clock: Clock; deadlineMs: number },
): Promise<Sent> {
  const { clock, deadlineMs } = limits;
  return new Promise((resolve) => {
    let ended = false;
    const endsAtMs = clock.now() + deadlineMs;
    let timer = clock.after(deadlineMs, () => end({ error: new DeadlineError() }));
    let request = begin();

    function begin(): http.ClientRequest {
      const { url } = posting;
      const secure = url.protocol === 'https:';
      const started = (secure ? https : http).request(url, {
        method: 'POST',
        agent: agents[secure ? 'https:' : 'http:'],
        headers: posting.headers,
      });
      let answered = false;
      started.on('error', (error: NodeJS.ErrnoException) => {
        if (ended || answered) return;
        // The other side had closed the kept connection just before: nothing was wrong with this try.
        if (started.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) {
          request = begin();
          return;
        }
        end({ error });
      });
      started.on('response', (response) => {
        answered = true;
        timer.cancel();
        read(response);
      });
      // Without a listener nothing would be told at all, and the try last until its deadline.
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
      timer = clock.after(Math.min(ANSWER_TAIL_MS, endsAtMs - clock.now()), finish);
      response.on('data', (chunk: Buffer) => {
        readBytes += chunk.length;
        const room = ANSWER_KEPT_BYTES - keptBytes;
        if (room > 0) chunks.push(chunk.subarray(0, room));
        keptBytes += Math.min(room, chunk.length);
        if (readBytes > ANSWER_READ_BYTES_MAX) finish();
      });
      response.on('end', finish);
      response.on('error', finish);
      response.on('close', finish);
    }

    function end(sent: Sent): void {
      if (ended) return;
      ended = true;
      timer.cancel();
      // After a whole answer this does nothing: its connection is already kept for the next.
      request.destroy();
      resolve(sent);
    }
  });
}

export class DeadlineError extends Error {
  readonly code = 'DEADLINE';
}

/** PostgreSQL's text holds any character but NUL. */
function textOf(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '');
}

function statusWords(status: number): string {
  if (status === 410) return 'The receiver says that the endpoint is gone for good (410).';
  if (status >= 300 && status < 400) {
    return `The receiver answered with a redirect (${status}). Redirects are not followed: give the final address.`;
  }
  return `The receiver answered ${status}. Only 2xx counts as received.`;
}
