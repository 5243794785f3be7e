import { RefusedError } from '../../lib/refused-error.ts';
import type { SignedInPerson } from './sessions.ts';

/**
 * Instance owners manage the operator keys of the server. The first account is one, because only the operator
 * can create it; the command line appoints and dismisses others. No role in a workspace makes anyone one.
 */
export function requireInstanceOwner({ person }: SignedInPerson): void {
  if (person.isInstanceOwner) return;
  const detail = 'Only an instance owner can manage operator keys.';
  const fix = 'The operator of the server appoints one: postrider people add-instance-owner.';
  throw new RefusedError('insufficient_role', detail, { fix });
}
