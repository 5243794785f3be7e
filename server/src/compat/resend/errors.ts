import { Type } from 'typebox';
import type { ProblemResponse } from '../../http/problems/problem-details.ts';
import type { ProblemCode } from '../../http/problems/problem-types.ts';
import type { RenderedProblem } from '../../http/server/api-surface.ts';
import { problemMessage } from '../problem-message.ts';

export const ResendError = Type.Object(
  { statusCode: Type.Integer(), name: Type.String(), message: Type.String() },
  { title: 'ResendError' },
);

/** Resend's names for the problems that have one of their own; the others go by their status. */
const NAMES: Partial<Record<ProblemCode, string>> = {
  missing_api_key: 'missing_api_key',
  insufficient_scope: 'restricted_api_key',
  idempotency_key_reused: 'invalid_idempotent_request',
  idempotency_key_in_progress: 'concurrent_idempotent_requests',
  domain_not_owned: 'validation_error',
  domain_not_verified: 'validation_error',
  domain_not_allowed: 'validation_error',
  rate_limited: 'rate_limit_exceeded',
  quota_exceeded: 'daily_quota_exceeded',
};

const NAMES_BY_STATUS: Record<number, string> = {
  400: 'validation_error',
  401: 'invalid_api_key',
  403: 'invalid_access',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'validation_error',
  422: 'validation_error',
  429: 'rate_limit_exceeded',
};

/** Resend reports a reused key as a conflict, and an unusable API key as forbidden. */
const STATUSES: Partial<Record<ProblemCode, number>> = {
  insufficient_scope: 401,
  invalid_api_key: 403,
  expired_api_key: 403,
  revoked_api_key: 403,
  idempotency_key_reused: 409,
};

export function renderProblem({ problem, headers }: ProblemResponse): RenderedProblem {
  const { code } = problem;
  const status = STATUSES[code] ?? problem.status;
  const name =
    NAMES[code] ??
    NAMES_BY_STATUS[problem.status] ??
    (status < 500 ? 'validation_error' : 'application_error');
  const body = JSON.stringify({ statusCode: status, name, message: problemMessage(problem) });
  return { status, headers, mediaType: 'application/json; charset=utf-8', body };
}
