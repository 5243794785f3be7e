import { type FieldError, fieldErrorsOf, RefusedError } from '../../lib/refused-error.ts';
import { type Mailbox, parseMailbox } from '../../mail/address.ts';
import { passwordWeakness } from './password-rules.ts';

/** Validates what a person enters about themselves. All errors are reported at once. */

export interface PersonInput {
  email: string;
  name: string;
  password: string;
}

export function checkPersonInput(input: PersonInput): Mailbox {
  const errors: FieldError[] = [];
  const parsed = parseMailbox(input.email);
  if (!parsed.ok) errors.push({ pointer: '/email', code: 'invalid_email', detail: parsed.detail });
  const weakness = passwordWeakness(input.password, [input.email, input.name]);
  if (weakness !== undefined) {
    errors.push({ pointer: '/password', code: 'weak_password', detail: weakness });
  }
  if (errors.length > 0 || !parsed.ok) throw validationFailed(errors);
  return parsed.mailbox;
}

/** Errors in the fields that are present, for input that failed schema validation in others. */
export function personFieldErrors({ email = '', name = '', password }: Partial<PersonInput>) {
  return password === undefined
    ? []
    : fieldErrorsOf(() => checkPassword(password, { email, name }, '/password'));
}

/** For an existing person: checks only the new password. */
export function checkPassword(
  password: string,
  person: { email: string; name: string },
  pointer: string,
): void {
  const weakness = passwordWeakness(password, [person.email, person.name]);
  if (weakness === undefined) return;
  throw validationFailed([{ pointer, code: 'weak_password', detail: weakness }]);
}

export function validationFailed(errors: FieldError[]): RefusedError {
  const detail =
    errors.length === 1 ? (errors[0]?.detail ?? '') : `${errors.length} fields are invalid.`;
  return new RefusedError('validation_failed', detail, { errors });
}
