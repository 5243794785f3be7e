import { expect, test } from 'vitest';
import { clashesOf, type DraftFields } from './draft-fields.ts';

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
  expect(clashesOf(seen, { subject: 'Mine' }, { ...seen, html: '<p>Theirs</p>' })).toEqual([]);
  expect(clashesOf(seen, {}, { ...seen, html: '<p>Theirs</p>' })).toEqual([]);
});

test('what both wrote in one field clashes, unless it is the same', () => {
  const theirs = { ...seen, html: '<p>Theirs</p>', subject: 'Ours' };
  expect(clashesOf(seen, { html: '<p>Mine</p>', subject: 'Ours' }, theirs)).toEqual(['html']);
});

test('a variable that follows from their placeholders is nobody’s word', () => {
  const mine = { variables: [variable(false)] };
  expect(clashesOf(seen, mine, { ...seen, variables: [variable(true)] })).toEqual([]);
  const theirs = { ...seen, variables: [variable(false), variable(false)] };
  expect(clashesOf(seen, mine, theirs)).toEqual(['variables']);
});
