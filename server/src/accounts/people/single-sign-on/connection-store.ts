import { channel } from '../../../db/connections/notification-channels.ts';
import type { Queryable } from '../../../db/connections/pool.ts';
import { sqlTime } from '../../../db/schema/row-types.ts';
import type { OidcConnectionsRow } from '../../../db/schema/tables.ts';
import { selectList } from '../../../db/statements/select-list.ts';
import type { Connection } from './connection.ts';

/** A connection as it is stored. */
export interface StoredConnection extends Omit<Connection, 'clientSecret'> {
  encryptedClientSecret: Buffer;
  updatedAtMs: number;
}

const COLUMNS = selectList<OidcConnectionsRow, StoredConnection>(
  {
    workspaceId: 'workspace_id',
    managedBy: 'managed_by',
    name: 'name',
    issuer: 'issuer',
    clientId: 'client_id',
    encryptedClientSecret: 'encrypted_client_secret',
    groupsClaim: 'groups_claim',
    groupRoles: 'group_roles',
    defaultRole: 'default_role',
    isEnforced: 'is_enforced',
    updatedAtMs: 'updated_at',
  },
  'c',
);

export async function findConnection(
  db: Queryable,
  workspaceId: string,
): Promise<StoredConnection | undefined> {
  const { rows } = await db.query<StoredConnection>(
    `select ${COLUMNS} from oidc_connections c where c.workspace_id = $1`,
    [workspaceId],
  );
  return rows[0];
}

/** The connection that the settings of the server configure. */
export async function findServerConnection(db: Queryable): Promise<StoredConnection | undefined> {
  const { rows } = await db.query<StoredConnection>(
    `select ${COLUMNS} from oidc_connections c where c.managed_by = 'server'`,
  );
  return rows[0];
}

/** Members who must now sign in with the provider notice it at once: what they have open is checked. */
export async function upsertConnection(db: Queryable, connection: StoredConnection): Promise<void> {
  await db.query(
    `insert into oidc_connections (workspace_id, managed_by, name, issuer, client_id,
       encrypted_client_secret, groups_claim, group_roles, default_role, is_enforced, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (workspace_id) do update set managed_by = excluded.managed_by,
       name = excluded.name, issuer = excluded.issuer, client_id = excluded.client_id,
       encrypted_client_secret = excluded.encrypted_client_secret,
       groups_claim = excluded.groups_claim, group_roles = excluded.group_roles,
       default_role = excluded.default_role, is_enforced = excluded.is_enforced,
       updated_at = excluded.updated_at`,
    [
      connection.workspaceId,
      connection.managedBy,
      connection.name,
      connection.issuer,
      connection.clientId,
      connection.encryptedClientSecret,
      connection.groupsClaim,
      JSON.stringify(connection.groupRoles),
      connection.defaultRole,
      connection.isEnforced,
      sqlTime(connection.updatedAtMs),
    ],
  );
  if (!connection.isEnforced) return;
  await db.query(
    `select pg_notify(${channel('people')}, person_id::text) from memberships where workspace_id = $1`,
    [connection.workspaceId],
  );
}

/** Returns false if the workspace has none. */
export async function deleteConnection(db: Queryable, workspaceId: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from oidc_connections where workspace_id = $1', [
    workspaceId,
  ]);
  return rowCount === 1;
}
