import type { Actor } from '../../../accounts/people/team.ts';
import type { OperationRequest } from '../../operation.ts';

/** Returns the member who calls an operation that requires a session. */
export function actingMember({
  caller,
  signedIn,
}: Pick<OperationRequest<unknown, unknown, unknown>, 'caller' | 'signedIn'>): Actor {
  return { workspaceId: caller.workspaceId, personId: signedIn.person.id };
}
