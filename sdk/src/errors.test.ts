import { expect, test } from 'vitest';
import { PostriderConnectionError, PostriderError, type Problem } from './errors.ts';

/** What a person reads in a log: one line, with all that is needed and nothing twice. */

const PROBLEM: Problem = {
  type: 'about:blank',
  title: 'Some fields are not valid',
  status: 422,
  code: 'validation_failed',
  detail: 'Two lines,\nand\u0007 a bell.',
  fix: 'Correct them.',
  request_id: 'req_1',
};

function told(changes: Partial<Problem> = {}): string {
  return new PostriderError('POST /x', { ...PROBLEM, ...changes }).message;
}

test('a refusal is one line, with its fix and its request', () => {
  const line = 'POST /x: 422 validation_failed: Two lines, and a bell. Correct them. (req_1)';
  expect(told()).toBe(line);
});

test('a refusal says nothing twice, and leaves out what is not known', () => {
  const detail = 'Give html.';
  const line = 'POST /x: 422 validation_failed: Give html.';
  expect(told({ detail, fix: detail, request_id: '' })).toBe(line);
  expect(new PostriderError('POST /x', PROBLEM).errors).toEqual([]);
});

test('five fields are named by what they have, and the rest are counted', () => {
  const field = (name: object) => ({ code: 'wrong', detail: 'no', ...name });
  const errors = [
    field({ pointer: '/to' }),
    field({ parameter: 'limit' }),
    field({ path: 'user.name' }),
    field({}),
    field({ pointer: '/5' }),
  ];
  const five = '[/to: no; limit: no; user.name: no; wrong: no; /5: no';
  expect(told({ errors })).toContain(`${five}]`);
  const seven = [...errors, field({ pointer: '/6' }), field({ pointer: '/7' })];
  expect(told({ errors: seven })).toContain(`${five}; and 2 more]`);
});

test.for([
  [
    new Error('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) }),
    'ECONNREFUSED',
  ],
  [new Error('fetch failed', { cause: new Error('other side closed') }), 'other side closed'],
  [new Error('fetch failed', { cause: 'nobody' }), 'fetch failed'],
  [new Error('two\nlines'), 'two lines'],
  ['a word', 'a word'],
] as const)('what was in the way is told by its innermost name: %s', ([cause, reason]) => {
  const error = new PostriderConnectionError('GET /x', cause, { tries: 1 });
  expect(error.message).toBe(`GET /x: no answer in one try (${reason}).`);
  expect(error.cause).toBe(cause);
});
