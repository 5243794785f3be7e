import { isStorageGone } from '../db/storage-gone.ts';
import { RefusedError } from '../lib/refused-error.ts';

/**
 * The one place that knows what a refusal is called in SMTP: reply code, enhanced status code
 * (RFC 3463) and the problem's own sentence, on one line of ASCII whatever was put into it.
 */
export class SmtpReply extends Error {
  /** The name under which the protocol library looks for it. */
  readonly responseCode: number;

  constructor(code: number, status: string, text: string) {
    super(`${status} ${oneLine(text)}`);
    this.name = 'SmtpReply';
    this.responseCode = code;
  }
}

type Codes = readonly [code: number, status: string];

const TRY_LATER: Codes = [451, '4.3.0'];
const TOO_FAST: Codes = [450, '4.7.1'];
const NOT_ALLOWED: Codes = [550, '5.7.1'];
const TOO_LARGE: Codes = [552, '5.3.4'];
const NOT_TAKEN: Codes = [550, '5.6.0'];

/** What is not listed is a message that cannot be taken as it is, now or later. */
const CODES: Record<string, Codes> = {
  rate_limited: TOO_FAST,
  quota_exceeded: TOO_FAST,
  too_many_attempts: TOO_FAST,
  overloaded: TRY_LATER,
  storage_unavailable: TRY_LATER,
  idempotency_key_in_progress: TRY_LATER,
  internal_error: TRY_LATER,
  request_timeout: TRY_LATER,
  missing_api_key: NOT_ALLOWED,
  invalid_api_key: NOT_ALLOWED,
  expired_api_key: NOT_ALLOWED,
  revoked_api_key: NOT_ALLOWED,
  insufficient_scope: NOT_ALLOWED,
  ip_not_allowed: NOT_ALLOWED,
  workspace_suspended: NOT_ALLOWED,
  domain_not_owned: NOT_ALLOWED,
  domain_not_verified: NOT_ALLOWED,
  domain_not_allowed: NOT_ALLOWED,
  body_too_large: TOO_LARGE,
};

/** The answer to MAIL or to the final dot. What broke on our side is never told, and comes again. */
export function replyTo(error: unknown): SmtpReply {
  if (error instanceof SmtpReply) return error;
  if (error instanceof RefusedError) {
    const [code, status] = codesOf(error);
    return new SmtpReply(code, status, sentenceOf(error));
  }
  const text = isStorageGone(error)
    ? 'The database cannot be reached. Nothing was accepted.'
    : 'Something broke on our side. Nothing was accepted.';
  return new SmtpReply(...TRY_LATER, text);
}

/** The answer to AUTH (RFC 4954 6). */
export function loginReplyTo(error: unknown): SmtpReply {
  if (error instanceof SmtpReply) return error;
  if (error instanceof RefusedError) return new SmtpReply(535, '5.7.8', error.message);
  return new SmtpReply(454, '4.7.0', 'The key cannot be looked up at the moment.');
}

function codesOf(error: RefusedError): Codes {
  if (error.code !== 'validation_failed') return CODES[error.code] ?? NOT_TAKEN;
  const tooLarge = error.errors.some(
    ({ code, pointer }) =>
      code === 'message_too_large' ||
      (code === 'too_long' && (pointer === '/html' || pointer === '/text')),
  );
  return tooLarge ? TOO_LARGE : NOT_TAKEN;
}

function sentenceOf({ message, errors }: RefusedError): string {
  if (errors.length < 2) return message;
  const told = errors.map(({ pointer, parameter, detail }) => `${pointer ?? parameter}: ${detail}`);
  return told.join(' ');
}

/** With code and status it stays within the 512 octets of RFC 5321 4.5.3.1.5. */
const TEXT_CHARS_MAX = 400;

/** A line break from a client's own words would be a second reply. */
export function oneLine(text: string): string {
  return text
    .replaceAll('…', '...')
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/[^\x20-\x7e]/gu, '?')
    .trim()
    .slice(0, TEXT_CHARS_MAX);
}
