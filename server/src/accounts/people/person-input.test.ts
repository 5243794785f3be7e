import { expect, test } from 'vitest';
import { RefusedError } from '../../lib/refused-error.ts';
import { checkPersonInput, personFieldErrors } from './person-input.ts';

function errorsOf(work: () => unknown): string[] {
  try {
    work();
    return [];
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return error.errors.map(({ pointer, code }) => `${pointer} ${code}`);
  }
}

const PERSON = { email: 'jane@example.com', name: 'Jane Doe', password: 'kettle rain 7 ladders' };

test('returns the parsed mailbox of valid input', () => {
  expect(checkPersonInput({ ...PERSON, email: 'Jane@Example.com' })).toMatchObject({
    email: 'Jane@example.com',
    key: 'jane@example.com',
  });
});

test('reports an invalid address and a weak password together', () => {
  const input = { ...PERSON, email: 'jane', password: 'short' };
  expect(errorsOf(() => checkPersonInput(input))).toEqual([
    '/email invalid_email',
    '/password weak_password',
  ]);
});

test("rejects a password made of the person's own name", () => {
  const input = { ...PERSON, password: 'JaneDoe12345' };
  expect(errorsOf(() => checkPersonInput(input))).toEqual(['/password weak_password']);
});

test('checks the password of partial input, if there is one', () => {
  expect(personFieldErrors({ email: 'jane@example.com' })).toEqual([]);
  expect(personFieldErrors({ password: 'short' }).map(({ code }) => code)).toEqual([
    'weak_password',
  ]);
});
