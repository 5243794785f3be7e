import { expect, test } from 'vitest';
import { onOneLine, parseRecipientVariables, substituteFor } from './recipient-variables.ts';

const VARIABLES = parseRecipientVariables(
  JSON.stringify({
    'Jane@Example.com': { name: 'Jane %recipient.id% <b>', id: 7, 'a-b': { c: null, d: [1] } },
  }),
);
const PLENTY = { spend() {} };
const jane = substituteFor(
  { email: 'jane@example.com', name: 'Jane Mary Doe' },
  VARIABLES ?? new Map(),
  PLENTY,
);

test('values are inserted as they are, once', () => {
  expect(jane('Hi %recipient.name%, no. %recipient.id%, %recipient.a-b.d%')).toBe(
    'Hi Jane %recipient.id% <b>, no. 7, [1]',
  );
});

test('the recipient itself', () => {
  expect(
    jane('%recipient% %recipient_email% %recipient_name% %recipient_fname% %recipient_lname%'),
  ).toBe('jane@example.com jane@example.com Jane Mary Doe Jane Doe');
});

test('a placeholder without a value stays', () => {
  const text = '%recipient.missing% %recipient.a-b.c% %recipient.constructor% 100%recipient';
  expect(jane(text)).toBe(text);
  expect(substituteFor({ email: 'joe@example.com' }, new Map(), PLENTY)('%recipient.name%')).toBe(
    '%recipient.name%',
  );
});

test('a value cannot end a header', () => {
  const variables = parseRecipientVariables('{"a@x.com":{"n":"x\\r\\nBcc: y"}}') ?? new Map();
  expect(onOneLine(substituteFor({ email: 'a@x.com' }, variables, PLENTY))('%recipient.n%')).toBe(
    'x Bcc: y',
  );
});

test.each(['', '[]', '1', '{"a@x.com":1}', '{'])('%j is refused', (text) => {
  expect(() => parseRecipientVariables(text)).toThrow('JSON object');
});

test('a message without the field is not a batch', () => {
  expect(parseRecipientVariables(undefined)).toBeUndefined();
});
