import type { Caller } from '../../../accounts/caller.ts';
import type { Actor } from '../../../accounts/people/team.ts';
import { assert } from '../../../base/assert.ts';

/** The person behind an operation that only people can call. */
export function actorOf({ workspaceId, role }: Caller): Actor {
  assert(role !== undefined, 'rights over the team are admitted with a role');
  return { workspaceId, role };
}
