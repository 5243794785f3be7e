import { inTransaction, type Pool, type Queryable } from '../../../db/connections/pool.ts';
import type { Encryptor } from '../../../lib/crypto/encryption.ts';
import { encodeId } from '../../../lib/ids.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { parseMailbox } from '../../../mail/address.ts';
import type { Role } from '../../roles.ts';
import type { AccountMailer } from '../account-mailer.ts';
import type { AttemptLimits } from '../attempt-limits.ts';
import { type Credential, claimAccount, reportRemoved } from '../claim-account.ts';
import { revokeOpenByInviter } from '../invitation-store.ts';
import {
  countMembers,
  findMembership,
  insertMembership,
  lockTeam,
  updateRole,
} from '../member-store.ts';
import { findPersonByEmail, insertPerson, newPerson, type Person } from '../person-store.ts';
import { hashSecret } from '../secret-token.ts';
import { endSessionsOfPerson, type SessionProvider } from '../session-store.ts';
import type { ClientInfo, NewSession, Sessions } from '../sessions.ts';
import type { Claims } from './claims.ts';
import { type Connection, callbackId, providedRole } from './connection.ts';
import { findConnection } from './connection-store.ts';
import type { Connections, SignInUrls } from './connections.ts';
import type { IdentityProviders } from './identity-provider.ts';
import { findPersonOfIdentity, insertIdentity, markSignInUsed } from './identity-store.ts';
import { type PendingSignIn, type PendingSignIns, valuesOf } from './pending-sign-in.ts';
import { type FailureReason, SignInFailure } from './sign-in-failure.ts';

/**
 * Sign-in with an identity provider. A browser and a workspace come in, then the response of the
 * provider; a session goes out. Workspaces choose their providers and do not trust each other, so what
 * the provider of a workspace says counts in that workspace only: it finds members by their address, it
 * creates accounts, and its sessions are limited to the workspace. It never finds the account of someone
 * who is not a member. The provider in the settings of the server is trusted like the operator, and
 * verifies addresses.
 */

export interface StartedSignIn {
  /** Where the browser goes. */
  url: string;
  /** The value of the browser's cookie. */
  cookie: string;
}

/** What a provider sends back through the browser. */
export interface ProviderResponse {
  /** The last part of the path; undefined if there is none. */
  callbackId: string | undefined;
  parameters: URLSearchParams;
  /** The secret of the session that the browser had, which ends: the browser gets another one. */
  presented: string | undefined;
}

/** What the sign-in changed. */
export interface CompletedSignIn {
  session: NewSession;
  workspaceId: string;
  /** The path below /app to open. */
  next: string;
  /** The role, if the person became a member or got another role. */
  change: { kind: 'joined' | 'role_changed'; role: Role } | undefined;
  /** Set up by someone before this sign-in, which is the first proof of the address. */
  removed: Credential[];
}

/** A failed sign-in with the workspace, as far as it is known. */
export interface FailedSignIn {
  reason: FailureReason;
  workspaceId: string | undefined;
  /** For the log of the server. */
  error: unknown;
}

/** A provider can create as many accounts as it likes, within this limit. */
const MEMBERS_MAX = 10_000;
const NAME_CHARS_MAX = 100;
/** A longer one would make a URL that servers refuse. */
const ID_TOKEN_CHARS_MAX = 4_000;
/** Signing out waits this long for the metadata of the provider. */
const SIGN_OUT_WAIT_MS = 3_000;

interface SingleSignOnParts {
  pool: Pool;
  clock: Clock;
  limits: AttemptLimits;
  sessions: Sessions;
  connections: Connections;
  providers: IdentityProviders;
  pending: PendingSignIns;
  mailer: AccountMailer;
  encryptor: Encryptor;
  appUrl: string;
}

export class SingleSignOn {
  readonly #parts: SingleSignOnParts;
  readonly connections: Connections;

  constructor(parts: SingleSignOnParts) {
    this.#parts = parts;
    this.connections = parts.connections;
  }

  urlsFor(connection: Pick<Connection, 'workspaceId' | 'managedBy'>): SignInUrls {
    const { appUrl, providers } = this.#parts;
    const signInUrl = `${appUrl}/app/sign-in?workspace=${encodeId('wsp', connection.workspaceId)}`;
    return { redirectUri: providers.redirectUri(connection), signInUrl };
  }

  /** Without a workspace, the provider of the server. */
  async start(
    workspaceId: string | undefined,
    next: string,
    client: ClientInfo,
  ): Promise<StartedSignIn | FailedSignIn> {
    const { clock, limits, connections, providers, pending } = this.#parts;
    try {
      return await limits.limitBySource(client.ip, async () => {
        const connection = await connections.forSignIn(workspaceId);
        if (!connection) throw new SignInFailure('not_configured');
        const started = pending.start(connection.workspaceId, next, clock.now());
        const url = await providers.authorizationUrl(connection, valuesOf(started.pending));
        return { url: url.href, cookie: started.text };
      });
    } catch (error) {
      return failed(error, workspaceId);
    }
  }

