import { WorkspaceMovingError } from '../accounts/workspace-moving.ts';
import { isConnectionError, isWriteFenced } from '../db/connections/database-errors.ts';
import { RefusedError } from '../lib/refused-error.ts';

/**
 * Maps errors to SMTP replies: reply code, enhanced status code (RFC 3463) and the error's own
 * text, always as a single line of ASCII. This is the only place that knows the mapping.
 */
export class SmtpReplyError extends Error {
  readonly responseCode: number;

  constructor(code: number, status: string, text: string) {
    super(`${status} ${toReplyLine(text)}`);
    this.name = 'SmtpReplyError';
    this.responseCode = code;
  }
}

type ReplyCodes = readonly [code: number, status: string];

const TRY_LATER: ReplyCodes = [451, '4.3.0'];
const RATE_LIMITED: ReplyCodes = [450, '4.7.1'];
const NOT_PERMITTED: ReplyCodes = [550, '5.7.1'];
const TOO_LARGE: ReplyCodes = [552, '5.3.4'];
const UNACCEPTABLE: ReplyCodes = [550, '5.6.0'];

/** Codes that are not listed are permanent: the message cannot be accepted as it is. */
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
  workspace_moved: NOT_PERMITTED,
  workspace_suspended: NOT_PERMITTED,
  domain_not_owned: NOT_PERMITTED,
  domain_not_verified: NOT_PERMITTED,
  domain_not_allowed: NOT_PERMITTED,
  body_too_large: TOO_LARGE,
};

/** The reply to MAIL or to the final dot. Internal errors are temporary and never disclosed. */
export function replyForError(error: unknown): SmtpReplyError {
  if (error instanceof SmtpReplyError) return error;
  if (isWriteFenced(error)) return replyForError(new WorkspaceMovingError());
  if (error instanceof RefusedError) {
    const [code, status] = codesOf(error);
    return new SmtpReplyError(code, status, replyText(error));
  }
  const text = isConnectionError(error)
    ? 'The database is unavailable. Nothing was accepted.'
    : 'Internal error. Nothing was accepted.';
  return new SmtpReplyError(...TRY_LATER, text);
}

/** The reply to AUTH (RFC 4954 section 6). */
export function authReplyForError(error: unknown): SmtpReplyError {
  if (error instanceof SmtpReplyError) return error;
  const isTemporary = error instanceof RefusedError && codesOf(error) === TRY_LATER;
  if (isTemporary) return new SmtpReplyError(454, '4.7.0', error.message);
  if (error instanceof RefusedError) return new SmtpReplyError(535, '5.7.8', error.message);
  return new SmtpReplyError(454, '4.7.0', 'Authentication is temporarily unavailable.');
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

/** With the codes, the line stays within the 512 octets of RFC 5321 section 4.5.3.1.5. */
const TEXT_CHARS_MAX = 400;

/** A line break in text that comes from the client would become a second reply. */
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
