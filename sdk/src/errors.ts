import type { Schema } from './operations.ts';

/**
 * The errors of this library: Postrider rejected a request (PostriderError), no response was received
 * (PostriderConnectionError), or a webhook could not be verified (WebhookVerificationError). Each
 * message is one line that says what to do. Messages contain path templates instead of paths, and no
 * key, address or content beyond what the server put into its error.
 */

export type Problem = Schema<'Problem'>;
export type FieldProblem = NonNullable<Problem['errors']>[number];

const LISTED_FIELDS_MAX = 5;

/** Postrider responded with an error. */
export class PostriderError extends Error {
  override readonly name = 'PostriderError';
  readonly status: number;
  /** Machine-readable, such as `validation_failed`; `unexpected_response` if the response is not from Postrider. */
  readonly code: string;
  readonly title: string;
  /** What went wrong in this request. */
  readonly detail: string;
  /** How to fix it. */
  readonly fix: string;
  /** All invalid fields, by JSON Pointer. */
  readonly errors: readonly FieldProblem[];
  /** Find the request in the server's log by this id. */
  readonly requestId: string;
  /** How long the server asks to wait before a retry. */
  readonly retryAfterMs: number | undefined;
  /** The idempotency key of the request: it can be retried with the same key and body for 24 hours. */
  readonly idempotencyKey: string | undefined;

  constructor(operation: string, problem: Problem, more: ErrorContext = {}) {
    super(oneLine(messageOf(operation, problem)));
    this.status = problem.status;
    this.code = problem.code;
    this.title = problem.title;
    this.detail = problem.detail;
    this.fix = problem.fix;
    this.errors = problem.errors ?? [];
    this.requestId = problem.request_id;
    this.retryAfterMs = more.retryAfterMs;
    this.idempotencyKey = more.idempotencyKey;
  }
}

export interface ErrorContext {
  retryAfterMs?: number | undefined;
  idempotencyKey?: string | undefined;
}

export interface ConnectionErrorContext {
  /** Scheme, host and port of the server. */
  origin: string;
  attempts: number;
  idempotencyKey?: string | undefined;
}

/** No response was received: the network failed or the request timed out. The server may have executed it. */
export class PostriderConnectionError extends Error {
  override readonly name = 'PostriderConnectionError';
  readonly attempts: number;
  /** Retry with this key, so that the request is not executed twice. */
  readonly idempotencyKey: string | undefined;

  constructor(
    operation: string,
    cause: unknown,
    { origin, attempts, idempotencyKey }: ConnectionErrorContext,
  ) {
    const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
    const advice =
      idempotencyKey === undefined
        ? ''
        : ` It may have been executed: retry it with idempotencyKey ${idempotencyKey}.`;
    const failure = `no response from ${origin} after ${count} (${reasonOf(cause)})`;
    super(oneLine(`${operation}: ${failure}.${advice}`), { cause });
    this.attempts = attempts;
    this.idempotencyKey = idempotencyKey;
  }
}

/** The request is not from Postrider, is too old, or was modified in transit. Respond with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

function messageOf(operation: string, problem: Problem): string {
  // The detail of a problem with a single invalid field is that field's error.
  const errors = (problem.errors ?? [])
    .map((one) => `${one.pointer ?? one.parameter ?? one.path ?? one.code}: ${one.detail}`)
    .filter((text) => text !== problem.detail);
  const listed = errors.slice(0, LISTED_FIELDS_MAX);
  if (errors.length > listed.length) listed.push(`and ${errors.length - listed.length} more`);
  return [
    `${operation}: ${problem.status} ${problem.code}: ${problem.detail}`,
    listed.length > 0 ? `[${listed.join('; ')}]` : '',
    problem.fix === problem.detail ? '' : problem.fix,
    problem.request_id === '' ? '' : `(${problem.request_id})`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const { code } = cause as { code?: unknown };
  return typeof code === 'string' ? code : cause.message;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ');
}
