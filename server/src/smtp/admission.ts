import type { Authenticator } from '../accounts/authenticate.ts';
import type { Caller } from '../accounts/caller.ts';
import type { RateLimiter } from '../accounts/rate-limit.ts';
import { type Clock, pause } from '../lib/clock.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { WrongKeys } from './wrong-keys.ts';

/**
 * Who is it, may they, and not too often: the checks of the HTTP door, with the same parts. The key
 * comes once, at AUTH, but it is asked for anew with every message: one that was revoked meanwhile,
 * or has run out, sends nothing more.
 */

export interface AdmissionParts {
  authenticator: Pick<Authenticator, 'authenticate'>;
  rateLimiter: RateLimiter;
  wrongKeys: WrongKeys;
  clock: Clock;
}

/** A client that has shown its key. The key stays in here: what prints a session must not show it. */
export class Visit {
  readonly ip: string;
  readonly #key: string;

  constructor(key: string, ip: string) {
    this.#key = key;
    this.ip = ip;
  }

  async caller({ authenticator }: Pick<AdmissionParts, 'authenticator'>): Promise<Caller> {
    const caller = await authenticator.authenticate(this.#key, this.ip);
    if (caller.scopes.has('send:transactional')) return caller;
    const has = caller.scopes.size === 0 ? 'no scope' : [...caller.scopes].join(', ');
    const detail = `This key has ${has}. Sending needs send:transactional.`;
    throw new RefusedError('insufficient_scope', detail);
  }
}

export async function login(parts: AdmissionParts, key: string, ip: string): Promise<Visit> {
  const beganAtMs = parts.clock.now();
  const visit = new Visit(key, ip);
  try {
    await visit.caller(parts);
    return visit;
  } catch (error) {
    if (error instanceof RefusedError) {
      const waitMs = parts.wrongKeys.waitMsFor(ip);
      await pause(parts.clock, beganAtMs + waitMs - parts.clock.now());
    }
    throw error;
  }
}

/** For one message. It counts against the workspace's rate like a request. */
export async function admitMessage(parts: AdmissionParts, visit: Visit): Promise<Caller> {
  const caller = await visit.caller(parts);
  const { allowed, retryAfterSeconds } = parts.rateLimiter.take(caller.workspaceId);
  if (allowed) return caller;
  const detail = `The workspace may make ${parts.rateLimiter.perSecond} requests a second. Try again in ${retryAfterSeconds} s.`;
  throw new RefusedError('rate_limited', detail, { retryAfterSeconds });
}
