import { Type } from 'typebox';
import type { ProblemResponse } from '../../http/problems/problem-details.ts';
import type { ProblemCode } from '../../http/problems/problem-types.ts';
import type { RenderedProblem } from '../../http/server/api-surface.ts';
import { problemMessage } from '../problem-message.ts';

export const SesError = Type.Object({ message: Type.String() }, { title: 'SesError' });

interface AwsError {
  type: string;
  status: number;
}

const BAD_REQUEST: AwsError = { type: 'BadRequestException', status: 400 };
const UNKNOWN_KEY: AwsError = { type: 'UnrecognizedClientException', status: 403 };
const DENIED: AwsError = { type: 'AccessDeniedException', status: 403 };
const REJECTED: AwsError = { type: 'MessageRejected', status: 400 };
const NOT_FOUND: AwsError = { type: 'NotFoundException', status: 404 };
const UNAVAILABLE: AwsError = { type: 'ServiceUnavailable', status: 503 };

/** The errors of Amazon SES, by which its client libraries decide whether to retry. */
const ERRORS: Partial<Record<ProblemCode, AwsError>> = {
  missing_api_key: { type: 'MissingAuthenticationTokenException', status: 403 },
  invalid_api_key: UNKNOWN_KEY,
  expired_api_key: UNKNOWN_KEY,
  revoked_api_key: UNKNOWN_KEY,
  invalid_signature: { type: 'SignatureDoesNotMatch', status: 403 },
  insufficient_scope: DENIED,
  wrong_mode: DENIED,
  ip_not_allowed: DENIED,
  workspace_suspended: { type: 'AccountSuspendedException', status: 400 },
  domain_not_owned: REJECTED,
  domain_not_allowed: REJECTED,
  domain_not_verified: { type: 'MailFromDomainNotVerifiedException', status: 400 },
  malformed_request: REJECTED,
  not_found: NOT_FOUND,
  template_not_found: NOT_FOUND,
  method_not_allowed: { type: 'UnknownOperationException', status: 404 },
  conflict: { type: 'AlreadyExistsException', status: 400 },
  message_id_in_use: { type: 'ConflictException', status: 409 },
  idempotency_key_in_progress: { type: 'ConcurrentModificationException', status: 500 },
  rate_limited: { type: 'TooManyRequestsException', status: 429 },
  quota_exceeded: { type: 'LimitExceededException', status: 400 },
  internal_error: { type: 'InternalServiceErrorException', status: 500 },
  overloaded: UNAVAILABLE,
  storage_unavailable: UNAVAILABLE,
};

export function awsErrorOf(code: string): AwsError {
  return ERRORS[code as ProblemCode] ?? BAD_REQUEST;
}

export function renderProblem({ problem, headers }: ProblemResponse): RenderedProblem {
  const { type, status } = awsErrorOf(problem.code);
  return {
    status,
    headers: { ...headers, 'x-amzn-errortype': type },
    mediaType: 'application/json',
    body: JSON.stringify({ message: problemMessage(problem) }),
  };
}
