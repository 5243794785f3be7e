import { RefusedError } from '../../lib/refused-error.ts';

/** Reads the API key from an Authorization header; '' means that there is none. */
export function bearerToken(header: string): string {
  if (header === '') {
    throw new RefusedError('missing_api_key', 'The request has no Authorization header.');
  }
  const match = /^Bearer +([^ ]+) *$/i.exec(header);
  if (!match) {
    const detail = 'The Authorization header must be "Bearer <API key>".';
    throw new RefusedError('missing_api_key', detail);
  }
  return match[1] as string;
}
