import { isUtf8 } from 'node:buffer';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';

/**
 * Parses JSON request bodies and rejects what would cause harm later: invalid UTF-8, nesting
 * deep enough to exhaust the stack, NUL and lone surrogates, which PostgreSQL cannot store, and
 * `__proto__` keys.
 */

const DEPTH_MAX = 64;
const SMALL_BYTES_MAX = 256 * 1024;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/** An object or array costs about ten times as much time and memory as another value. */
const CONTAINER_WEIGHT = 10;
/** A name that has not occurred before, or in another order, takes microseconds and hundreds of bytes. */
const NAME_WEIGHT = 8;
/** Half a million objects or names, or five million numbers. */
const WEIGHT_MAX = 5_000_000;

export interface JsonBody {
  value: unknown;
  /** Text that cannot be stored. It is reported together with the other errors of the body. */
  textErrors: readonly FieldError[];
}

const NO_ERRORS: readonly FieldError[] = [];

export function parseJsonBody(body: Buffer): JsonBody {
  if (!isUtf8(body)) throw malformed('The body is not valid UTF-8.');
  // Endless brackets would take seconds to parse and fifty times their size in memory, so a large
  // body is scanned first. A small body is harmless, and its parsed value is faster to check.
  const isLarge = body.length > SMALL_BYTES_MAX;
  if (isLarge) checkStructure(body);
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(`The body is not valid JSON: ${error instanceof Error ? error.message : ''}`);
  }
  if (!isLarge && mayBeDeep(text) && isDeeperThan(value, DEPTH_MAX)) throw tooDeep();
  // These characters can only come from escapes, so bodies without escapes are not searched.
  const suspect = text.includes('\\u') || text.includes('__proto__');
  return { value, textErrors: suspect ? findUnsafeText(value) : NO_ERRORS };
}

function malformed(detail: string): RefusedError {
  // V8 quotes part of the body in its message, which is safe: it is the client's own.
  return new RefusedError('malformed_json', detail.slice(0, 300));
}

function tooDeep(): RefusedError {
  return malformed(`The body is nested more than ${DEPTH_MAX} levels deep.`);
}

/** Whether enough brackets open. Counting them is a tenth of the cost of visiting a parsed value. */
function mayBeDeep(text: string): boolean {
  let opened = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      opened += 1;
      if (opened > DEPTH_MAX) return true;
    }
  }
  return false;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (levels === 0) return true;
  // Recursion is limited to DEPTH_MAX. A parsed value has only own properties.
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key];
    if (typeof inner === 'object' && isDeeperThan(inner, levels - 1)) return true;
  }
  return false;
}

/** Skips strings with a native search, so that large HTML costs almost nothing. */
function checkStructure(body: Buffer): void {
  let depth = 0;
  let weight = 0;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i] as number;
    if (byte === QUOTE) {
      i = endOfString(body, i);
    } else if (byte === COMMA) {
      weight += 1;
    } else if (byte === COLON) {
      weight += NAME_WEIGHT;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      weight += CONTAINER_WEIGHT;
      if (depth > DEPTH_MAX) throw tooDeep();
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    }
    if (weight > WEIGHT_MAX) {
      const detail = 'The body contains too many values. Split it into several requests.';
      throw new RefusedError('body_too_large', detail);
    }
  }
}

function endOfString(body: Buffer, start: number): number {
  for (let end = body.indexOf(QUOTE, start + 1); end !== -1; end = body.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (body[end - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return body.length;
}

/** Throws when a name is unsafe, because such an object must not be processed at all. */
function findUnsafeText(value: unknown): FieldError[] {
  const errors: FieldError[] = [];
  collectUnsafeText(value, '', errors);
  if (errors.some(({ code }) => code === 'invalid_name')) {
    throw new RefusedError('validation_failed', 'Some fields contain text that is not allowed.', {
      errors,
    });
  }
  return errors;
}

function collectUnsafeText(value: unknown, pointer: string, errors: FieldError[]): void {
  if (errors.length >= 100) return;
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      const detail = 'Text must not contain NUL or lone surrogates.';
      errors.push({ pointer, code: 'invalid_text', detail });
    }
  } else if (Array.isArray(value)) {
    value.forEach((inner, index) => {
      collectUnsafeText(inner, `${pointer}/${index}`, errors);
    });
  } else if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      const below = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (key === '__proto__' || key.includes('\0') || !key.isWellFormed()) {
        errors.push({
          pointer: below.toWellFormed(),
          code: 'invalid_name',
          detail: 'This name is not allowed.',
        });
      } else {
        collectUnsafeText(inner, below, errors);
      }
    }
  }
}
