import type { People } from '../../../accounts/people/people.ts';
import type { NewSession, SignedInPerson } from '../../../accounts/people/sessions.ts';
import type { OperationResponse } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';

/** The response after signing in. The session token is sent only in the cookie. */
export async function sessionResponse(
  deps: { people: People; cookie: SessionCookie },
  status: number,
  signedIn: SignedInPerson | NewSession,
): Promise<OperationResponse> {
  const me = await deps.people.account.me(signedIn);
  return {
    status,
    body: { second_factor_required: false, challenge: null, me },
    ...('token' in signedIn ? { headers: { 'set-cookie': deps.cookie.set(signedIn.token) } } : {}),
  };
}
