import { expect, it } from 'vitest';
import { secretValues, withoutSecrets } from '../content/redact.ts';
import { withDefaults } from './apply-defaults.ts';

/**
 * Goal: defaults and secrets in list items cost as much as the items, and excessive combinations are
 * rejected. Method: lists and variables that are few but multiply.
 */

const NAMES = Array.from({ length: 300 }, (_, i) => `lines[].x${i}`);
const DEFAULTS = Object.fromEntries(NAMES.map((name) => [name, 'v']));
const SECRETS = NAMES.map((name) => ({ name, type: 'string' as const, secret: true }));
const lines = (length: number, line: object = {}) => ({
  lines: Array.from({ length }, () => ({ ...line })),
});

it('every item gets its defaults, and the caller’s values are not modified', () => {
  const given = { ...lines(200, { x1: 'own', x2: null }), other: 1 };
  const filled = withDefaults(given, DEFAULTS) as typeof given & {
    lines: Record<string, unknown>[];
  };
  expect(filled.lines).toHaveLength(200);
  expect(filled.lines[199]).toMatchObject({ x0: 'v', x1: 'own', x2: 'v', x299: 'v' });
  expect(given).toEqual({ ...lines(200, { x1: 'own', x2: null }), other: 1 });
});

it('every item loses its secrets, and the caller’s values are not modified', () => {
  const line = Object.fromEntries(NAMES.map((_, i) => [`x${i}`, `secret-${i}`]));
  const given = lines(200, { ...line, shown: 'yes' });
  const masked = withoutSecrets(SECRETS, given, 'plain');
  expect(JSON.stringify(masked)).not.toContain('secret-');
  expect(JSON.stringify(masked)).toContain('"shown":"yes"');
  expect(given).toEqual(lines(200, { ...line, shown: 'yes' }));
});

it.each([
  ['defaults', () => withDefaults(lines(10_000), DEFAULTS)],
  ['secrets, found', () => secretValues(SECRETS, lines(100_000))],
  ['secrets, masked', () => withoutSecrets(SECRETS, lines(100_000), 'plain')],
])('too many %s are rejected', (_, work) => {
  expect(work).toThrow(expect.objectContaining({ code: 'template_limit' }));
});
