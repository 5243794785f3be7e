import { describe, expect, test } from 'vitest';
import { WorkspaceMovingError } from '../accounts/workspace-moving.ts';
import { isProblemCode, PROBLEMS } from '../http/problems/problem-types.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { authReplyForError, replyForError, SmtpReplyError, toReplyLine } from './error-replies.ts';

/** Every API problem has an SMTP reply with the same meaning. */

test.each(Object.entries(PROBLEMS))(
  '%s is temporary over SMTP exactly when it is over HTTP',
  (code, { status }) => {
    const reply = replyForError(new RefusedError(code, 'Why.'));
    const comesAgain =
      (status >= 500 && status !== 501) ||
      status === 429 ||
      status === 408 ||
      code === 'idempotency_key_in_progress';
    expect([reply.responseCode < 500, reply.message]).toEqual([
      comesAgain,
      expect.stringMatching(comesAgain ? /^4\.\d\.\d Why\.$/ : /^5\.\d\.\d Why\.$/),
    ]);
    expect(isProblemCode(code)).toBe(true);
  },
);

describe('replies', () => {
  test('use the reply codes that mail clients know', () => {
    const codeOf = (error: unknown) => [
      replyForError(error).responseCode,
      replyForError(error).message.slice(0, 5),
    ];
    expect(codeOf(new RefusedError('domain_not_owned', ''))).toEqual([550, '5.7.1']);
    expect(codeOf(new RefusedError('rate_limited', ''))).toEqual([450, '4.7.1']);
    expect(codeOf(new RefusedError('body_too_large', ''))).toEqual([552, '5.3.4']);
    const large = { errors: [{ pointer: '', code: 'message_too_large', detail: '' }] };
    expect(codeOf(new RefusedError('validation_failed', '', large))).toEqual([552, '5.3.4']);
    expect(codeOf(new Error('secret insides'))).toEqual([451, '4.3.0']);
    expect(replyForError(new Error('secret insides')).message).not.toContain('secret');
    expect(replyForError(new SmtpReplyError(530, '5.7.0', 'First.')).responseCode).toBe(530);
    expect(authReplyForError(new RefusedError('revoked_api_key', '')).responseCode).toBe(535);
    expect(authReplyForError(new Error('gone')).responseCode).toBe(454);
    expect(authReplyForError(new WorkspaceMovingError()).responseCode).toBe(454);
  });

  test('list every error when there are several', () => {
    const errors = [
      { pointer: '/tags/0', code: 'invalid_format', detail: 'Must match x.' },
      { parameter: 'X-Postrider-Tag', code: 'invalid_value', detail: 'No.' },
    ];
    expect(
      replyForError(new RefusedError('validation_failed', '2 fields', { errors })).message,
    ).toBe('5.6.0 /tags/0: Must match x. X-Postrider-Tag: No.');
  });

  test('are one short line of ASCII for any input', () => {
    expect(toReplyLine('a\r\n250 ok\u0085b\u2028c “d” …é\0')).toBe('a 250 ok b c "d" ...?');
    expect(toReplyLine('x'.repeat(5_000))).toHaveLength(400);
  });
});
