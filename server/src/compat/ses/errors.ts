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

/** Where client libraries look for it. */
export const REQUEST_ID_HEADER = 'x-amzn-requestid';

function awsErrorOf(code: string): AwsError {
  return ERRORS[code as ProblemCode] ?? BAD_REQUEST;
}

export function renderProblem({ problem, headers }: ProblemResponse): RenderedProblem {
  const { type, status } = awsErrorOf(problem.code);
  return {
    status,
    headers: { ...headers, 'x-amzn-errortype': type, [REQUEST_ID_HEADER]: problem.request_id },
    mediaType: 'application/json',
    body: JSON.stringify({ message: problemMessage(problem) }),
  };
}

const V1_BAD_REQUEST: AwsError = { type: 'InvalidParameterValue', status: 400 };
const V1_UNKNOWN_KEY: AwsError = { type: 'InvalidClientTokenId', status: 403 };
const V1_DENIED: AwsError = { type: 'AccessDenied', status: 403 };
const V1_UNAVAILABLE: AwsError = { type: 'ServiceUnavailable', status: 503 };
const V1_NOT_FOUND: AwsError = { type: 'TemplateDoesNotExist', status: 400 };

/** Version 1 has other names for most of them. */
const VERSION_1_ERRORS: Partial<Record<ProblemCode, AwsError>> = {
  missing_api_key: { type: 'MissingAuthenticationToken', status: 403 },
  invalid_api_key: V1_UNKNOWN_KEY,
  expired_api_key: V1_UNKNOWN_KEY,
  revoked_api_key: V1_UNKNOWN_KEY,
  invalid_signature: { type: 'SignatureDoesNotMatch', status: 403 },
  insufficient_scope: V1_DENIED,
  wrong_mode: V1_DENIED,
  ip_not_allowed: V1_DENIED,
  workspace_suspended: { type: 'AccountSendingPausedException', status: 400 },
  domain_not_owned: REJECTED,
  domain_not_allowed: REJECTED,
  domain_not_verified: { type: 'MailFromDomainNotVerifiedException', status: 400 },
  not_found: V1_NOT_FOUND,
  template_not_found: V1_NOT_FOUND,
  method_not_allowed: { type: 'InvalidAction', status: 400 },
  conflict: { type: 'AlreadyExists', status: 400 },
  message_id_in_use: { type: 'AlreadyExists', status: 400 },
  rate_limited: { type: 'Throttling', status: 400 },
  quota_exceeded: { type: 'LimitExceeded', status: 400 },
  idempotency_key_in_progress: { type: 'InternalFailure', status: 500 },
  internal_error: { type: 'InternalFailure', status: 500 },
  overloaded: V1_UNAVAILABLE,
  storage_unavailable: V1_UNAVAILABLE,
};

export function version1ErrorOf(code: string): AwsError {
  return VERSION_1_ERRORS[code as ProblemCode] ?? V1_BAD_REQUEST;
}
