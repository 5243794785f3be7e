/** What other modules that sends refer to may know about streams: the form of a key, and which exist. */

export const STREAM_KEY_PATTERN = '^[a-z0-9][a-z0-9_-]{0,63}$';

export const STREAM_KEY_RULE =
  'A stream key has up to 64 lowercase letters, digits, hyphens and underscores, and starts with a letter or digit.';

const STREAM_KEY = new RegExp(STREAM_KEY_PATTERN);

export function isStreamKey(text: string): boolean {
  return STREAM_KEY.test(text);
}

export { streamExists } from './stream-store.ts';
