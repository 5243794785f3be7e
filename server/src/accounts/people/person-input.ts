import { type FieldError, faultsOf, RefusedError } from '../../lib/refused-error.ts';
import { type Mailbox, parseMailbox } from '../../mail/address.ts';
import { weaknessOf } from './password-rules.ts';

/** What a person gives of themselves, checked: all that is wrong is told at once. */

export interface NewPersonWords {
  email: string;
  name: string;
  password: string;
}

export function checkPersonWords(words: NewPersonWords): Mailbox {
  const errors: FieldError[] = [];
  const parsed = parseMailbox(words.email);
  if (!parsed.ok) errors.push({ pointer: '/email', code: 'invalid_email', detail: parsed.detail });
  const weakness = weaknessOf(words.password, [words.email, words.name]);
  if (weakness !== undefined) {
    errors.push({ pointer: '/password', code: 'weak_password', detail: weakness });
  }
  if (errors.length > 0 || !parsed.ok) throw refusedFields(errors);
  return parsed.mailbox;
}

/** What is wrong with the words that are there, when the others cannot be read. */
export function personFaults({ email = '', name = '', password }: Partial<NewPersonWords>) {
  return password === undefined
    ? []
    : faultsOf(() => checkPassword(password, { email, name }, '/password'));
}

/** For a person who exists: the new password alone. */
export function checkPassword(
  password: string,
  person: { email: string; name: string },
  pointer: string,
): void {
  const weakness = weaknessOf(password, [person.email, person.name]);
  if (weakness === undefined) return;
  throw refusedFields([{ pointer, code: 'weak_password', detail: weakness }]);
}

export function refusedFields(errors: FieldError[]): RefusedError {
  const detail =
    errors.length === 1 ? (errors[0]?.detail ?? '') : `${errors.length} fields are not valid.`;
  return new RefusedError('validation_failed', detail, { errors });
}
