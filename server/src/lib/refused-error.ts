/**
 * A request that we understood and will not do: bad input, a missing right, a state that forbids it.
 * Rooms throw it; only a door turns it into an answer (problem+json or an SMTP reply). `code` is the
 * machine-readable name that users see and that the door's table of problems knows.
 */
export class RefusedError extends Error {
  readonly code: string;
  readonly errors: readonly FieldError[];
  readonly retryAfterSeconds: number | undefined;
  readonly fix: string | undefined;

  constructor(code: string, detail: string, more: RefusedErrorOptions = {}) {
    super(detail);
    this.name = 'RefusedError';
    this.code = code;
    this.errors = more.errors ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds;
    this.fix = more.fix;
  }
}

/** The refusal of a request for its fields: one that is alone is told in the detail. */
export function invalidFields(errors: readonly FieldError[]): RefusedError {
  return new RefusedError('validation_failed', detailOf(errors), { errors });
}

/** What a check of fields that refuses would tell. */
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
  // An empty pointer is the whole body.
  const place = first.pointer || first.parameter;
  return place ? `${place}: ${first.detail}` : first.detail;
}

interface RefusedErrorOptions {
  errors?: readonly FieldError[];
  retryAfterSeconds?: number;
  /** What to do about this one, where it is not what the code's own words say. */
  fix?: string;
}

/** What is wrong with one field. `pointer` is a JSON Pointer into the body. */
export interface FieldError {
  pointer?: string;
  parameter?: string;
  code: string;
  detail: string;
  /** Of a placeholder: what it names, and where it stands. */
  path?: string;
  field?: string;
  line?: number;
  column?: number;
}