  /** `cookie`: the value that `start` returned, if the browser has one. */
  async complete(
    cookie: string | undefined,
    response: ProviderResponse,
    client: ClientInfo,
  ): Promise<CompletedSignIn | FailedSignIn> {
    const { clock, limits, pending } = this.#parts;
    const started = cookie === undefined ? undefined : pending.read(cookie);
    try {
      return await limits.limitBySource(client.ip, async () => {
        if (!started) throw new SignInFailure('other_browser');
        if (started.endsAtMs <= clock.now()) throw new SignInFailure('expired');
        if (response.parameters.get('state') !== valuesOf(started).state) {
          throw new SignInFailure('other_browser');
        }
        return await this.#complete(started, response, client);
      });
    } catch (error) {
      return failed(error, started?.workspaceId);
    }
  }

  /**
   * Where the browser goes to sign out of the provider that started a session; undefined if it has no such
   * page or does not answer, because signing out here must not depend on it.
   */
  async signOutUrl({ workspaceId, idToken }: SessionProvider): Promise<string | undefined> {
    const { clock, connections, providers } = this.#parts;
    const find = async () => {
      const connection = await connections.forSignIn(workspaceId);
      const hint = idToken === null ? undefined : this.#decrypt(idToken);
      return connection && (await providers.signOutUrl(connection, hint))?.href;
    };
    const { promise: waited, resolve } = Promise.withResolvers<undefined>();
    const timer = clock.after(SIGN_OUT_WAIT_MS, () => resolve(undefined));
    try {
      return await Promise.race([find().catch(() => undefined), waited]);
    } finally {
      timer.cancel();
    }
  }

  /** Where the provider sends a browser that has signed out. */
  isSignOutReturn({ parameters }: Pick<ProviderResponse, 'parameters'>): boolean {
    return !parameters.has('code') && !parameters.has('error');
  }

