import type { Schema } from './operations.ts';

/**
 * What can go wrong: Postrider refused (PostriderError), nobody answered (PostriderConnectionError),
 * or a webhook is not what it says it is (WebhookVerificationError). Messages are one line that says
 * what to do, and name operations by their template: no key, no address and no content is in them,
 * beyond what the server itself chose to say.
 */

export type Problem = Schema<'Problem'>;
export type FieldProblem = NonNullable<Problem['errors']>[number];

const FIELDS_TOLD_MAX = 5;

/** Postrider answered, and did not do it. */
export class PostriderError extends Error {
  override readonly name = 'PostriderError';
  readonly status: number;
  /** For programs: `validation_failed`; `unexpected_answer` when it was not Postrider that spoke. */
  readonly code: string;
  readonly title: string;
  /** What happened this time. */
  readonly detail: string;
  /** What to do about it. */
  readonly fix: string;
  /** Every faulty field, by its JSON Pointer. */
  readonly errors: readonly FieldProblem[];
  /** The server's log knows it. */
  readonly requestId: string;
  /** How long the server asks to wait before a repetition. */
  readonly retryAfterMs: number | undefined;
  /** What the request was sent with: the same key and body may be sent again, a day long. */
  readonly idempotencyKey: string | undefined;

  constructor(operation: string, problem: Problem, more: ErrorContext = {}) {
    super(oneLine(refusalInWords(operation, problem)));
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

/** There was no answer: the network failed, or the time was up. Whether it was done is not known. */
export class PostriderConnectionError extends Error {
  override readonly name = 'PostriderConnectionError';
  readonly tries: number;
  /** Repeat the request with it, and what was done already is not done again. */
  readonly idempotencyKey: string | undefined;

  constructor(
    operation: string,
    cause: unknown,
    { tries, idempotencyKey }: { tries: number; idempotencyKey?: string | undefined },
  ) {
    const often = tries === 1 ? 'one try' : `${tries} tries`;
    const repeat =
      idempotencyKey === undefined
        ? ''
        : ` It may have been done: repeat it with idempotencyKey ${idempotencyKey} to be sure.`;
    super(oneLine(`${operation}: no answer in ${often} (${reasonOf(cause)}).${repeat}`), { cause });
    this.tries = tries;
    this.idempotencyKey = idempotencyKey;
  }
}

/** The request is not from Postrider, is too old, or was changed on its way. Answer it with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

function refusalInWords(operation: string, problem: Problem): string {
  const errors = problem.errors ?? [];
  const told = errors
    .slice(0, FIELDS_TOLD_MAX)
    .map((one) => `${one.pointer ?? one.parameter ?? one.path ?? one.code}: ${one.detail}`);
  if (errors.length > told.length) told.push(`and ${errors.length - told.length} more`);
  return [
    `${operation}: ${problem.status} ${problem.code}: ${problem.detail}`,
    told.length > 0 ? `[${told.join('; ')}]` : '',
    problem.fix === problem.detail ? '' : problem.fix,
    problem.request_id === '' ? '' : `(${problem.request_id})`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** `fetch failed` says nothing; what it was caused by does. */
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
