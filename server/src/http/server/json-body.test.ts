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

test('brackets and commas inside strings do not count', () => {
  const text = '{[,\\"'.repeat(1_000_000);
  expect(parseJsonBody(Buffer.from(JSON.stringify({ text }))).value).toEqual({ text });
});

test('deep nesting is rejected, in small and in large bodies', () => {
  const deep = '['.repeat(100) + ']'.repeat(100);
  const padding = ' '.repeat(300_000);
  for (const body of [deep, deep + padding]) {
    expect(() => parseJsonBody(Buffer.from(body))).toThrow('nested more than 64 levels');
  }
});
