import type { Actor } from '../../../accounts/people/team.ts';
import type { Request } from '../../operation.ts';

/** The person behind an operation that only people can call. */
export function actorOf({
  caller,
  signedIn,
}: Pick<Request<unknown, unknown, unknown>, 'caller' | 'signedIn'>): Actor {
  return { workspaceId: caller.workspaceId, personId: signedIn.person.id };
}
