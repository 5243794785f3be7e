import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import { encodeId, uuidv7 } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { listMovedByMember } from '../moved-workspace-store.ts';
import { rightsOf } from '../roles.ts';
import { publicDeletion, publicSuspension } from '../workspace.ts';
import { lockDeletions, restoreWorkspace, scheduleDeletion } from '../workspace-deletion.ts';
import { publicMovedWorkspace } from '../workspace-moved.ts';
import {
  findOriginBelowLimit,
  insertWorkspace,
  lockWorkspaces,
  renameWorkspace,
} from '../workspace-store.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { deletePendingChanges } from './email-change-store.ts';
import {
  countOwnedWorkspaces,
  findMembership,
  insertMembership,
  listMemberships,
  lockTeam,
  type Membership,
  ownsLimitedWorkspace,
  ownsSuspendedWorkspace,
} from './member-store.ts';
import { deleteTokens } from './one-time-token-store.ts';
import type { Passwords } from './passwords.ts';
import { checkPassword, validationFailed } from './person-input.ts';
import { findPerson, lockIfPasswordUnchanged, updateName, updatePassword } from './person-store.ts';
import { type Reauthentication, reauthenticate, wrongPassword } from './reauthenticate.ts';
import type { SecondFactor } from './second-factor.ts';
import { endSessionsOfPerson, limitOf, type Session } from './session-store.ts';
import type { ClientInfo, NewSession, Sessions, SignedInPerson } from './sessions.ts';
import { codeAttempts, type SignIn } from './sign-in.ts';
import { singleSignOnRequired } from './single-sign-on/connection.ts';

/**
 * A person's own account: name, password, second factor and workspaces. Changes that would let a
 * session thief keep access (a new password, another second factor) require the password again.
 */

interface AccountParts {
  pool: Pool;
  clock: Clock;
  passwords: Passwords;
  limits: AttemptLimits;
  sessions: Sessions;
  signIn: SignIn;
  secondFactor: SecondFactor;
  workspacesMax: number;
  deletionMs: number;
}

