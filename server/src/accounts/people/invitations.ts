import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import { encodeId, uuidv7 } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { parseMailbox } from '../../mail/address.ts';
import { findMovedBySecret } from '../moved-workspace-store.ts';
import type { Role } from '../roles.ts';
import { WorkspaceMovedError } from '../workspace-moved.ts';
import { findWorkspace } from '../workspace-store.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import {
  countOpenInvitations,
  findInvitation,
  findOpenInvitation,
  type Invitation,
  insertInvitation,
  listInvitations,
  markAccepted,
  recordInvitationMessage,
  replaceLink,
  revokeInvitation,
  revokeOpenForEmail,
} from './invitation-store.ts';
import { findMemberByEmail, insertMembership, lockTeam } from './member-store.ts';
import type { Passwords } from './passwords.ts';
import { checkPersonInput, validationFailed } from './person-input.ts';
import {
  findPersonByEmail,
  insertPerson,
  newPerson,
  type Person,
  setEmailVerified,
} from './person-store.ts';
import { hashSecret, newSecret } from './secret-token.ts';
import type { ClientInfo, NewSession, Sessions, SignedInPerson } from './sessions.ts';
import { invitationEmail, type SendSystemEmail } from './system-emails.ts';
import { type Actor, checkCanManageRole, lockTeamAndGetRole } from './team.ts';

/**
 * Invitations to a workspace. The link is emailed to the address, or returned to the inviter when
 * no domain can send yet. It works once, for seven days. It creates an account for that address, or
 * admits the existing account after its owner has signed in.
 *
 * Only a link that was emailed verifies the address: anyone may have received another one. Such a link
 * does not admit an existing account whose address is not verified, which may be someone else's.
 */

const LINK_MS = 7 * 24 * 60 * 60 * 1000;
const OPEN_MAX = 100;

export interface AcceptanceInput {
  token: string;
  /** For an invitee without an account. */
  name?: string;
  password?: string;
}

interface InvitationParts {
  pool: Pool;
  clock: Clock;
  limits: AttemptLimits;
  passwords: Passwords;
  sessions: Sessions;
  sendSystemEmail: SendSystemEmail;
  appUrl: string;
}

/** A member, or the operator, who has no account. */
type Inviter = Pick<Person, 'name'> & { id: string | null };

const OPERATOR: Inviter = { id: null, name: 'The operator of this server' };

export interface SentInvitation {
  invitation: Invitation;
  /** Null when it was emailed. */
  link: string | null;
}

export class Invitations {
  readonly #parts: InvitationParts;

  constructor(parts: InvitationParts) {
    this.#parts = parts;
  }

