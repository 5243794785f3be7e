/**
 * The channels on which nodes notify each other. PostgreSQL has one namespace of channels per database,
 * so the name contains the schema where it is not `public`: several installations can share a database.
 */
export type NotificationChannel =
  | 'accounts'
  | 'deliveries'
  | 'domains'
  | 'events'
  | 'moves'
  | 'people'
  | 'quotas'
  | 'streams'
  | 'templates';

/** The SQL expression of a channel's name, for `pg_notify`. */
export function channel(name: NotificationChannel): string {
  return `(case current_schema() when 'public' then '${name}'
                else left(current_schema(), ${SCHEMA_LENGTH_MAX}) || '.${name}' end)`;
}

/** SQL expressions that invalidate all that nodes cache of a workspace. */
export function workspaceChanged(id: string): string {
  return CACHED.map((name) => `pg_notify(${channel(name)}, ${id})`).join(', ');
}

const CACHED = ['accounts', 'domains', 'quotas', 'streams', 'templates'] as const;

/** The same name for `listen`. */
export function channelIn(schema: string | null, name: string): string {
  return schema === null || schema === 'public'
    ? name
    : `${schema.slice(0, SCHEMA_LENGTH_MAX)}.${name}`;
}

/** PostgreSQL limits the names of channels to 63 bytes. */
const SCHEMA_LENGTH_MAX = 48;
