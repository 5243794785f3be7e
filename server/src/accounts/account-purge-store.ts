import { channel } from '../db/connections/notification-channels.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { type PurgedTable, purgeRows } from '../db/statements/purge-rows.ts';
import { deletePeopleWithoutWorkspace } from './people/person-store.ts';

const MEMBERS_MAX = 100;

/** Members, and the accounts that are then in no workspace. */
const MEMBERSHIPS: PurgedTable<'memberships'> = {
  table: 'memberships',
  async deleteRows(db: Queryable, workspaceId: string) {
    const { rows } = await db.query<{ id: string }>(
      `delete from memberships where workspace_id = $1 and person_id in (
         select person_id from memberships where workspace_id = $1 order by person_id limit $2)
       returning person_id as id, pg_notify(${channel('people')}, person_id::text)`,
      [workspaceId, MEMBERS_MAX],
    );
    const people = await deletePeopleWithoutWorkspace(
      db,
      rows.map(({ id }) => id),
    );
    return {
      deleted: { memberships: rows.length, people },
      next: rows.length < MEMBERS_MAX ? undefined : {},
    };
  },
};

/** A workspace has at most one identity provider. */
const OIDC_CONNECTION: PurgedTable<'oidc_connections'> = {
  table: 'oidc_connections',
  async deleteRows(db: Queryable, workspaceId: string) {
    const { rowCount } = await db.query('delete from oidc_connections where workspace_id = $1', [
      workspaceId,
    ]);
    return { deleted: { oidc_connections: rowCount ?? 0 }, next: undefined };
  },
};

/** Keys, the identity provider and members: who can use the workspace. */
export const ACCESS_PURGES = [
  purgeRows({
    table: 'api_key_secrets',
    delete: 'delete from api_key_secrets d',
    key: ['key_id uuid', 'token_hash bytea'],
    channel: 'accounts',
  }),
  purgeRows({
    table: 'ses_credentials',
    delete: 'delete from ses_credentials d',
    key: ['key_id uuid', 'access_key_id text'],
    channel: 'accounts',
  }),
  purgeRows({
    table: 'api_keys',
    delete: 'delete from api_keys d',
    key: ['id uuid'],
    channel: 'accounts',
  }),
  purgeRows({ table: 'invitations', delete: 'delete from invitations d', key: ['id uuid'] }),
  purgeRows({
    table: 'oidc_identities',
    delete: 'delete from oidc_identities d',
    key: ['issuer text', 'subject text'],
  }),
  OIDC_CONNECTION,
  purgeRows({ table: 'sessions', delete: 'delete from sessions d', key: ['id uuid'] }),
  MEMBERSHIPS,
] as const;
