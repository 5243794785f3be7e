import type { components } from '../../dist/types/api.d.ts';

export type Problem = components['schemas']['Problem'];

/** A refusal of the API, with its own words: `detail` says what, `fix` says what to do. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = 'ProblemError';
    this.problem = problem;
  }
}

export function problemFromResponse(status: number, body: unknown): Problem {
  if (isProblem(body)) return body;
  return {
    type: 'about:blank',
    title: 'The server gave an unexpected answer',
    status,
    code: 'unexpected_answer',
    detail: `The answer was ${status}, without a reason.`,
    fix: 'Try again in a moment. If it stays, look into the server’s log.',
    request_id: '',
  };
}

export function unreachableError(): ProblemError {
  return new ProblemError({
    type: 'about:blank',
    title: 'The server cannot be reached',
    status: 0,
    code: 'unreachable',
    detail: 'There was no answer from the server.',
    fix: 'Check your connection, and that Postrider is running.',
    request_id: '',
  });
}

/** Any thrown thing as a problem to show; a bug of ours has no detail that helps a person. */
export function toProblem(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return {
    type: 'about:blank',
    title: 'Something broke on this page',
    status: 0,
    code: 'page_error',
    detail: error instanceof Error ? error.message : String(error),
    fix: 'Reload the page.',
    request_id: '',
  };
}

/** The message about one field of a form, by its JSON Pointer. */
export function fieldError(error: unknown, pointer: string): string | undefined {
  if (!(error instanceof ProblemError)) return undefined;
  return error.problem.errors?.find((one) => one.pointer === pointer)?.detail;
}

/** Whether every complaint of the answer is about one of these fields, which show it themselves. */
export function hasOnlyFieldErrors(error: unknown, pointers: readonly string[]): boolean {
  if (!(error instanceof ProblemError)) return false;
  const { errors } = error.problem;
  return (
    errors !== undefined &&
    errors.length > 0 &&
    errors.every((one) => one.pointer !== undefined && pointers.includes(one.pointer))
  );
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
}
