import { inTransaction, type Pool, type Queryable } from '../../../db/connections/pool.ts';
import type { Encryptor } from '../../../lib/crypto/encryption.ts';
import { type FieldError, invalidFields, RefusedError } from '../../../lib/refused-error.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { firstWorkspace } from '../../workspace-store.ts';
import { findMember, lockTeam } from '../member-store.ts';
import { endSessionsOfProvider } from '../session-store.ts';
import type { Actor } from '../team.ts';
import type { Connection } from './connection.ts';
import {
  deleteConnection,
  findConnection,
  findServerConnection,
  type StoredConnection,
  upsertConnection,
} from './connection-store.ts';
import type { IdentityProviders } from './identity-provider.ts';
import { deleteIdentities } from './identity-store.ts';
import { SignInFailure } from './sign-in-failure.ts';

/**
 * The identity providers of workspaces. Owners configure the one of their workspace; the settings of the
 * server can configure the one of its first workspace. A provider decides who gets which role, so only
 * owners may change it, and a change of the provider ends what the previous one has granted.
 */

/** A provider in the settings of the server. */
export type ServerProvider = Omit<Connection, 'workspaceId' | 'managedBy'>;

export interface ConnectionInput {
  name: string;
  issuer: string;
  clientId: string;
  /** Undefined keeps the stored one. */
  clientSecret: string | undefined;
  groupsClaim: string;
  groupRoles: Connection['groupRoles'];
  defaultRole: Connection['defaultRole'];
  isEnforced: boolean;
}

export const SSO_ENCRYPTION_PURPOSE = 'single-sign-on';

interface ConnectionsParts {
  pool: Pool;
  clock: Clock;
  encryptor: Encryptor;
  providers: IdentityProviders;
  serverProvider: ServerProvider | undefined;
}

export class Connections {
  readonly #parts: ConnectionsParts;
  #applied = false;

  constructor(parts: ConnectionsParts) {
    this.#parts = parts;
  }

