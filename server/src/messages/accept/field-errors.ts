import { type FieldError, invalidFields, RefusedError } from '../../lib/refused-error.ts';

/** Collects the errors in a request's fields, so that the caller gets all of them at once. */
export class FieldErrors {
  readonly #prefix: string;
  readonly #errors: FieldError[] = [];

  /** `prefix` is the location of the fields in a larger body, such as `/messages/3`. */
  constructor(prefix = '') {
    this.#prefix = prefix;
  }

  add(pointer: string, code: string, detail: string): void {
    this.#errors.push({ pointer: this.#prefix + pointer, code, detail });
  }

  get all(): readonly FieldError[] {
    return this.#errors;
  }

  throwIfAny(): void {
    if (this.#errors.length > 0) throw invalidFields(this.#errors);
  }
}

/** Returns the same error with its pointers moved below `prefix`. */
export function prefixPointers(error: RefusedError, prefix: string): RefusedError {
  if (prefix === '') return error;
  const errors = error.errors.map((one) =>
    one.pointer?.startsWith(prefix) ? one : { ...one, pointer: prefix + (one.pointer ?? '') },
  );
  const own =
    errors.length > 0 ? errors : [{ pointer: prefix, code: error.code, detail: error.message }];
  return new RefusedError(error.code, error.message, { errors: own });
}
