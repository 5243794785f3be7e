import { WorkspaceMovingError } from '../../accounts/workspace-moving.ts';
import { isConnectionError, isWriteFenced } from '../../db/connections/database-errors.ts';
import { assert } from '../../lib/assert.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import { isProblemCode, PROBLEMS, type ProblemCode } from './problem-types.ts';

/** RFC 9457 problem details, the format of every error response. */
export interface ProblemDetails {
  type: string;
  title: string;
  status: number;
  code: ProblemCode;
  detail: string;
  fix: string;
  request_id: string;
  errors?: FieldError[];
  /** The quota of the workspace that is exhausted, and when it is reset. */
  quota?: { name: string; resets_at: string | null };
  /** The URL of the server that has the workspace now. */
  moved_to?: string;
}

export interface ProblemResponse {
  problem: ProblemDetails;
  headers: Record<string, string>;
}

/** Limits the size of the response; no client needs more field errors. */
const ERRORS_MAX = 100;
/** Pointers contain names that the client chose. */
const TEXT_CHARS_MAX = 2_000;

/** Converts anything that was thrown into a problem. Internal errors reveal no details. */
export function toProblemResponse(
  error: unknown,
  requestId: string,
  baseUrl: string,
): ProblemResponse {
  const refused = error instanceof RefusedError ? error : toRefusedError(error);
  assert(isProblemCode(refused.code), `unknown problem code ${refused.code}`);
  const { status, title, fix } = PROBLEMS[refused.code];
  const problem: ProblemDetails = {
    type: `${baseUrl}/docs/errors/${refused.code.replaceAll('_', '-')}`,
    title,
    status,
    code: refused.code,
    detail: shortened(refused.message),
    fix: (refused.fix ?? fix).replaceAll('{app}', baseUrl),
    request_id: requestId,
  };
  if (refused.errors.length > 0) {
    problem.errors = refused.errors.slice(0, ERRORS_MAX).map(shortenedError);
  }
  if (refused.quota) {
    problem.quota = { name: refused.quota.name, resets_at: refused.quota.resetsAt };
  }
  if (refused.movedTo !== undefined) problem.moved_to = refused.movedTo;
  return { problem, headers: problemHeaders(refused, status) };
}

function shortenedError(error: FieldError): FieldError {
  const { pointer, parameter, detail, path } = error;
  return {
    ...error,
    ...(pointer === undefined ? {} : { pointer: shortened(pointer) }),
    ...(parameter === undefined ? {} : { parameter: shortened(parameter) }),
    detail: shortened(detail),
    ...(path === undefined ? {} : { path: shortened(path) }),
  };
}

function shortened(text: string): string {
  if (text.length <= TEXT_CHARS_MAX) return text;
  return `${text.slice(0, TEXT_CHARS_MAX).toWellFormed()}…`;
}

/** The problem as a document of its own media type, the format of our own API. */
export function problemDocument({ problem, headers }: ProblemResponse): {
  status: number;
  headers: Record<string, string>;
  mediaType: string;
  body: string;
} {
  const mediaType = 'application/problem+json; charset=utf-8';
  return { status: problem.status, headers, mediaType, body: JSON.stringify(problem) };
}

/** The error for a path without an operation. */
export function pathNotFound(): RefusedError {
  return new RefusedError('not_found', 'No such path.', {
    fix: 'Check the path for typos. {app}/docs lists all paths.',
  });
}

/** Whether the error is internal and must be logged. */
export function isInternalError(error: unknown): boolean {
  return toRefusedError(error).code === 'internal_error';
}

function toRefusedError(error: unknown): RefusedError {
  if (error instanceof RefusedError) return error;
  if (isWriteFenced(error)) return new WorkspaceMovingError();
  if (isConnectionError(error)) {
    const detail = 'The database cannot be reached. Nothing was accepted.';
    return new RefusedError('storage_unavailable', detail, { retryAfterSeconds: 2 });
  }
  return new RefusedError('internal_error', 'An internal error occurred.');
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
