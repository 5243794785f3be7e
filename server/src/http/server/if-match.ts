import type { FastifyRequest } from 'fastify';
import { RefusedError } from '../../lib/refused-error.ts';

/** RFC 9110, section 13.1.1: `*`, or a list of entity tags. */
const TAG = '(?:W/)?"[!\\x23-\\x7e\\x80-\\xff]*"';
const TAGS = new RegExp(`^\\s*${TAG}(?:\\s*,\\s*${TAG})*\\s*$`);

/**
 * Reads the entity tags of If-Match; undefined if the header is absent or `*`. Weak tags are
 * accepted: a proxy that compresses a response weakens its tag, and ours identify a state, not
 * the bytes of a response.
 */
export function readIfMatch({ headers }: FastifyRequest): readonly string[] | undefined {
  const given = headers['if-match'];
  if (given === undefined || given.trim() === '*') return undefined;
  if (given.length <= LENGTH_MAX && TAGS.test(given)) {
    return given.match(new RegExp(TAG, 'g'))?.map((tag) => tag.replace(/^W\//, ''));
  }
  const detail = 'If-Match must be the quoted etag of a response, or *.';
  throw new RefusedError('validation_failed', detail, {
    errors: [{ parameter: 'If-Match', code: 'invalid_format', detail }],
  });
}

const LENGTH_MAX = 1_000;
