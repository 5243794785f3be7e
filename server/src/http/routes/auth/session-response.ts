import type { People } from '../../../accounts/people/people.ts';
import type { BegunSession, SignedIn } from '../../../accounts/people/sessions.ts';
import type { Reply } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';

/** What the operations of people work with. */
export interface PeopleOperationParts {
  people: People;
  cookie: SessionCookie;
  baseUrl: string;
}

/** The person is in. The session's secret travels in the cookie and nowhere else. */
export async function signedInReply(
  parts: PeopleOperationParts,
  status: number,
  signedIn: SignedIn | BegunSession,
): Promise<Reply> {
  const me = await parts.people.account.me(signedIn);
  return {
    status,
    body: { second_factor_required: false, challenge: null, me },
    ...('token' in signedIn ? { headers: { 'set-cookie': parts.cookie.set(signedIn.token) } } : {}),
  };
}