export class Account {
  readonly #parts: AccountParts;

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  /** Throws unless the person enters the password, and a code if they have a second factor. */
  reauthenticate(
    { person }: SignedInPerson,
    given: Reauthentication,
    client: ClientInfo,
  ): Promise<void> {
    return reauthenticate(this.#parts, person, given, client);
  }

  /** The signed-in person. Read again, because this request may have changed it. */
  async me({ person: { id }, session }: SignedInPerson) {
    const { pool } = this.#parts;
    const person = await findPerson(pool, id);
    if (!person) throw new RefusedError('not_found', 'This person does not exist.');
    const memberships = await listMemberships(pool, id, { limitedTo: limitOf(session) });
    const moved = session.isLimited ? [] : await listMovedByMember(pool, id);
    return {
      id: encodeId('usr', id),
      email: person.email,
      name: person.name,
      email_verified: person.emailVerifiedAtMs !== null,
      created_at: new Date(person.createdAtMs).toISOString(),
      delete_at: person.deleteAtMs === null ? null : new Date(person.deleteAtMs).toISOString(),
      instance_owner: person.isInstanceOwner && limitOf(session) === null,
      has_password: person.passwordHash !== null,
      totp_enabled: person.totpConfirmedAtMs !== null,
      recovery_codes_left: person.recoveryHashes.length,
      session: {
        id: encodeId('ses', session.id),
        created_at: new Date(session.createdAtMs).toISOString(),
        expires_at: new Date(session.endsAtMs).toISOString(),
        single_sign_on: session.workspaceId !== null,
        limited_to: session.isLimited ? encodeId('wsp', session.workspaceId as string) : null,
      },
      workspaces: memberships.map((one) => publicMembership(one, session)),
      moved_workspaces: moved.map(publicMovedWorkspace),
    };
  }

  async rename({ person }: SignedInPerson, name: string): Promise<void> {
    await updateName(this.#parts.pool, person.id, name);
  }

  /** Ends all other sessions and continues this one under a new secret. */
  async changePassword(
    { person }: SignedInPerson,
    change: { current: string; wanted: string },
    client: ClientInfo,
    presented: string | undefined,
  ): Promise<NewSession> {
    const { pool, clock, passwords, sessions } = this.#parts;
    await this.#confirmPassword(person, change.current, client, '/current_password');
    checkPassword(change.wanted, person, '/new_password');
    const hash = await passwords.hash(change.wanted);
    return inTransaction(pool, async (db) => {
      if (!(await lockIfPasswordUnchanged(db, person))) throw wrongPassword('/current_password');
      await updatePassword(db, person.id, hash);
      // Tokens that were requested under the old password must not outlive it.
      await deleteTokens(db, person.id, 'password_reset');
      await deleteTokens(db, person.id, 'second_factor');
      await deleteTokens(db, person.id, 'passkey');
      await deletePendingChanges(db, person.id);
      await endSessionsOfPerson(db, person.id, clock.now());
      return sessions.start(person, client, presented, db);
    });
  }

  async startSecondFactor({ person }: SignedInPerson, password: string, client: ClientInfo) {
    await this.#confirmPassword(person, password, client, '/password');
    return this.#parts.secondFactor.start(person.id);
  }

  async confirmSecondFactor(
    { person }: SignedInPerson,
    code: string,
    client: ClientInfo,
  ): Promise<string[]> {
    const { limits, secondFactor } = this.#parts;
    const attempts = codeAttempts(person, client);
    await limits.count(attempts);
    const codes = await secondFactor.confirm(person.id, code);
    if (!codes) {
      const detail = 'The code is wrong. Check that the clock on your phone is correct.';
      throw validationFailed([{ pointer: '/code', code: 'wrong_code', detail }]);
    }
    await limits.succeeded(attempts);
    return codes;
  }

  async newRecoveryCodes({ person }: SignedInPerson, password: string, client: ClientInfo) {
    await this.#confirmPassword(person, password, client, '/password');
    return this.#parts.secondFactor.newRecoveryCodes(person.id);
  }

  async removeSecondFactor(
    { person }: SignedInPerson,
    password: string,
    client: ClientInfo,
  ): Promise<void> {
    await this.#confirmPassword(person, password, client, '/password');
    await this.#parts.secondFactor.remove(person.id);
  }

  workspaces(
    { person, session }: SignedInPerson,
    page: { before?: string; limit: number },
  ): Promise<Membership[]> {
    const limitedTo = limitOf(session);
    return listMemberships(this.#parts.pool, person.id, { ...page, limitedTo });
  }

  /** Only owners can create workspaces: invited members must not be able to create tenants. */
  async createWorkspace({ person }: SignedInPerson, name: string): Promise<Membership> {
    const { pool, clock, workspacesMax } = this.#parts;
    const nowMs = clock.now();
    return inTransaction(pool, async (db) => {
      const owned = await countOwnedWorkspaces(db, person.id);
      if (owned === 0) {
        const detail = 'Only owners of a workspace can create another one.';
        throw new RefusedError('insufficient_role', detail);
      }
      if (await ownsSuspendedWorkspace(db, person.id)) {
        const detail = 'You cannot create a workspace while one of yours is suspended.';
        throw new RefusedError('workspace_suspended', detail);
      }
      if (await ownsLimitedWorkspace(db, person.id)) {
        const detail = 'The operator limits the messages of a workspace of yours.';
        const fix = 'Ask the operator to create a workspace.';
        throw new RefusedError('quota_exceeded', detail, { fix });
      }
      // Without the lock, concurrent requests would all see the last free place.
      await lockWorkspaces(db);
      const originId = await findOriginBelowLimit(db, person.id, workspacesMax);
      if (originId === undefined) {
        const detail = `At most ${workspacesMax} workspaces can be created from one workspace.`;
        const fix = 'Ask the operator to create one, or to raise WORKSPACES_MAX.';
        throw new RefusedError('quota_exceeded', detail, { fix });
      }
      const workspace = { id: uuidv7(nowMs), name, createdAtMs: nowMs };
      await insertWorkspace(db, workspace, originId);
      const workspaceId = workspace.id;
      const role = 'owner' as const;
      await insertMembership(db, { workspaceId, personId: person.id, role, createdAtMs: nowMs });
      return {
        workspaceId,
        workspaceName: name,
        workspaceCreatedAtMs: nowMs,
        suspension: null,
        deletion: null,
        role,
        isProviderRequired: false,
      };
    });
  }

  async renameWorkspace(
    { person, session }: SignedInPerson,
    id: string,
    name: string,
  ): Promise<Membership> {
    return inTransaction(this.#parts.pool, async (db) => {
      await lockTeam(db, id);
      const membership = await findMembership(db, id, person.id);
      if (!membership) throw new RefusedError('not_found', 'There is no workspace with this id.');
      if (needsSingleSignOn(membership, session)) throw singleSignOnRequired();
      if (!rightsOf(membership.role).has('write:workspace')) {
        const detail = `Your role (${membership.role}) does not include write:workspace.`;
        throw new RefusedError('insufficient_role', detail);
      }
      await renameWorkspace(db, id, name);
      return { ...membership, workspaceName: name };
    });
  }

  /** Only owners can delete a workspace, after they have typed its name. */
  async deleteWorkspace({ person }: SignedInPerson, id: string, name: string): Promise<Membership> {
    const { pool, clock, deletionMs } = this.#parts;
    return inTransaction(pool, async (db) => {
      await lockDeletions(db);
      await lockTeam(db, id);
      const membership = await ownedWorkspace(db, id, person.id);
      if (name !== membership.workspaceName) {
        const detail = 'This is not the name of the workspace.';
        throw validationFailed([{ pointer: '/name', code: 'wrong_name', detail }]);
      }
      if (membership.deletion) {
        throw new RefusedError('conflict', 'This workspace is already scheduled for deletion.');
      }
      const requestedAtMs = clock.now();
      const deletion = { requestedAtMs, deleteAtMs: requestedAtMs + deletionMs };
      await scheduleDeletion(db, id, deletion);
      return { ...membership, deletion };
    });
  }

  async restoreWorkspace({ person }: SignedInPerson, id: string): Promise<Membership> {
    return inTransaction(this.#parts.pool, async (db) => {
      await lockTeam(db, id);
      const membership = await ownedWorkspace(db, id, person.id);
      await restoreWorkspace(db, id);
      return { ...membership, deletion: null };
    });
  }

  async #confirmPassword(
    person: SignedInPerson['person'],
    password: string,
    client: ClientInfo,
    pointer: string,
  ): Promise<void> {
    if (await this.#parts.signIn.confirmPassword(person, password, client)) return;
    throw wrongPassword(pointer);
  }
}

async function ownedWorkspace(db: Queryable, id: string, personId: string): Promise<Membership> {
  const membership = await findMembership(db, id, personId);
  if (!membership) throw new RefusedError('not_found', 'There is no workspace with this id.');
  if (membership.role !== 'owner') {
    const detail = `Only owners can delete or restore a workspace. Your role is ${membership.role}.`;
    throw new RefusedError('insufficient_role', detail);
  }
  return membership;
}

/** Whether the session was started in another way than the workspace requires. */
function needsSingleSignOn(membership: Membership, session: Session): boolean {
  return membership.isProviderRequired && session.workspaceId !== membership.workspaceId;
}

export function publicMembership(membership: Membership, session: Session) {
  return {
    id: encodeId('wsp', membership.workspaceId),
    name: membership.workspaceName,
    role: membership.role,
    rights: [...rightsOf(membership.role)],
    created_at: new Date(membership.workspaceCreatedAtMs).toISOString(),
    suspended: publicSuspension(membership.suspension),
    deletion: publicDeletion(membership.deletion),
    single_sign_on_required: needsSingleSignOn(membership, session),
  };
}

export function publicSession(session: Session, currentId: string) {
  return {
    id: encodeId('ses', session.id),
    current: session.id === currentId,
    single_sign_on: session.workspaceId !== null,
    created_at: new Date(session.createdAtMs).toISOString(),
    last_seen_at: new Date(session.seenAtMs).toISOString(),
    expires_at: new Date(session.endsAtMs).toISOString(),
    ip: session.ip,
    user_agent: session.userAgent,
  };
}
