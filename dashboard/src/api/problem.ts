import type { components } from '../../dist/types/api.d.ts';

export type Problem = components['schemas']['Problem'];

/** An API error: `detail` says what went wrong, `fix` what to do about it. */
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
    title: 'Unexpected response',
    status,
    code: 'unexpected_response',
    detail: `The server returned ${status} without an error message.`,
    fix: 'Try again. If it keeps happening, check the server log.',
    request_id: '',
  };
}

export function unreachableError(): ProblemError {
  return new ProblemError({
    type: 'about:blank',
    title: 'Server unreachable',
    status: 0,
    code: 'unreachable',
    detail: 'Can’t reach the server.',
    fix: 'Check your connection and that Postrider is running.',
    request_id: '',
  });
}

/** Converts any thrown value to a problem that can be shown. */
export function toProblem(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return {
    type: 'about:blank',
    title: 'Something went wrong on this page',
    status: 0,
    code: 'page_error',
    detail: error instanceof Error ? error.message : String(error),
    fix: 'Reload the page.',
    request_id: '',
  };
}

/** The error message for one form field, by its JSON Pointer. */
export function fieldError(error: unknown, pointer: string): string | undefined {
  if (!(error instanceof ProblemError)) return undefined;
  return error.problem.errors?.find((one) => one.pointer === pointer)?.detail;
}

/** Whether all errors belong to these fields, which show them next to their inputs. */
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
