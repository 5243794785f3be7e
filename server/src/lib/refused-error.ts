/**
 * A request that is understood but cannot be fulfilled: invalid input, a missing permission, or a state
 * that forbids it. Modules throw it; the HTTP and SMTP servers turn it into a response (problem+json or
 * an SMTP reply). `code` is the machine-readable code of the problem that clients see.
 */
export class RefusedError extends Error {
  readonly code: string;
  readonly errors: readonly FieldError[];
  readonly retryAfterSeconds: number | undefined;
  readonly fix: string | undefined;
  readonly quota: ExceededQuota | undefined;
  readonly movedTo: string | undefined;

  constructor(code: string, detail: string, more: RefusedErrorOptions = {}) {
    super(detail);
    this.name = 'RefusedError';
    this.code = code;
    this.errors = more.errors ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds;
    this.fix = more.fix;
    this.quota = more.quota;
    this.movedTo = more.movedTo;
  }
}

/** A RefusedError as plain data, which can cross a thread boundary. */
export interface Refusal extends RefusedErrorOptions {
  code: string;
  detail: string;
}

export function refusalOf(error: RefusedError): Refusal {
  const { code, message: detail, errors, retryAfterSeconds, fix, quota } = error;
  return {
    code,
    detail,
    errors,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(fix === undefined ? {} : { fix }),
    ...(quota === undefined ? {} : { quota }),
  };
}

/** Creates a validation error. A single field error is also used as the detail. */
export function invalidFields(errors: readonly FieldError[]): RefusedError {
  return new RefusedError('validation_failed', detailOf(errors), { errors });
}

/** Returns the field errors of a check that throws. */
export function fieldErrorsOf(check: () => unknown): readonly FieldError[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof RefusedError) return error.errors;
    throw error;
  }
}

function detailOf(errors: readonly FieldError[]): string {
  const [first] = errors;
  if (errors.length !== 1 || !first) return `${errors.length} fields are not valid.`;
  // An empty pointer refers to the whole body.
  const location = first.pointer || first.parameter;
  return location ? `${location}: ${first.detail}` : first.detail;
}

interface RefusedErrorOptions {
  errors?: readonly FieldError[];
  retryAfterSeconds?: number;
  /** Overrides the fix of the problem code. */
  fix?: string;
  quota?: ExceededQuota;
  /** The URL of the server that has the workspace now. */
  movedTo?: string;
}

/** The quota of the workspace that refused a request. */
export interface ExceededQuota {
  name: string;
  /** Null if time alone does not help. */
  resetsAt: string | null;
}

/** An error in one field. `pointer` is a JSON Pointer into the body. */
export interface FieldError {
  pointer?: string;
  parameter?: string;
  code: string;
  detail: string;
  /** For a placeholder in a template: its path and position. */
  path?: string;
  field?: string;
  line?: number;
  column?: number;
}
