import type { Authenticator } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/caller.ts';
import type { RateLimiter } from '../../accounts/rate-limit.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { type Clock, pause } from '../../lib/time/clock.ts';
import type { AuthThrottle } from './auth-throttle.ts';

/**
 * Authentication, authorization and rate limiting, with the same components as the HTTP API. The
 * API key is given once, at AUTH, but checked again for every message: a key that was revoked or
 * has expired since then cannot send.
 */

export interface SubmissionAuthParts {
  authenticator: Pick<Authenticator, 'authenticate'>;
  /** Undefined on a router: nodes limit what they receive from it. */
  rateLimiter: RateLimiter | undefined;
  authThrottle: AuthThrottle;
  clock: Clock;
}

/**
 * A client that has authenticated. The key is private so that logging a session cannot reveal it.
 */
export class AuthenticatedClient {
  readonly ip: string;
  readonly #key: string;

  constructor(key: string, ip: string) {
    this.#key = key;
    this.ip = ip;
  }

  async authorize({ authenticator }: Pick<SubmissionAuthParts, 'authenticator'>): Promise<Caller> {
    const caller = await authenticator.authenticate(this.#key, this.ip);
    if (caller.scopes.has('send:transactional')) return caller;
    const has = caller.scopes.size === 0 ? 'no scopes' : [...caller.scopes].join(', ');
    const detail = `This key has ${has}. Sending requires send:transactional.`;
    throw new RefusedError('insufficient_scope', detail);
  }
}

export async function authenticateClient(
  parts: SubmissionAuthParts,
  key: string,
  ip: string,
): Promise<AuthenticatedClient> {
  const beganAtMs = parts.clock.now();
  const client = new AuthenticatedClient(key, ip);
  try {
    await client.authorize(parts);
    return client;
  } catch (error) {
    // The key of a workspace that is moving is not a wrong one.
    if (error instanceof RefusedError && error.code !== 'storage_unavailable') {
      const waitMs = parts.authThrottle.recordFailure(ip);
      await pause(parts.clock, beganAtMs + waitMs - parts.clock.now());
    }
    throw error;
  }
}

/**
 * Checks the key for one message, which counts against the workspace's rate limit like a request.
 */
export async function authorizeMessage(
  parts: SubmissionAuthParts,
  client: AuthenticatedClient,
): Promise<Caller> {
  const caller = await client.authorize(parts);
  const { rateLimiter } = parts;
  if (!rateLimiter) return caller;
  const { allowed, retryAfterSeconds } = rateLimiter.take(caller.workspaceId);
  if (allowed) return caller;
  const { perSecond } = rateLimiter.limitOf(caller.workspaceId);
  const detail = `The workspace is limited to ${perSecond} requests per second. Try again in ${retryAfterSeconds} s.`;
  throw new RefusedError('rate_limited', detail, { retryAfterSeconds });
}
