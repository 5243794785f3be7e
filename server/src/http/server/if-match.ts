import type { FastifyRequest } from 'fastify';
import { RefusedError } from '../../lib/refused-error.ts';

/** RFC 9110, section 13.1.1: any state (`*`), or one of these tags. */
const TAG = '(?:W/)?"[!\\x23-\\x7e\\x80-\\xff]*"';
const TAGS = new RegExp(`^\\s*${TAG}(?:\\s*,\\s*${TAG})*\\s*$`);

/**
 * The states in which the client wants its change done, by their tags; undefined where it names none.
 * A tag that a proxy made weak on the way, as it does when it packs an answer, is still the tag: it
 * names a state, not the bytes of an answer.
 */
export function readIfMatch({ headers }: FastifyRequest): readonly string[] | undefined {
  const given = headers['if-match'];
  if (given === undefined || given.trim() === '*') return undefined;
  if (given.length <= LENGTH_MAX && TAGS.test(given)) {
    return given.match(new RegExp(TAG, 'g'))?.map((tag) => tag.replace(/^W\//, ''));
  }
  const detail = 'If-Match takes the etag of an answer, with its quotes, or *.';
  throw new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'If-Match', code: 'invalid_format', detail }],
  });
}

const LENGTH_MAX = 1_000;
