import { expect, test } from 'vitest';
import { conflictingFields, type DraftFields } from './draft-fields.ts';

const seen: DraftFields = {
  name: 'Letter',
  subject: 'A letter',
  html: '<p>One</p>',
  text: '',
  layout: null,
  from: null,
  locales: {},
  variables: [],
};

const variable = (inferred: boolean) => ({ name: 'a', inferred }) as DraftFields['variables'][0];

test('who writes in different fields is not in each other’s way', () => {
  expect(conflictingFields(seen, { subject: 'Mine' }, { ...seen, html: '<p>Theirs</p>' })).toEqual([]);
  expect(conflictingFields(seen, {}, { ...seen, html: '<p>Theirs</p>' })).toEqual([]);
});

test('what both wrote in one field clashes, unless it is the same', () => {
  const theirs = { ...seen, html: '<p>Theirs</p>', subject: 'Ours' };
  expect(conflictingFields(seen, { html: '<p>Mine</p>', subject: 'Ours' }, theirs)).toEqual(['html']);
});

test('a variable that follows from their placeholders is nobody’s word', () => {
  const mine = { variables: [variable(false)] };
  expect(conflictingFields(seen, mine, { ...seen, variables: [variable(true)] })).toEqual([]);
  const theirs = { ...seen, variables: [variable(false), variable(false)] };
  expect(conflictingFields(seen, mine, theirs)).toEqual(['variables']);
});
