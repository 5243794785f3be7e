import { expect, test } from 'vitest';
import { conflictingFields, type DraftFields } from './draft-fields.ts';

const base: DraftFields = {
  name: 'Notice',
  subject: 'A notice',
  html: '<p>One</p>',
  text: '',
  layout: null,
  from: null,
  reply_to: [],
  stream: null,
  locales: {},
  variables: [],
};

const variable = (inferred: boolean) => ({ name: 'a', inferred }) as DraftFields['variables'][0];

test('edits to different fields do not conflict', () => {
  expect(conflictingFields(base, { subject: 'Mine' }, { ...base, html: '<p>Theirs</p>' })).toEqual(
    [],
  );
  expect(conflictingFields(base, {}, { ...base, html: '<p>Theirs</p>' })).toEqual([]);
});

test('different edits to one field conflict, equal ones do not', () => {
  const theirs = { ...base, html: '<p>Theirs</p>', subject: 'Ours' };
  expect(conflictingFields(base, { html: '<p>Mine</p>', subject: 'Ours' }, theirs)).toEqual([
    'html',
  ]);
});

test('inferred variables do not conflict', () => {
  const mine = { variables: [variable(false)] };
  expect(conflictingFields(base, mine, { ...base, variables: [variable(true)] })).toEqual([]);
  const theirs = { ...base, variables: [variable(false), variable(false)] };
  expect(conflictingFields(base, mine, theirs)).toEqual(['variables']);
});
