import { expect, test } from 'vitest';
import { PostriderConnectionError, PostriderError, type Problem } from './errors.ts';

/** An error message is one log line with everything needed and no repetition. */

const PROBLEM: Problem = {
  type: 'about:blank',
  title: 'Some fields are invalid',
  status: 422,
  code: 'validation_failed',
  detail: 'Two lines,\nand\u0007 a control character.',
  fix: 'Correct them.',
  request_id: 'req_1',
};

function messageFor(changes: Partial<Problem> = {}): string {
  return new PostriderError('POST /x', { ...PROBLEM, ...changes }).message;
}

test('a PostriderError message is one line with the fix and the request id', () => {
  const line =
    'POST /x: 422 validation_failed: Two lines, and a control character. Correct them. (req_1)';
  expect(messageFor()).toBe(line);
});

test('a message repeats nothing and omits missing parts', () => {
  const detail = 'Give html.';
  const line = 'POST /x: 422 validation_failed: Give html.';
  expect(messageFor({ detail, fix: detail, request_id: '' })).toBe(line);
  expect(new PostriderError('POST /x', PROBLEM).errors).toEqual([]);
});

test('the only invalid field is not repeated', () => {
  const errors = [{ pointer: '/to', code: 'wrong', detail: 'No.' }];
  const line = 'POST /x: 422 validation_failed: /to: No. Correct them. (req_1)';
  expect(messageFor({ detail: '/to: No.', errors })).toBe(line);
});

test('five invalid fields are listed and the rest are counted', () => {
  const field = (name: object) => ({ code: 'wrong', detail: 'no', ...name });
  const errors = [
    field({ pointer: '/to' }),
    field({ parameter: 'limit' }),
    field({ path: 'user.name' }),
    field({}),
    field({ pointer: '/5' }),
  ];
  const five = '[/to: no; limit: no; user.name: no; wrong: no; /5: no';
  expect(messageFor({ errors })).toContain(`${five}]`);
  const seven = [...errors, field({ pointer: '/6' }), field({ pointer: '/7' })];
  expect(messageFor({ errors: seven })).toContain(`${five}; and 2 more]`);
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
] as const)('a connection error names its innermost cause: %s', ([cause, reason]) => {
  const error = new PostriderConnectionError('GET /x', cause, {
    origin: 'https://mail.example',
    attempts: 1,
  });
  expect(error.message).toBe(
    `GET /x: no response from https://mail.example after 1 attempt (${reason}).`,
  );
  expect(error.cause).toBe(cause);
});