  get(workspaceId: string): Promise<StoredConnection | undefined> {
    return findConnection(this.#parts.pool, workspaceId);
  }

  /** The provider on the sign-in page: that of the workspace, or else that of the server. */
  async forSignIn(workspaceId: string | undefined): Promise<Connection | undefined> {
    const { pool } = this.#parts;
    await this.applySettings();
    const found =
      workspaceId === undefined
        ? await findServerConnection(pool)
        : await findConnection(pool, workspaceId);
    return found && this.#decrypted(found);
  }

  /** Only owners: the provider can sign in as any member of the workspace. */
  async put(actor: Actor, input: ConnectionInput): Promise<StoredConnection> {
    const { pool, clock, encryptor, providers } = this.#parts;
    const { clientSecret: givenSecret, ...fields } = input;
    const issuer = checkedIssuer(input.issuer);
    // Checked again under the lock. Only owners can make the server contact a provider.
    await requireOwner(pool, actor);
    const before = await this.get(actor.workspaceId);
    if (before?.managedBy === 'server') throw managedByServer();
    const clientSecret = givenSecret ?? (before && this.#decrypted(before)?.clientSecret);
    if (clientSecret === undefined) {
      throw invalidFields([required('/client_secret', 'A client secret is required.')]);
    }
    // The secret was given for the previous provider, and another one would receive it.
    if (givenSecret === undefined && before?.issuer !== issuer) {
      const detail = 'A change of the issuer needs the client secret again.';
      throw invalidFields([required('/client_secret', detail)]);
    }
    const { workspaceId } = actor;
    const managedBy = 'workspace' as const;
    try {
      await providers.check({ ...fields, workspaceId, issuer, clientSecret, managedBy });
    } catch (error) {
      if (!(error instanceof SignInFailure)) throw error;
      const detail = `The configuration of the provider cannot be read from ${issuer}.`;
      throw new RefusedError('single_sign_on_failed', detail);
    }
    return inTransaction(pool, async (db) => {
      await lockForOwner(db, actor);
      const stored = await findConnection(db, actor.workspaceId);
      if (stored?.managedBy === 'server') throw managedByServer();
      const connection: StoredConnection = {
        ...fields,
        issuer,
        managedBy,
        workspaceId,
        encryptedClientSecret: encryptor.encrypt(Buffer.from(clientSecret)),
        updatedAtMs: clock.now(),
      };
      await this.#store(db, connection, stored);
      return connection;
    });
  }

  async delete(actor: Actor): Promise<void> {
    const { pool } = this.#parts;
    await inTransaction(pool, async (db) => {
      await lockForOwner(db, actor);
      const stored = await findConnection(db, actor.workspaceId);
      if (!stored) {
        throw new RefusedError('not_found', 'This workspace has no identity provider.');
      }
      if (stored.managedBy === 'server') throw managedByServer();
      await this.#remove(db, stored);
    });
  }

  /**
   * Stores the provider of the settings for the first workspace, and removes an earlier one. Called at
   * startup, and again until there is a workspace.
   */
  async applySettings(): Promise<void> {
    const { pool, clock, encryptor, serverProvider } = this.#parts;
    if (this.#applied) return;
    await inTransaction(pool, async (db) => {
      const workspace = await firstWorkspace(db);
      if (!workspace) return;
      await lockTeam(db, workspace.id);
      const earlier = await findServerConnection(db);
      const isMoved = earlier !== undefined && earlier.workspaceId !== workspace.id;
      if (earlier && (!serverProvider || isMoved)) await this.#remove(db, earlier);
      if (serverProvider) {
        const { clientSecret, ...fields } = serverProvider;
        const connection: StoredConnection = {
          ...fields,
          workspaceId: workspace.id,
          managedBy: 'server',
          encryptedClientSecret: encryptor.encrypt(Buffer.from(clientSecret)),
          updatedAtMs: clock.now(),
        };
        await this.#store(db, connection, await findConnection(db, workspace.id));
      }
      this.#applied = true;
    });
  }

  /** Subjects and sessions of another provider, or of another owner, are not those of this one. */
  async #store(
    db: Queryable,
    connection: StoredConnection,
    before: StoredConnection | undefined,
  ): Promise<void> {
    const { issuer, managedBy } = connection;
    if (before && (before.issuer !== issuer || before.managedBy !== managedBy)) {
      await this.#revoke(db, connection.workspaceId);
    }
    await upsertConnection(db, connection);
  }

  async #remove(db: Queryable, { workspaceId }: StoredConnection): Promise<void> {
    await deleteConnection(db, workspaceId);
    await this.#revoke(db, workspaceId);
  }

  async #revoke(db: Queryable, workspaceId: string): Promise<void> {
    await deleteIdentities(db, workspaceId);
    await endSessionsOfProvider(db, workspaceId, this.#parts.clock.now());
  }

  /** Undefined if SECRET_KEY was replaced: the secret is lost, and must be entered again. */
  #decrypted({ encryptedClientSecret, ...connection }: StoredConnection): Connection | undefined {
    try {
      const clientSecret = this.#parts.encryptor.decrypt(encryptedClientSecret).toString();
      return { ...connection, clientSecret };
    } catch {
      return undefined;
    }
  }
}

/** An issuer is compared as text with what the provider sends, so it is stored as it was given. */
function checkedIssuer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && !url.search && !url.hash && !url.username && !url.password;
  if (isPlain && /^https?:$/.test(url.protocol)) return text;
  const detail = 'Must be an https URL without a query, such as https://login.example.com.';
  throw invalidFields([{ pointer: '/issuer', code: 'invalid_url', detail }]);
}

async function lockForOwner(db: Queryable, actor: Actor): Promise<void> {
  await lockTeam(db, actor.workspaceId);
  await requireOwner(db, actor);
}

async function requireOwner(db: Queryable, { workspaceId, personId }: Actor): Promise<void> {
  const member = await findMember(db, workspaceId, personId);
  if (member?.role === 'owner') return;
  throw new RefusedError('insufficient_role', 'Only owners can change the identity provider.');
}

function managedByServer(): RefusedError {
  return new RefusedError(
    'conflict',
    'The settings of the server configure the identity provider of this workspace.',
    { fix: 'Ask the operator to change the OIDC_ settings.' },
  );
}

function required(pointer: string, detail: string): FieldError {
  return { pointer, code: 'required', detail };
}

export function publicConnection(connection: StoredConnection, urls: SignInUrls) {
  return {
    name: connection.name,
    issuer: connection.issuer,
    client_id: connection.clientId,
    groups_claim: connection.groupsClaim,
    group_roles: connection.groupRoles,
    default_role: connection.defaultRole,
    enforced: connection.isEnforced,
    managed_by: connection.managedBy,
    redirect_uri: urls.redirectUri,
    sign_in_url: urls.signInUrl,
    updated_at: new Date(connection.updatedAtMs).toISOString(),
  };
}

/** What the provider and the members of a workspace have to know. */
export interface SignInUrls {
  redirectUri: string;
  signInUrl: string;
}
