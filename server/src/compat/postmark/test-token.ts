import type { IncomingHttpHeaders } from 'node:http';
import { newId } from '../../lib/ids.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';

/**
 * A token that anyone can use to try requests: https://postmarkapp.com/developer/api/overview. An email
 * is checked as far as that is possible without a workspace, and nothing is stored, rendered or sent.
 */
export const SHARED_TEST_TOKEN = 'POSTMARK_API_TEST';

export function isSharedTestToken(headers: IncomingHttpHeaders): boolean {
  return headers['x-postmark-server-token'] === SHARED_TEST_TOKEN;
}

/** Room for the 50 recipients that Postmark allows. Parsing addresses is the expensive part. */
const FIELD_CHARS_MAX = 10_000;
const ADDRESS_FIELDS = ['From', 'To', 'Cc', 'Bcc', 'ReplyTo'] as const;

export function checkTestEmail<E extends object>(
  { checkBody }: Pick<CompatDependencies, 'checkBody'>,
  email: E & Partial<Record<(typeof ADDRESS_FIELDS)[number], string | null>>,
  toSendBody: (email: E) => object,
): void {
  const tooLong = ADDRESS_FIELDS.filter((field) => (email[field]?.length ?? 0) > FIELD_CHARS_MAX);
  if (tooLong.length > 0) {
    const detail = `With ${SHARED_TEST_TOKEN}, addresses can have at most ${FIELD_CHARS_MAX} characters.`;
    throw invalidFields(
      tooLong.map((field) => ({ pointer: `/${field}`, code: 'too_long', detail })),
    );
  }
  checkBody('sendTransactional', toSendBody(email) as Record<string, unknown>);
}

/** The answer to an email that was only checked. */
export function testJob({ To }: { To?: string | null }, nowMs: number): object {
  return {
    To: To ?? '',
    SubmittedAt: new Date(nowMs).toISOString(),
    MessageID: newId('msg', nowMs),
    ErrorCode: 0,
    Message: 'Test job accepted',
  };
}
