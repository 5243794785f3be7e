import { isStorageGone } from '../db/storage-gone.ts';
import { RefusedError } from '../lib/refused-error.ts';

/**
 * The one place that knows what a refusal is called in SMTP: reply code, enhanced status code
 * (RFC 3463) and the problem's own sentence, on one line of ASCII whatever was put into it.
 */
export class SmtpReplyError extends Error {
  /** The name under which the protocol library looks for it. */
  readonly responseCode: number;

  constructor(code: number, status: string, text: string) {
    super(`${status} ${toReplyLine(text)}`);
    this.name = 'SmtpReply';
    this.responseCode = code;
  }
}

type ReplyCodes = readonly [code: number, status: string];

const TRY_LATER: ReplyCodes = [451, '4.3.0'];
const RATE_LIMITED: ReplyCodes = [450, '4.7.1'];
const NOT_PERMITTED: ReplyCodes = [550, '5.7.1'];
const TOO_LARGE: ReplyCodes = [552, '5.3.4'];
const UNACCEPTABLE: ReplyCodes = [550, '5.6.0'];

/** What is not listed is a message that cannot be taken as it is, now or later. */
const REPLY_CODES: Record<string, ReplyCodes> = {
  rate_limited: RATE_LIMITED,
  quota_exceeded: RATE_LIMITED,
  too_many_attempts: RATE_LIMITED,
  overloaded: TRY_LATER,
  storage_unavailable: TRY_LATER,
  idempotency_key_in_progress: TRY_LATER,
  internal_error: TRY_LATER,
  request_timeout: TRY_LATER,
  missing_api_key: NOT_PERMITTED,
  invalid_api_key: NOT_PERMITTED,
  expired_api_key: NOT_PERMITTED,
  revoked_api_key: NOT_PERMITTED,
  insufficient_scope: NOT_PERMITTED,
  ip_not_allowed: NOT_PERMITTED,
  workspace_suspended: NOT_PERMITTED,
  domain_not_owned: NOT_PERMITTED,
  domain_not_verified: NOT_PERMITTED,
  domain_not_allowed: NOT_PERMITTED,
  body_too_large: TOO_LARGE,
};

/** The answer to MAIL or to the final dot. What broke on our side is never told, and comes again. */
export function replyForError(error: unknown): SmtpReplyError {
  if (error instanceof SmtpReplyError) return error;
  if (error instanceof RefusedError) {
    const [code, status] = codesOf(error);
    return new SmtpReplyError(code, status, replyText(error));
  }
  const text = isStorageGone(error)
    ? 'The database cannot be reached. Nothing was accepted.'
    : 'Something broke on our side. Nothing was accepted.';
  return new SmtpReplyError(...TRY_LATER, text);
}

/** The answer to AUTH (RFC 4954 6). */
export function authReplyForError(error: unknown): SmtpReplyError {
  if (error instanceof SmtpReplyError) return error;
  if (error instanceof RefusedError) return new SmtpReplyError(535, '5.7.8', error.message);
  return new SmtpReplyError(454, '4.7.0', 'The key cannot be looked up at the moment.');
}

function codesOf(error: RefusedError): ReplyCodes {
  if (error.code !== 'validation_failed') return REPLY_CODES[error.code] ?? UNACCEPTABLE;
  const tooLarge = error.errors.some(
    ({ code, pointer }) =>
      code === 'message_too_large' ||
      (code === 'too_long' && (pointer === '/html' || pointer === '/text')),
  );
  return tooLarge ? TOO_LARGE : UNACCEPTABLE;
}

function replyText({ message, errors }: RefusedError): string {
  if (errors.length < 2) return message;
  const details = errors.map(
    ({ pointer, parameter, detail }) => `${pointer ?? parameter}: ${detail}`,
  );
  return details.join(' ');
}

/** With code and status it stays within the 512 octets of RFC 5321 4.5.3.1.5. */
const TEXT_CHARS_MAX = 400;

/** A line break from a client's own words would be a second reply. */
export function toReplyLine(text: string): string {
  return text
    .replaceAll('…', '...')
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/[^\x20-\x7e]/gu, '?')
    .trim()
    .slice(0, TEXT_CHARS_MAX);
}
