import type { Actor } from '../../../accounts/people/team.ts';
import type { OperationRequest } from '../../operation.ts';

/** The person behind an operation that only people can call. */
export function actingMember({
  caller,
  signedIn,
}: Pick<OperationRequest<unknown, unknown, unknown>, 'caller' | 'signedIn'>): Actor {
  return { workspaceId: caller.workspaceId, personId: signedIn.person.id };
}
