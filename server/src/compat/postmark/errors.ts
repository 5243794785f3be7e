import { Type } from 'typebox';
import type { ProblemResponse } from '../../http/problems/problem-details.ts';
import type { ProblemCode } from '../../http/problems/problem-types.ts';
import type { RenderedProblem } from '../../http/server/api-surface.ts';
import { problemMessage } from '../problem-message.ts';

export const PostmarkError = Type.Object(
  { ErrorCode: Type.Integer(), Message: Type.String() },
  { title: 'PostmarkError' },
);

/** https://postmarkapp.com/developer/api/overview#error-codes */
const ERROR_CODES: Partial<Record<ProblemCode, number>> = {
  malformed_json: 402,
  unsupported_media_type: 403,
  body_too_large: 300,
  domain_not_owned: 400,
  domain_not_verified: 400,
  domain_not_allowed: 400,
  template_not_found: 1101,
  stream_not_found: 1235,
  missing_variables: 1109,
  rate_limited: 429,
  storage_unavailable: 100,
  overloaded: 100,
};

const INVALID_EMAIL_REQUEST = 300;
/** All recipients are suppressed. */
export const INACTIVE_RECIPIENT = 406;
const BAD_API_TOKEN = 10;

export function errorCodeOf(code: string, status: number): number {
  const known = ERROR_CODES[code as ProblemCode];
  if (known !== undefined) return known;
  return status === 401 || status === 403 ? BAD_API_TOKEN : INVALID_EMAIL_REQUEST;
}

/** Postmark answers 422 to every request that it understands and refuses, and 401 to a bad key. */
export function renderProblem({ problem, headers }: ProblemResponse): RenderedProblem {
  const { code, status } = problem;
  const isSender = code.startsWith('domain_not_');
  const shown = isSender || [400, 409, 412].includes(status) ? 422 : status === 403 ? 401 : status;
  const body = JSON.stringify({
    ErrorCode: errorCodeOf(code, status),
    Message: problemMessage(problem),
  });
  return { status: shown, headers, mediaType: 'application/json; charset=utf-8', body };
}
