import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Challenges for signing in with a passkey. Anyone can request one, so none is stored: a challenge
 * contains the time at which it ends and a signature of ours. Only used ones are recorded.
 */

export const CHALLENGE_MS = 5 * 60 * 1000;

const TIME_BYTES = 8;
const RANDOM_BYTES = 24;
const BODY_BYTES = TIME_BYTES + RANDOM_BYTES;

export class SignInChallenges {
  readonly #key: Buffer;

  constructor(secretKey: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'passkey challenges', 32));
  }

  create(nowMs: number): Buffer {
    const body = Buffer.alloc(BODY_BYTES);
    body.writeBigUInt64BE(BigInt(nowMs + CHALLENGE_MS));
    randomBytes(RANDOM_BYTES).copy(body, TIME_BYTES);
    return Buffer.concat([body, this.#sign(body)]);
  }

  /** When the challenge ends; undefined if it is not ours or has ended. */
  endOf(challenge: Buffer, nowMs: number): number | undefined {
    const body = challenge.subarray(0, BODY_BYTES);
    const signature = challenge.subarray(BODY_BYTES);
    if (body.length !== BODY_BYTES) return undefined;
    const right = this.#sign(body);
    if (signature.length !== right.length || !timingSafeEqual(signature, right)) return undefined;
    const endsAtMs = Number(body.readBigUInt64BE());
    return endsAtMs > nowMs ? endsAtMs : undefined;
  }

  #sign(body: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(body).digest();
  }
}