  #decrypt(idToken: Buffer): string {
    return this.#parts.encryptor.decrypt(idToken).toString();
  }

  async #complete(
    started: PendingSignIn,
    response: ProviderResponse,
    client: ClientInfo,
  ): Promise<CompletedSignIn> {
    const { pool, connections, providers } = this.#parts;
    const connection = await connections.forSignIn(started.workspaceId);
    if (!connection) throw new SignInFailure('not_configured');
    if (response.callbackId !== callbackId(connection)) {
      throw new SignInFailure('invalid_response');
    }
    // Before the code is exchanged, which works once too: a repeated response costs the provider nothing.
    const hash = hashSecret(started.secret);
    if (!(await markSignInUsed(pool, hash, started.endsAtMs))) throw new SignInFailure('completed');
    const claims = await providers.claims(connection, valuesOf(started), response.parameters);
    const completed = await inTransaction(pool, async (db) => {
      await lockTeam(db, started.workspaceId);
      await checkUnchanged(db, connection);
      return this.#signIn(db, connection, claims, client, response.presented);
    });
    // Committed before it is refused: what the person has open must end.
    if (completed === 'no_access') throw new SignInFailure('no_access');
    reportRemoved(this.#parts, completed.session.person, completed.removed);
    return { ...completed, workspaceId: started.workspaceId, next: started.next };
  }

  async #signIn(
    db: Queryable,
    connection: Connection,
    claims: Claims & { idToken: string | undefined },
    client: ClientInfo,
    presented: string | undefined,
  ): Promise<Pick<CompletedSignIn, 'session' | 'change' | 'removed'> | 'no_access'> {
    const { clock, sessions } = this.#parts;
    const { workspaceId } = connection;
    const known = await this.#findPerson(db, connection, claims);
    const membership = known && (await findMembership(db, workspaceId, known.person.id));
    const role = roleFor(connection, membership?.role, claims);
    if (role === undefined) {
      // Someone who left all groups loses what the provider has granted, but stays in the list of
      // members until an admin removes them.
      if (known) {
        await endSessionsOfPerson(db, known.person.id, clock.now(), { limitedTo: workspaceId });
      }
      return 'no_access';
    }
    const person = known?.person ?? (await this.#createPerson(db, connection, claims));
    const isProved = provesAddress(connection, claims, person);
    const removed = isProved ? await claimAccount(db, person.id, clock.now()) : [];
    if (!known?.isLinked) {
      const { issuer } = connection;
      const identity = { workspaceId, issuer, subject: claims.subject };
      await insertIdentity(db, { ...identity, personId: person.id, createdAtMs: clock.now() });
    }
    const change = await this.#updateMembership(db, workspaceId, person, membership?.role, role);
    const isLimited = connection.managedBy === 'workspace';
    const { idToken = '' } = claims;
    const isKept = idToken !== '' && idToken.length <= ID_TOKEN_CHARS_MAX;
    const encrypted = isKept ? this.#parts.encryptor.encrypt(Buffer.from(idToken)) : null;
    const provider = { workspaceId, isLimited, idToken: encrypted };
    const session = await sessions.start(person, client, presented, db, provider);
    return { session, change, removed };
  }

  async #findPerson(
    db: Queryable,
    { workspaceId, issuer, managedBy }: Connection,
    { subject, email, emailVerified }: Claims,
  ): Promise<{ person: Person; isLinked: boolean } | undefined> {
    const linked = await findPersonOfIdentity(db, { workspaceId, issuer, subject });
    if (linked) return { person: linked, isLinked: true };
    const person = await findPersonByEmail(db, mailboxOf(email).key);
    // Sessions of the server's provider are valid everywhere, so the address must be proved, also that of
    // a new account: its owner may join other workspaces later.
    const isProved = managedBy === 'server' ? emailVerified === true : emailVerified !== false;
    if (!isProved) throw new SignInFailure('unverified_email');
    if (!person) return undefined;
    if (managedBy === 'server') return { person, isLinked: false };
    const membership = await findMembership(db, workspaceId, person.id);
    if (!membership) throw new SignInFailure('account_exists');
    // A provider cannot make owners, so an address that any of its users may have chosen must not
    // become one either.
    if (membership.role === 'owner' && emailVerified !== true) {
      throw new SignInFailure('unverified_email');
    }
    return { person, isLinked: false };
  }

  async #createPerson(db: Queryable, connection: Connection, claims: Claims): Promise<Person> {
    const { email, key: emailKey } = mailboxOf(claims.email);
    const name = (claims.name ?? email).slice(0, NAME_CHARS_MAX);
    const nowMs = this.#parts.clock.now();
    const emailVerifiedAtMs = provesAddress(connection, claims, { emailKey }) ? nowMs : null;
    const fields = { email, emailKey, name, passwordHash: null, emailVerifiedAtMs };
    const person = newPerson(fields, nowMs);
    // Someone else has created it since: the next attempt finds it.
    if (!(await insertPerson(db, person))) throw new SignInFailure('account_exists');
    return person;
  }

  async #updateMembership(
    db: Queryable,
    workspaceId: string,
    person: Person,
    before: Role | undefined,
    role: Role,
  ): Promise<CompletedSignIn['change']> {
    const createdAtMs = this.#parts.clock.now();
    if (before === undefined) {
      if ((await countMembers(db, workspaceId)) >= MEMBERS_MAX) {
        throw new SignInFailure('workspace_full');
      }
      await insertMembership(db, { workspaceId, personId: person.id, role, createdAtMs });
      return { kind: 'joined', role };
    }
    if (before === role) return undefined;
    await updateRole(db, workspaceId, person.id, role);
    await revokeOpenByInviter(db, workspaceId, person.id, createdAtMs);
    return { kind: 'role_changed', role };
  }
}

/** A workspace may have a provider that claims any address, so only that of the server proves one. */
function provesAddress(
  { managedBy }: Connection,
  { email, emailVerified }: Claims,
  { emailKey }: Pick<Person, 'emailKey'>,
): boolean {
  if (managedBy !== 'server' || emailVerified !== true) return false;
  const parsed = parseMailbox(email ?? '');
  return parsed.ok && parsed.mailbox.key === emailKey;
}

/**
 * Owners stay owners. Without roles of groups the provider knows nothing about roles: members keep the
 * one that was set on the team page.
 */
function roleFor(
  connection: Connection,
  before: Role | undefined,
  { groups }: Claims,
): Role | undefined {
  const isKept = before === 'owner' || connection.groupRoles.length === 0;
  return (isKept ? before : undefined) ?? providedRole(connection, groups);
}

/** The provider may have been replaced while it answered. */
async function checkUnchanged(
  db: Queryable,
  { workspaceId, issuer, clientId, managedBy }: Connection,
): Promise<void> {
  const current = await findConnection(db, workspaceId);
  const isSame = current?.issuer === issuer && current.clientId === clientId;
  if (!isSame || current.managedBy !== managedBy) throw new SignInFailure('not_configured');
}

function mailboxOf(email: string | undefined): { email: string; key: string } {
  const parsed = parseMailbox(email ?? '');
  if (!parsed.ok) throw new SignInFailure('no_email');
  return parsed.mailbox;
}

/** Any other error is a bug or an outage of the server. */
function failed(error: unknown, workspaceId: string | undefined): FailedSignIn {
  if (error instanceof SignInFailure) return { reason: error.reason, workspaceId, error };
  if (error instanceof RefusedError && error.code === 'too_many_attempts') {
    return { reason: 'too_many_attempts', workspaceId, error };
  }
  throw error;
}
