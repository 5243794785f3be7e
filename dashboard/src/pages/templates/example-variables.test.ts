import { expect, test } from 'vitest';
import type { TemplateVariable } from './content-api.ts';
import { exampleVariables } from './example-variables.ts';

const variable = (name: string, more: Partial<TemplateVariable> = {}): TemplateVariable => ({
  name,
  type: 'string',
  required: true,
  default: null,
  example: null,
  description: null,
  secret: false,
  inferred: true,
  ...more,
});

test('uses examples, then defaults, then samples of the type', () => {
  const variables = [
    variable('name', { example: 'Jane' }),
    variable('plan', { default: 'free' }),
    variable('city'),
    variable('days', { type: 'number' }),
  ];
  expect(exampleVariables(variables)).toEqual({
    name: 'Jane',
    plan: 'free',
    city: '[city]',
    days: 1,
  });
});

test('builds nested values and lists', () => {
  const variables = [
    variable('order.lines[].price', { type: 'number', example: 5 }),
    variable('order.lines[].name'),
    variable('order.lines', { type: 'list' }),
    variable('order', { type: 'object' }),
    variable('tags[]', { example: 'new' }),
  ];
  expect(exampleVariables(variables)).toEqual({
    order: { lines: [{ price: 5, name: '[order.lines[].name]' }] },
    tags: ['new'],
  });
});

test('an example of a whole object is not changed', () => {
  const variables = [
    variable('order', { type: 'object', example: { id: 7 } }),
    variable('order.total', { type: 'number' }),
  ];
  expect(exampleVariables(variables)).toEqual({ order: { id: 7 } });
});