  /** The link is returned only when it could not be emailed. */
  create(
    actor: Actor,
    inviter: Person,
    wanted: { email: string; role: Role },
  ): Promise<SentInvitation> {
    return this.#create(actor.workspaceId, inviter, wanted, async (db) =>
      checkCanManageRole(await lockTeamAndGetRole(db, actor), wanted.role),
    );
  }

  /** The operator can invite into every workspace, also as its first owner. */
  createAsOperator(
    workspaceId: string,
    wanted: { email: string; role: Role },
  ): Promise<SentInvitation> {
    return this.#create(workspaceId, OPERATOR, wanted, (db) => lockTeam(db, workspaceId));
  }

  async #create(
    workspaceId: string,
    inviter: Inviter,
    wanted: { email: string; role: Role },
    lockAndCheck: (db: Queryable) => Promise<void>,
  ): Promise<SentInvitation> {
    const { pool, clock } = this.#parts;
    const parsed = parseMailbox(wanted.email);
    if (!parsed.ok) {
      throw validationFailed([{ pointer: '/email', code: 'invalid_email', detail: parsed.detail }]);
    }
    const nowMs = clock.now();
    const token = newSecret();
    const invitation: Invitation = {
      workspaceId,
      id: uuidv7(nowMs),
      email: parsed.mailbox.email,
      emailKey: parsed.mailbox.key,
      role: wanted.role,
      invitedBy: inviter.id,
      createdAtMs: nowMs,
      endsAtMs: nowMs + LINK_MS,
      acceptedAtMs: null,
      revokedAtMs: null,
      messageId: null,
    };
    await inTransaction(pool, async (db) => {
      await lockAndCheck(db);
      if (await findMemberByEmail(db, workspaceId, invitation.emailKey)) {
        throw new RefusedError(
          'conflict',
          `${invitation.email} is already a member of this workspace.`,
        );
      }
      await revokeOpenForEmail(db, workspaceId, invitation.emailKey, nowMs);
      if ((await countOpenInvitations(db, workspaceId, nowMs)) >= OPEN_MAX) {
        throw new RefusedError(
          'conflict',
          `${OPEN_MAX} invitations are open. Revoke some of them first.`,
        );
      }
      await insertInvitation(db, invitation, hashSecret(token));
    });
    return this.#send(invitation, inviter, token);
  }

  /** Sends a new link, which replaces the earlier one. It is returned when it could not be emailed. */
  async resend(actor: Actor, inviter: Person, id: string): Promise<SentInvitation> {
    const { invitation, token } = await this.#renew(actor, inviter, id);
    return this.#send(invitation, inviter, token);
  }

  /** Creates a new link, which replaces the earlier one, for the inviter to pass on. */
  async createLink(
    actor: Actor,
    inviter: Person,
    id: string,
  ): Promise<SentInvitation & { link: string }> {
    const { invitation, token } = await this.#renew(actor, inviter, id);
    return { invitation, link: this.#linkWith(token) };
  }

  /** Also for an expired invitation. The token is stored as a hash only, so the link must be a new one. */
  async #renew(
    actor: Actor,
    inviter: Person,
    id: string,
  ): Promise<{ invitation: Invitation; token: string }> {
    const { pool, clock } = this.#parts;
    const token = newSecret();
    return inTransaction(pool, async (db) => {
      const actsAs = await lockTeamAndGetRole(db, actor);
      const found = await findInvitation(db, actor.workspaceId, id, 'for update');
      if (!found) throw noInvitation();
      checkCanManageRole(actsAs, found.role);
      if (found.acceptedAtMs !== null || found.revokedAtMs !== null) throw notOpen();
      const endsAtMs = clock.now() + LINK_MS;
      const invitation = { ...found, invitedBy: inviter.id, endsAtMs, messageId: null };
      await replaceLink(db, invitation, hashSecret(token));
      return { invitation, token };
    });
  }

  async #send(invitation: Invitation, inviter: Inviter, token: string): Promise<SentInvitation> {
    const { pool, sendSystemEmail } = this.#parts;
    const { workspaceId, email, role } = invitation;
    const workspace = await findWorkspace(pool, workspaceId);
    const link = this.#linkWith(token);
    const variables = { inviter: inviter.name, workspace: workspace?.name ?? '', role, link };
    const messageId = await sendSystemEmail(invitationEmail(email, variables), [workspaceId]);
    if (messageId === undefined) return { invitation, link };
    await recordInvitationMessage(pool, hashSecret(token), messageId);
    return { invitation: { ...invitation, messageId }, link: null };
  }

  #linkWith(token: string): string {
    return `${this.#parts.appUrl}/app/invitation#${token}`;
  }

  list(workspaceId: string, page: { before?: string; limit: number }): Promise<Invitation[]> {
    return listInvitations(this.#parts.pool, workspaceId, page);
  }

  async revoke(actor: Actor, id: string): Promise<void> {
    const { pool, clock } = this.#parts;
    await inTransaction(pool, async (db) => {
      const actsAs = await lockTeamAndGetRole(db, actor);
      const invitation = await findInvitation(db, actor.workspaceId, id);
      if (!invitation) throw noInvitation();
      checkCanManageRole(actsAs, invitation.role);
      if (await revokeInvitation(db, actor.workspaceId, id, clock.now())) return;
      throw notOpen();
    });
  }

  /** What the holder of the link may see before accepting. */
  inspect(token: string, client: ClientInfo) {
    return this.#parts.limits.limitBySource(client.ip, () => this.#inspect(token));
  }

  async #inspect(token: string) {
    const { pool, clock } = this.#parts;
    const found = await findOpenInvitation(pool, hashSecret(token), clock.now());
    if (!found) throw await this.#unknownLink(hashSecret(token));
    return {
      workspace_name: found.workspaceName,
      email: found.email,
      role: found.role,
      invited_by_name: found.inviterName,
      account_exists: (await findPersonByEmail(pool, found.emailKey)) !== undefined,
      expires_at: new Date(found.endsAtMs).toISOString(),
    };
  }

  /**
   * Accepts with the signed-in account when it has the invited address, or else creates the
   * account.
   */
  accept(given: AcceptanceInput, presented: string | undefined, client: ClientInfo) {
    return this.#parts.limits.limitBySource(client.ip, () =>
      this.#accept(given, presented, client),
    );
  }

  async #accept(
    given: AcceptanceInput,
    presented: string | undefined,
    client: ClientInfo,
  ): Promise<SignedInPerson | NewSession> {
    const { pool, clock, sessions } = this.#parts;
    const hash = hashSecret(given.token);
    const found = presented === undefined ? undefined : await sessions.find(presented, undefined);
    // The provider of one workspace must not join an account to another one.
    const signedIn = found?.session.isLimited ? undefined : found;
    const open = await findOpenInvitation(pool, hash, clock.now());
    if (!open) throw await this.#unknownLink(hash);
    if (signedIn?.person.emailKey === open.emailKey) {
      await inTransaction(pool, async (db) => {
        const invitation = await this.#join(db, hash, signedIn.person);
        if (wasEmailed(invitation)) await setEmailVerified(db, signedIn.person.id, clock.now());
        else if (signedIn.person.emailVerifiedAtMs === null) throw emailUnverified();
      });
      return signedIn;
    }
    if (await findPersonByEmail(pool, open.emailKey)) throw signInFirst(open.email);
    return this.#acceptWithNewAccount(hash, open, given, presented, client);
  }

  async #unknownLink(hash: Buffer): Promise<RefusedError> {
    const { pool, clock } = this.#parts;
    const moved = await findMovedBySecret(pool, hash, clock.now());
    return moved ? new WorkspaceMovedError(moved) : invalidLink();
  }

  async #acceptWithNewAccount(
    hash: Buffer,
    open: Invitation,
    given: AcceptanceInput,
    presented: string | undefined,
    client: ClientInfo,
  ): Promise<NewSession> {
    const { pool, clock, passwords, sessions } = this.#parts;
    const { name, password } = given;
    if (name === undefined || password === undefined) {
      const detail = 'Required: this address has no account yet.';
      const missing = { name, password };
      const fields = (['name', 'password'] as const).filter((one) => missing[one] === undefined);
      throw validationFailed(
        fields.map((one) => ({ pointer: `/${one}`, code: 'required', detail })),
      );
    }
    checkPersonInput({ email: open.email, name, password });
    const nowMs = clock.now();
    const passwordHash = await passwords.hash(password);
    const { email, emailKey } = open;
    const emailVerifiedAtMs = wasEmailed(open) ? nowMs : null;
    const person = newPerson({ email, emailKey, name, passwordHash, emailVerifiedAtMs }, nowMs);
    return inTransaction(pool, async (db) => {
      if (!(await insertPerson(db, person))) throw signInFirst(open.email);
      await this.#join(db, hash, person);
      return sessions.start(person, client, presented, db);
    });
  }

  /** Checked again under the lock: the link may have been used or revoked in the meantime. */
  async #join(db: Queryable, hash: Buffer, person: Person): Promise<Invitation> {
    const nowMs = this.#parts.clock.now();
    const invitation = await findOpenInvitation(db, hash, nowMs, 'for update of i');
    if (!invitation) throw invalidLink();
    const { workspaceId, role } = invitation;
    await insertMembership(db, { workspaceId, personId: person.id, role, createdAtMs: nowMs });
    await markAccepted(db, invitation, nowMs);
    return invitation;
  }
}

