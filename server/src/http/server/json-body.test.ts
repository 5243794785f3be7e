import { expect, test } from 'vitest';
import { parseJsonBody } from './json-body.ts';

/** Large bodies are rejected before they cost more than their size. */

const list = (value: string, count: number) => Buffer.from(`[${`${value},`.repeat(count)}1]`);

test.each([
  ['objects', '{}'],
  ['arrays', '[]'],
])('too many %s are rejected before they are parsed', (_, value) => {
  expect(() => parseJsonBody(list(value, 600_000))).toThrow(
    expect.objectContaining({ code: 'body_too_large' }),
  );
  expect((parseJsonBody(list(value, 200_000)).value as unknown[]).length).toBe(200_001);
});

test('too many names are rejected before they are parsed', () => {
  const names = (count: number) =>
    Buffer.from(`{${Array.from({ length: count }, (_, n) => `"name-${n}":1`).join()}}`);
  expect(() => parseJsonBody(names(600_000))).toThrow(
    expect.objectContaining({ code: 'body_too_large' }),
  );
  expect(parseJsonBody(names(100_000)).value).toHaveProperty('name-99999', 1);
});

test('brackets, commas and colons inside strings do not count', () => {
  const text = '{[,:\\"'.repeat(1_000_000);
  expect(parseJsonBody(Buffer.from(JSON.stringify({ text }))).value).toEqual({ text });
});

test('deep nesting is rejected, in small and in large bodies', () => {
  const deep = '['.repeat(100) + ']'.repeat(100);
  const padding = ' '.repeat(300_000);
  for (const body of [deep, deep + padding]) {
    expect(() => parseJsonBody(Buffer.from(body))).toThrow('nested more than 64 levels');
  }
});
