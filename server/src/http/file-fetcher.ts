import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Mode } from '../accounts/tenant-scope.ts';
import type { MemoryBudget } from '../lib/memory/memory-budget.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { TargetGuard } from '../webhooks/requests/target-guard.ts';
import { hostOf, parseTarget, type TargetRules } from '../webhooks/requests/target-url.ts';

/**
 * Fetches files that a request names by URL, when the operator allows it. A tenant chooses the URL and
 * our server connects to it, so everything that protects webhooks applies: the spelling of the URL, the
 * ports, and the addresses that a name resolves to. Redirects are not followed. Time, size, memory and
 * concurrency are limited.
 */

export interface FetchRequest {
  url: string;
  /** Whose memory and connections are used. */
  owner: { workspaceId: string; mode: Mode };
  bytesMax: number;
  /** Aborts when the client of the request disconnects, and ends the reservation of memory. */
  signal: AbortSignal;
}

/** Why a file was not fetched, as a sentence for the sender. */
export class FetchError extends Error {}

export type FetchFile = (request: FetchRequest) => Promise<Buffer>;

const DEADLINE_MS = 10_000;
const WORKSPACE_CONCURRENCY_MAX = 4;
const CONCURRENCY_MAX = 64;

export function createFileFetcher(parts: {
  guard: TargetGuard;
  rules: TargetRules;
  memory: MemoryBudget;
}): FetchFile {
  const { guard, rules, memory } = parts;
  const running = new Map<string, number>();
  let total = 0;

  return async ({ url: text, owner, bytesMax, signal }) => {
    const { workspaceId, mode } = owner;
    const target = parseTarget(text, mode, rules);
    if (!target.ok) throw new FetchError(target.detail);
    const host = hostOf(target.url);
    if (isIP(host) !== 0 && !guard.allowed(host)) throw privateAddress(host);
    const own = running.get(workspaceId) ?? 0;
    if (own >= WORKSPACE_CONCURRENCY_MAX || total >= CONCURRENCY_MAX) {
      const detail = 'Too many attachments are being fetched right now. Nothing was accepted.';
      throw new RefusedError('overloaded', detail, { retryAfterSeconds: 1 });
    }
    running.set(workspaceId, own + 1);
    total += 1;
    const reserved = memory.reserve(workspaceId);
    if (signal.aborted) reserved.release();
    else signal.addEventListener('abort', reserved.release, { once: true });
    try {
      return await get(target.url, guard, signal, (bytes, chunk) => {
        if (bytes > bytesMax) throw new FetchError('The files are too large for a message.');
        if (reserved.tryGrow(chunk)) return;
        const detail = 'Too many large requests are being received right now.';
        throw new RefusedError('overloaded', detail, { retryAfterSeconds: 1 });
      });
    } finally {
      total -= 1;
      const left = (running.get(workspaceId) ?? 1) - 1;
      if (left === 0) running.delete(workspaceId);
      else running.set(workspaceId, left);
    }
  };
}

function get(
  url: URL,
  guard: TargetGuard,
  client: AbortSignal,
  onBytes: (bytes: number, chunk: number) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.any([client, AbortSignal.timeout(DEADLINE_MS)]);
    // A connection of its own: the next file is most likely elsewhere.
    const options = { lookup: guard.lookup, agent: false, signal } as const;
    const request = (url.protocol === 'https:' ? https : http).get(url, options);
    const fail = (error: Error): void => {
      request.destroy();
      reject(describe(error, signal));
    };
    request.on('error', fail);
    request.on('upgrade', () => fail(new FetchError('The server did not respond with a file.')));
    request.on('response', (response) => {
      const { statusCode = 0 } = response;
      if (statusCode !== 200) {
        fail(new FetchError(`The server responded with status ${statusCode}.`));
        return;
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        try {
          onBytes(bytes, chunk.length);
        } catch (error) {
          fail(error as Error);
        }
      });
      response.on('error', fail);
      response.on('end', () => {
        if (response.complete) resolve(Buffer.concat(chunks));
        else fail(new FetchError('The connection closed before the file was complete.'));
      });
    });
  });
}

function describe(error: Error & { code?: string }, signal: AbortSignal): Error {
  if (error instanceof FetchError || error instanceof RefusedError) return error;
  if (signal.aborted) return new FetchError('The file did not arrive in time.');
  if (error.code === 'TARGET_REFUSED') return privateAddress();
  return new FetchError('The server cannot be reached.');
}

function privateAddress(host = 'The host'): FetchError {
  return new FetchError(`${host} is in a private network, from which nothing is fetched.`);
}
