import { isUtf8 } from 'node:buffer';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';

/**
 * The one parser of JSON bodies. It refuses what would hurt later: wrong UTF-8, nesting that
 * recursion could drown in, NUL and half surrogates that the database cannot store, and the key
 * that would reach for a prototype.
 */

const DEPTH_MAX = 64;
const SMALL_BYTES_MAX = 256 * 1024;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function parseJsonBody(body: Buffer): unknown {
  if (!isUtf8(body)) throw malformed('The body is not valid UTF-8.');
  // Parsing brackets without end would take fifty times their memory, so a large body is looked
  // through first. What a small one becomes is harmless, and quicker to look through itself.
  const isLarge = body.length > SMALL_BYTES_MAX;
  if (isLarge && nestingDepth(body) > DEPTH_MAX) throw tooDeep();
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(`The body is not valid JSON: ${error instanceof Error ? error.message : ''}`);
  }
  if (!isLarge && isDeeperThan(value, DEPTH_MAX)) throw tooDeep();
  // Only an escape can bring these in, so bodies without one are not walked.
  if (text.includes('\\u') || text.includes('__proto__')) rejectUnsafeText(value);
  return value;
}

function malformed(detail: string): RefusedError {
  // V8 quotes a piece of the body in its message: an answer may say so, it is the caller's own.
  return new RefusedError('malformed_json', detail.slice(0, 300));
}

function tooDeep(): RefusedError {
  return malformed(`The body is nested more than ${DEPTH_MAX} levels deep.`);
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (levels === 0) return true;
  // Recursion ends at DEPTH_MAX, however deep the value is. What was parsed has own properties only.
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key];
    if (typeof inner === 'object' && isDeeperThan(inner, levels - 1)) return true;
  }
  return false;
}

/** Strings are jumped over with native search: large html costs next to nothing. */
function nestingDepth(body: Buffer): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i] as number;
    if (byte === QUOTE) {
      i = endOfString(body, i);
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > deepest) deepest = depth;
      if (deepest > DEPTH_MAX) return deepest;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    }
  }
  return deepest;
}

function endOfString(body: Buffer, start: number): number {
  for (let end = body.indexOf(QUOTE, start + 1); end !== -1; end = body.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (body[end - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return body.length;
}

function rejectUnsafeText(value: unknown): void {
  const errors: FieldError[] = [];
  collectUnsafeText(value, '', errors);
  if (errors.length > 0) {
    throw new RefusedError('validation_failed', 'Some fields hold text that cannot be taken.', {
      errors,
    });
  }
}

function collectUnsafeText(value: unknown, pointer: string, errors: FieldError[]): void {
  if (errors.length >= 100) return;
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      const detail = 'NUL and half of a surrogate pair cannot stand in text.';
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