/** Whether its current link was emailed, and not returned to the inviter. */
function wasEmailed({ messageId }: Invitation): boolean {
  return messageId !== null;
}

function noInvitation(): RefusedError {
  return new RefusedError('not_found', 'There is no invitation with this id.');
}

function notOpen(): RefusedError {
  return new RefusedError('conflict', 'This invitation is no longer open.');
}

function invalidLink(): RefusedError {
  return new RefusedError(
    'invalid_link',
    'This invitation was accepted, was revoked, has expired, or never existed.',
    { fix: 'Ask for a new invitation.' },
  );
}

function signInFirst(email: string): RefusedError {
  return new RefusedError('sign_in_first', `Sign in as ${email}, then accept the invitation.`);
}

function emailUnverified(): RefusedError {
  return new RefusedError(
    'email_unverified',
    'This link was not sent by email, and the address of your account is not verified.',
    { fix: 'Verify your address in Settings → Your account, then open the link again.' },
  );
}

export function publicInvitation(invitation: Invitation, nowMs: number) {
  return {
    id: encodeId('inv', invitation.id),
    email: invitation.email,
    role: invitation.role,
    status: statusOf(invitation, nowMs),
    invited_by: invitation.invitedBy === null ? 'operator' : encodeId('usr', invitation.invitedBy),
    created_at: new Date(invitation.createdAtMs).toISOString(),
    expires_at: new Date(invitation.endsAtMs).toISOString(),
  };
}

export const INVITATION_STATUSES = ['pending', 'accepted', 'revoked', 'expired'] as const;

function statusOf(invitation: Invitation, nowMs: number): (typeof INVITATION_STATUSES)[number] {
  if (invitation.acceptedAtMs !== null) return 'accepted';
  if (invitation.revokedAtMs !== null) return 'revoked';
  return invitation.endsAtMs > nowMs ? 'pending' : 'expired';
}
