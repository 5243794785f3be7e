import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

/**
 * Codes of authenticator apps: RFC 6238 with the parameters that all apps support (SHA-1, six
 * digits, 30 seconds), and recovery codes for a lost phone.
 */

const STEP_MS = 30_000;
const DIGITS = 6;
/** RFC 4226 section 4 requires at least 128 bits and recommends 160. */
const SECRET_BYTES = 20;
/** Tolerates a clock that is off by half a minute, or a code typed at the last moment. */
const STEP_TOLERANCE = 1;

export function newTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/**
 * The time step of a code, or undefined. Steps up to `lastStep` are used up: a code that was
 * observed does not work again (RFC 6238 section 5.2).
 */
export function stepOfCode(
  secret: Buffer,
  code: string,
  nowMs: number,
  lastStep: number | null,
): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const given = Buffer.from(code);
  const now = Math.floor(nowMs / STEP_MS);
  for (let step = now - STEP_TOLERANCE; step <= now + STEP_TOLERANCE; step++) {
    if (lastStep !== null && step <= lastStep) continue;
    if (timingSafeEqual(Buffer.from(codeOfStep(secret, step)), given)) return step;
  }
  return undefined;
}

/** The code that an authenticator app shows at this time. */
export function codeAt(secret: Buffer, nowMs: number): string {
  return codeOfStep(secret, Math.floor(nowMs / STEP_MS));
}

function codeOfStep(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest[digest.length - 1] as number) & 15;
  const number = digest.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

/** The key URI that authenticator apps read from a QR code. */
export function totpUri(secret: Buffer, email: string, issuer: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}`;
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648 base32 without padding, as apps expect it. */
export function base32(bytes: Buffer): string {
  let bits = 0;
  let value = 0;
  let text = '';
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32[(value >>> bits) & 31];
    }
    value &= 0xff;
  }
  if (bits > 0) text += BASE32[(value << (5 - bits)) & 31];
  return text;
}

const RECOVERY_CODES = 10;
/** Letters and digits that cannot be confused. */
const UNAMBIGUOUS_CHARACTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Such as `h7k2-m9xw-4tpa-c3ne`: 79 bits, too many to recover from a stolen hash. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    grouped(
      Array.from(
        { length: 16 },
        () => UNAMBIGUOUS_CHARACTERS[randomInt(UNAMBIGUOUS_CHARACTERS.length)],
      ).join(''),
    ),
  );
}

/** Normalizes a code, however it was typed. */
export function recoveryCodeOf(typed: string): string | undefined {
  const characters = typed.toLowerCase().replaceAll(/[\s-]/g, '');
  return /^[a-z2-9]{16}$/.test(characters) ? grouped(characters) : undefined;
}

function grouped(characters: string): string {
  return characters.match(/.{4}/g)?.join('-') ?? '';
}
