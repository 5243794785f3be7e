import { RefusedError } from '../../lib/refused-error.ts';

const BEARER = 'Bearer ';

/** Reads the API key from an Authorization header; '' means that there is none. */
export function bearerToken(header: string): string {
  if (header === '') {
    throw new RefusedError('missing_api_key', 'The request has no Authorization header.');
  }
  // Nearly all headers are exactly this, and a regular expression takes several times as long.
  if (header.startsWith(BEARER) && header.indexOf(' ', BEARER.length) < 0 && header !== BEARER) {
    return header.slice(BEARER.length);
  }
  const match = /^Bearer +([^ ]+) *$/i.exec(header);
  if (!match) {
    const detail = /^Bearer *$/i.test(header)
      ? 'There is no API key after "Bearer". Check that the variable with the key is set.'
      : 'The Authorization header must be "Bearer <API key>".';
    throw new RefusedError('missing_api_key', detail);
  }
  return match[1] as string;
}
