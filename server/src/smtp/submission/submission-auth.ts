import type { Authenticator } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/caller.ts';
import type { RateLimiter } from '../../accounts/rate-limit.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { AuthThrottle } from './auth-throttle.ts';

/**
 * Who is it, may they, and not too often: the checks of the HTTP door, with the same parts. The key
 * comes once, at AUTH, but it is asked for anew with every message: one that was revoked meanwhile,
 * or has run out, sends nothing more.
 */

export interface SubmissionAuthParts {
  authenticator: Pick<Authenticator, 'authenticate'>;
  rateLimiter: RateLimiter;
  authThrottle: AuthThrottle;
  clock: Clock;
}

/** A client that has shown its key. The key stays in here: what prints a session must not show it. */
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
    const has = caller.scopes.size === 0 ? 'no scope' : [...caller.scopes].join(', ');
    const detail = `This key has ${has}. Sending needs send:transactional.`;
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
    if (error instanceof RefusedError) {
      const waitMs = parts.authThrottle.recordFailure(ip);
      await pause(parts.clock, beganAtMs + waitMs - parts.clock.now());
    }
    throw error;
  }
}

/** For one message. It counts against the workspace's rate like a request. */
export async function authorizeMessage(
  parts: SubmissionAuthParts,
  client: AuthenticatedClient,
): Promise<Caller> {
  const caller = await client.authorize(parts);
  const { allowed, retryAfterSeconds } = parts.rateLimiter.take(caller.workspaceId);
  if (allowed) return caller;
  const detail = `The workspace may make ${parts.rateLimiter.perSecond} requests a second. Try again in ${retryAfterSeconds} s.`;
  throw new RefusedError('rate_limited', detail, { retryAfterSeconds });
}
