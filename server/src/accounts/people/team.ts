import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import type { SearchedPage } from '../../db/statements/text-search.ts';
import { encodeId } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { parseMailbox } from '../../mail/address.ts';
import { canManageRole, type Role, rightsOf } from '../roles.ts';
import { revokeOpenByInviter } from './invitation-store.ts';
import {
  deleteMembership,
  findMember,
  insertMembership,
  listMembers,
  lockTeam,
  type Member,
  otherOwnerStays,
  updateRole,
} from './member-store.ts';
import { validationFailed } from './person-input.ts';
import { findPersonByEmail } from './person-store.ts';

/**
 * The members of a workspace and their roles. A workspace always has an owner, and only owners can
 * add or remove owners. Changes lock the team first and only then read the role of the acting
 * member: of two members who remove each other, one succeeds and the other is no longer a member.
 */

/** A member who changes other members. */
export interface Actor {
  workspaceId: string;
  personId: string;
}

export class Team {
  readonly #pool: Pool;
  readonly #clock: Clock;

  constructor(parts: { pool: Pool; clock: Clock }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
  }

  list(workspaceId: string, page: SearchedPage): Promise<Member[]> {
    return listMembers(this.#pool, workspaceId, page);
  }

  /** The operator adds an existing account, or changes the role of a member. */
  async addAsOperator(workspaceId: string, email: string, role: Role): Promise<Member> {
    const parsed = parseMailbox(email);
    if (!parsed.ok) {
      throw validationFailed([{ pointer: '/email', code: 'invalid_email', detail: parsed.detail }]);
    }
    return inTransaction(this.#pool, async (db) => {
      await lockTeam(db, workspaceId);
      const person = await findPersonByEmail(db, parsed.mailbox.key);
      if (!person) {
        const detail = `${parsed.mailbox.email} has no account on this server. Invite the address.`;
        throw new RefusedError('conflict', detail);
      }
      const createdAtMs = this.#clock.now();
      const membership = { workspaceId, personId: person.id, role, createdAtMs };
      if (await insertMembership(db, membership)) {
        if (person.emailVerifiedAtMs === null) throw emailUnverified(parsed.mailbox.email);
      } else {
        const member = await this.#member(db, workspaceId, person.id);
        if (member.role === 'owner' && role !== 'owner') {
          await this.#checkNotLastOwner(db, workspaceId, person.id);
        }
        await updateRole(db, workspaceId, person.id, role);
      }
      return this.#member(db, workspaceId, person.id);
    });
  }

  async removeAsOperator(workspaceId: string, personId: string): Promise<void> {
    await inTransaction(this.#pool, async (db) => {
      await lockTeam(db, workspaceId);
      await this.#leave(db, workspaceId, await this.#member(db, workspaceId, personId));
    });
  }

  async changeRole(actor: Actor, personId: string, role: Role): Promise<Member> {
    return inTransaction(this.#pool, async (db) => {
      const actsAs = await lockTeamAndGetRole(db, actor);
      const member = await this.#member(db, actor.workspaceId, personId);
      checkCanManageRole(actsAs, member.role);
      checkCanManageRole(actsAs, role);
      if (member.role === 'owner' && role !== 'owner') {
        await this.#checkNotLastOwner(db, actor.workspaceId, personId);
      }
      await updateRole(db, actor.workspaceId, personId, role);
      if (member.role !== role) await this.#revokeInvitationsOf(db, actor.workspaceId, personId);
      return { ...member, role };
    });
  }

  async remove(actor: Actor, personId: string): Promise<void> {
    await inTransaction(this.#pool, async (db) => {
      const actsAs = await lockTeamAndGetRole(db, actor);
      const member = await this.#member(db, actor.workspaceId, personId);
      checkCanManageRole(actsAs, member.role);
      await this.#leave(db, actor.workspaceId, member);
    });
  }

  /** Everyone can leave, except the last owner. */
  async leave(workspaceId: string, personId: string): Promise<void> {
    await inTransaction(this.#pool, async (db) => {
      await lockTeam(db, workspaceId);
      const member = await findMember(db, workspaceId, personId);
      if (!member) throw new RefusedError('not_found', 'There is no workspace with this id.');
      await this.#leave(db, workspaceId, member);
    });
  }

  async #member(db: Queryable, workspaceId: string, personId: string): Promise<Member> {
    const member = await findMember(db, workspaceId, personId);
    if (!member) throw new RefusedError('not_found', 'There is no member with this id.');
    return member;
  }

  async #leave(db: Queryable, workspaceId: string, member: Member): Promise<void> {
    if (member.role === 'owner') await this.#checkNotLastOwner(db, workspaceId, member.personId);
    await deleteMembership(db, workspaceId, member.personId);
    await this.#revokeInvitationsOf(db, workspaceId, member.personId);
  }

  async #checkNotLastOwner(db: Queryable, workspaceId: string, personId: string): Promise<void> {
    if (await otherOwnerStays(db, workspaceId, personId)) return;
    throw new RefusedError(
      'last_owner',
      'The last owner cannot leave the workspace or be demoted. Make another member an owner first.',
    );
  }

  /** Invitations made in a role that the member no longer has are void. */
  async #revokeInvitationsOf(db: Queryable, workspaceId: string, personId: string): Promise<void> {
    await revokeOpenByInviter(db, workspaceId, personId, this.#clock.now());
  }
}

/**
 * The role of the acting member, read under the lock: it may have changed since the request was
 * authenticated. The team stays locked until the transaction ends.
 */
export async function lockTeamAndGetRole(db: Queryable, actor: Actor): Promise<Role> {
  await lockTeam(db, actor.workspaceId);
  const member = await findMember(db, actor.workspaceId, actor.personId);
  if (!member) {
    const detail = 'This workspace does not exist, or you are not a member of it.';
    throw new RefusedError('not_a_member', detail);
  }
  if (!rightsOf(member.role).has('write:members')) {
    const detail = `Your role (${member.role}) does not include write:members.`;
    throw new RefusedError('insufficient_role', detail);
  }
  return member.role;
}

export function checkCanManageRole(actsAs: Role, role: Role): void {
  if (canManageRole(actsAs, role)) return;
  throw new RefusedError(
    'insufficient_role',
    `Only an owner can add, change or remove an owner. Your role is ${actsAs}.`,
  );
}

/** The account may have been created by someone else than the owner of the address. */
function emailUnverified(email: string): RefusedError {
  return new RefusedError('email_unverified', `The account of ${email} is not verified.`, {
    fix: 'Invite the address, or ask its user to verify it in the settings of the account.',
  });
}

export function publicMember(member: Member) {
  return {
    id: encodeId('usr', member.personId),
    email: member.email,
    name: member.name,
    role: member.role,
    joined_at: new Date(member.joinedAtMs).toISOString(),
    totp_enabled: member.hasSecondFactor,
    delete_at: member.deleteAtMs === null ? null : new Date(member.deleteAtMs).toISOString(),
  };
}
