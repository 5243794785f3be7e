import { isConnectionError } from '../../db/database-errors.ts';
import { assert } from '../../lib/assert.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import { isProblemCode, PROBLEMS, type ProblemCode } from './problem-types.ts';

/** RFC 9457 problem details: the one form of every error answer. */
export interface ProblemDetails {
  type: string;
  title: string;
  status: number;
  code: ProblemCode;
  detail: string;
  fix: string;
  request_id: string;
  errors?: FieldError[];
}

export interface ProblemResponse {
  problem: ProblemDetails;
  headers: Record<string, string>;
}

/** More field errors than anyone reads would only make the answer large. */
const ERRORS_MAX = 100;

/** The answer to whatever a room threw. A fault of ours says nothing of what broke inside. */
export function toProblemResponse(error: unknown, requestId: string, baseUrl: string): ProblemResponse {
  const refused = error instanceof RefusedError ? error : toRefusedError(error);
  assert(isProblemCode(refused.code), `the problem table knows ${refused.code}`);
  const { status, title, fix } = PROBLEMS[refused.code];
  const problem: ProblemDetails = {
    type: `${baseUrl}/docs/errors/${refused.code.replaceAll('_', '-')}`,
    title,
    status,
    code: refused.code,
    detail: refused.message,
    fix: (refused.fix ?? fix).replaceAll('{app}', baseUrl),
    request_id: requestId,
  };
  if (refused.errors.length > 0) problem.errors = refused.errors.slice(0, ERRORS_MAX);
  return { problem, headers: problemHeaders(refused, status) };
}

/** An address that is no operation's. */
export function pathNotFound(): RefusedError {
  return new RefusedError('not_found', 'There is nothing at this path.', {
    fix: 'Look for a typing mistake: {app}/docs has all paths.',
  });
}

/** Whether the fault is ours and belongs into the log. */
export function isInternalError(error: unknown): boolean {
  return toRefusedError(error).code === 'internal_error';
}

function toRefusedError(error: unknown): RefusedError {
  if (error instanceof RefusedError) return error;
  if (isConnectionError(error)) {
    const detail = 'The database cannot be reached. Nothing was accepted.';
    return new RefusedError('storage_unavailable', detail, { retryAfterSeconds: 2 });
  }
  return new RefusedError('internal_error', 'Something broke on our side.');
}

function problemHeaders(refused: RefusedError, status: number): Record<string, string> {
  const headers: Record<string, string> = {};
  if (status === 401) {
    const invalid = refused.code === 'missing_api_key' ? '' : ', error="invalid_token"';
    headers['www-authenticate'] = `Bearer realm="postrider"${invalid}`;
  }
  const retryAfter =
    refused.retryAfterSeconds ?? (status === 503 || status === 429 ? 1 : undefined);
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  return headers;
}
