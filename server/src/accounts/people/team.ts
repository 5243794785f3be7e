import type { Clock } from '../../base/clock.ts';
import { encodeId } from '../../base/ids.ts';
import { RefusedError } from '../../base/refused-error.ts';
import { inTransaction, type Pool, type Queryable } from '../../storage/pool.ts';
import { mayGiveOrTake, type Role } from '../roles.ts';
import { revokeOpenBy } from './invitation-store.ts';
import {
  countOwners,
  deleteMembership,
  findMember,
  listMembers,
  lockTeam,
  type Member,
  updateRole,
} from './member-store.ts';

/**
 * Who belongs to a workspace, and as what. A workspace always has an owner, and only owners make or
 * unmake owners. Changes take the workspace one at a time, so that two owners who remove each other
 * do not both succeed.
 */

/** A member who acts on others. */
export interface Actor {
  workspaceId: string;
  role: Role;
}

export class Team {
  readonly #pool: Pool;
  readonly #clock: Clock;

  constructor(parts: { pool: Pool; clock: Clock }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
  }

  list(workspaceId: string, page: { before?: string; limit: number }): Promise<Member[]> {
    return listMembers(this.#pool, workspaceId, page);
  }

  async changeRole(actor: Actor, personId: string, role: Role): Promise<Member> {
    return inTransaction(this.#pool, async (db) => {
      const member = await this.#lock(db, actor.workspaceId, personId);
      refuseUnlessAllowed(actor, member.role);
      refuseUnlessAllowed(actor, role);
      if (member.role === 'owner' && role !== 'owner') await this.#keepAnOwner(db, actor);
      await updateRole(db, actor.workspaceId, personId, role);
      if (member.role !== role) await this.#revokeInvitationsOf(db, actor.workspaceId, personId);
      return { ...member, role };
    });
  }

  async remove(actor: Actor, personId: string): Promise<void> {
    await inTransaction(this.#pool, async (db) => {
      const member = await this.#lock(db, actor.workspaceId, personId);
      refuseUnlessAllowed(actor, member.role);
      await this.#leave(db, actor.workspaceId, member);
    });
  }

  /** Everybody may go, except the last owner. */
  async leave(workspaceId: string, personId: string): Promise<void> {
    await inTransaction(this.#pool, async (db) => {
      await lockTeam(db, workspaceId);
      const member = await findMember(db, workspaceId, personId);
      if (!member) throw new RefusedError('not_found', 'There is no workspace with this id.');
      await this.#leave(db, workspaceId, member);
    });
  }

  async #lock(db: Queryable, workspaceId: string, personId: string): Promise<Member> {
    await lockTeam(db, workspaceId);
    const member = await findMember(db, workspaceId, personId);
    if (!member) throw new RefusedError('not_found', 'There is no member with this id.');
    return member;
  }

  async #leave(db: Queryable, workspaceId: string, member: Member): Promise<void> {
    if (member.role === 'owner') await this.#keepAnOwner(db, { workspaceId });
    await deleteMembership(db, workspaceId, member.personId);
    await this.#revokeInvitationsOf(db, workspaceId, member.personId);
  }

  async #keepAnOwner(db: Queryable, { workspaceId }: { workspaceId: string }): Promise<void> {
    if ((await countOwners(db, workspaceId)) > 1) return;
    throw new RefusedError(
      'last_owner',
      'This is the only owner of the workspace. Make somebody else an owner first.',
    );
  }

  /** What they promised in a role they no longer have is void. */
  async #revokeInvitationsOf(db: Queryable, workspaceId: string, personId: string): Promise<void> {
    await revokeOpenBy(db, workspaceId, personId, this.#clock.now());
  }
}

export function refuseUnlessAllowed(actor: Actor, role: Role): void {
  if (mayGiveOrTake(actor.role, role)) return;
  throw new RefusedError(
    'insufficient_role',
    `Only an owner makes, changes or removes an owner. Your role is ${actor.role}.`,
  );
}

export function publicMember(member: Member) {
  return {
    id: encodeId('usr', member.personId),
    email: member.email,
    name: member.name,
    role: member.role,
    joined_at: new Date(member.joinedAtMs).toISOString(),
    totp_enabled: member.hasSecondFactor,
  };
}
