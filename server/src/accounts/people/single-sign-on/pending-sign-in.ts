import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';
import { newSecret } from '../secret-token.ts';

/**
 * A sign-in that a browser has started at an identity provider. Its secret is kept in a cookie of that
 * browser and nowhere else. The state, the nonce and the PKCE verifier are derived from the secret, so a
 * response to another browser, or to another sign-in of this one, is worth nothing. Nothing is stored
 * until it is completed: anyone can start as many as they like.
 */
export interface PendingSignIn {
  workspaceId: string;
  /** The path below /app to open afterwards. */
  next: string;
  endsAtMs: number;
  secret: string;
}

/** The values that the provider sees. */
export interface PendingValues {
  state: string;
  nonce: string;
  codeVerifier: string;
  codeChallenge: string;
}

export const PENDING_MS = 10 * 60 * 1000;

export function valuesOf({ secret }: Pick<PendingSignIn, 'secret'>): PendingValues {
  const codeVerifier = derive(secret, 'code verifier');
  return {
    state: derive(secret, 'state'),
    nonce: derive(secret, 'nonce'),
    codeVerifier,
    codeChallenge: hash('sha256', codeVerifier, 'base64url'),
  };
}

function derive(secret: string, purpose: string): string {
  return createHmac('sha256', secret).update(purpose).digest('base64url');
}

/** Writes and reads the cookie. It is signed, so that a browser cannot extend it. */
export class PendingSignIns {
  readonly #key: Buffer;

  constructor(secretKey: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'pending sign-ins', 32));
  }

  start(
    workspaceId: string,
    next: string,
    nowMs: number,
  ): { pending: PendingSignIn; text: string } {
    const pending = { workspaceId, next, endsAtMs: nowMs + PENDING_MS, secret: newSecret() };
    const body = Buffer.from(JSON.stringify(pending)).toString('base64url');
    return { pending, text: `${body}.${this.#sign(body)}` };
  }

  /** Undefined if the text is not ours. It may have expired. */
  read(text: string): PendingSignIn | undefined {
    const [body = '', signature = ''] = text.split('.', 2);
    const given = Buffer.from(signature);
    const right = Buffer.from(this.#sign(body));
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    return JSON.parse(Buffer.from(body, 'base64url').toString()) as PendingSignIn;
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url');
  }
}
