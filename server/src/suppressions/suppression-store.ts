import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { SuppressionsRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';

/** The rows of the suppression list. Expired rows count as missing wherever they are read. */

export const SUPPRESSION_REASONS = ['hard_bounce', 'complaint', 'manual', 'unsubscribe'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** The stream of a suppression that applies to all mail. */
export const EVERYWHERE = '';

export interface Suppression {
  /** A lower-case address, '@' and a domain, or the hash of an erased address. */
  key: string;
  /** The stream that it is limited to, or EVERYWHERE. */
  stream: string;
  id: string;
  email: string | null;
  domain: string | null;
  reason: SuppressionReason;
  evidence: object | null;
  note: string | null;
  createdAtMs: number;
  expiresAtMs: number | null;
}

const COLUMNS = selectList<SuppressionsRow, Suppression>({
  key: 'key',
  stream: 'stream',
  id: 'id',
  email: 'email',
  domain: 'domain',
  reason: 'reason',
  evidence: 'evidence',
  note: 'note',
  createdAtMs: 'created_at',
  expiresAtMs: 'expires_at',
});

const RECORD = `r(key text, stream text, id uuid, email text, domain text, reason text,
  evidence json, note text, created_at timestamptz, expires_at timestamptz)`;

function toRecord(one: Suppression): object {
  return {
    key: one.key,
    stream: one.stream,
    id: one.id,
    email: one.email,
    domain: one.domain,
    reason: one.reason,
    evidence: one.evidence,
    note: one.note,
    created_at: sqlTime(one.createdAtMs),
    expires_at: sqlTime(one.expiresAtMs),
  };
}

/**
 * Inserts missing entries in order of their keys, so that two writers cannot deadlock. An expired
 * entry is replaced. Returns the ids that were written.
 */
export async function insertSuppressions(
  db: Queryable,
  scope: TenantScope,
  entries: readonly Suppression[],
  nowMs: number,
): Promise<Set<string>> {
  if (entries.length === 0) return new Set();
  const { rows } = await db.query<{ id: string }>({
    name: 'insert-suppressions',
    text: `insert into suppressions as old (workspace_id, mode, key, stream, id, email, domain, reason,
        evidence, note, created_at, expires_at)
      select $1, $2, r.key, r.stream, r.id, r.email, r.domain, r.reason, r.evidence, r.note,
        r.created_at, r.expires_at from json_to_recordset($3::json) as ${RECORD}
        order by r.key, r.stream
      on conflict (workspace_id, mode, key, stream) do update set id = excluded.id, email = excluded.email,
        domain = excluded.domain, reason = excluded.reason, evidence = excluded.evidence,
        note = excluded.note, created_at = excluded.created_at, expires_at = excluded.expires_at
        where old.expires_at <= $4
      returning id`,
    values: [scope.workspaceId, scope.mode, JSON.stringify(entries.map(toRecord)), sqlTime(nowMs)],
  });
  return new Set(rows.map((row) => row.id));
}

/**
 * Part of the statement that records outcomes of deliveries: suppresses the addresses of a table
 * expression with the columns w, m, key, id, email, evidence and at, in all streams. An entry with an
 * expiry becomes permanent; an expired one is replaced, because it has no effect and only has not
 * been deleted yet.
 * Returns the `id` of new entries. The rows must come in the order of their keys, so that two writers
 * cannot deadlock.
 */
export const suppressHardBounces = (source: string): string => `
    insert into suppressions (workspace_id, mode, key, stream, id, email, reason, evidence, created_at)
    select w, m, key, '${EVERYWHERE}', id, email, 'hard_bounce', evidence, at from ${source}
        on conflict (workspace_id, mode, key, stream) do update
       set reason = excluded.reason, evidence = excluded.evidence, expires_at = null,
           id = case when ${HAS_EXPIRED} then excluded.id else suppressions.id end,
           email = case when ${HAS_EXPIRED} then excluded.email else suppressions.email end,
           note = case when ${HAS_EXPIRED} then null else suppressions.note end,
           created_at = case when ${HAS_EXPIRED} then excluded.created_at else suppressions.created_at end
     where suppressions.expires_at is not null
 returning id`;

const HAS_EXPIRED = 'suppressions.expires_at <= excluded.created_at';

/**
 * Makes an expiring entry permanent, with a new reason. The preceding insert has locked it. Returns
 * whether it was expiring.
 */
export async function makePermanent(
  db: Queryable,
  scope: TenantScope,
  { key, stream, reason, evidence }: Pick<Suppression, 'key' | 'stream' | 'reason' | 'evidence'>,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update suppressions set reason = $5, evidence = $6, expires_at = null
     where workspace_id = $1 and mode = $2 and key = $3 and stream = $4 and expires_at is not null`,
    [scope.workspaceId, scope.mode, key, stream, reason, evidence && JSON.stringify(evidence)],
  );
  return rowCount === 1;
}

/** More than a workspace has streams, including deleted ones. Keeps the planner to the index. */
const SCOPES_MAX = 10_000;

/**
 * Locks entries of all streams in order of their keys until the transaction ends. Each key is looked
 * up on its own: given `= any`, PostgreSQL may scan the workspace's whole list while its statistics
 * lag behind.
 */
export async function lockSuppressions(
  db: Queryable,
  scope: TenantScope,
  keys: readonly string[],
  nowMs: number,
): Promise<Suppression[]> {
  const { rows } = await db.query<Suppression>({
    name: 'lock-suppressions',
    text: `select s.* from (select distinct k from unnest($3::text[]) k order by k) wanted
      cross join lateral (select ${COLUMNS} from suppressions
        where workspace_id = $1 and mode = $2 and key = wanted.k
          and (expires_at is null or expires_at > $4)
        order by stream limit ${SCOPES_MAX} for update) s`,
    values: [scope.workspaceId, scope.mode, keys, sqlTime(nowMs)],
  });
  return rows;
}

/** The entries under these keys that are limited to one stream. */
export async function findStreamSuppressions(
  db: Queryable,
  scope: TenantScope,
  keys: readonly string[],
  nowMs: number,
  lock: '' | 'for update' = '',
): Promise<Suppression[]> {
  const { rows } = await db.query<Suppression>({
    name: `find-stream-suppressions${lock === '' ? '' : '-locked'}`,
    text: `select s.* from (select distinct k from unnest($3::text[]) k order by k) wanted
      cross join lateral (select ${COLUMNS} from suppressions
        where workspace_id = $1 and mode = $2 and key = wanted.k and stream <> '${EVERYWHERE}'
          and (expires_at is null or expires_at > $4)
        order by stream limit ${SCOPES_MAX} ${lock}) s`,
    values: [scope.workspaceId, scope.mode, keys, sqlTime(nowMs)],
  });
  return rows;
}

export async function findSuppression(
  db: Queryable,
  scope: TenantScope,
  id: string,
  nowMs: number,
  lock: '' | 'for update' = '',
): Promise<Suppression | undefined> {
  const { rows } = await db.query<Suppression>(
    `select ${COLUMNS} from suppressions where workspace_id = $1 and mode = $2 and id = $3
       and (expires_at is null or expires_at > $4) ${lock}`,
    [scope.workspaceId, scope.mode, id, sqlTime(nowMs)],
  );
  return rows[0];
}

/** Updates the mutable fields of entries. */
export async function updateSuppressions(
  db: Queryable,
  scope: TenantScope,
  entries: readonly Suppression[],
): Promise<void> {
  if (entries.length === 0) return;
  await db.query({
    name: 'update-suppressions',
    text: `update suppressions s set reason = r.reason, note = r.note, expires_at = r.expires_at
      from json_to_recordset($3::json) as ${RECORD}
      where s.workspace_id = $1 and s.mode = $2 and s.key = r.key and s.stream = r.stream
        and s.id = r.id`,
    values: [scope.workspaceId, scope.mode, JSON.stringify(entries.map(toRecord))],
  });
}

export async function deleteSuppressions(
  db: Queryable,
  scope: TenantScope,
  entries: readonly Pick<Suppression, 'key' | 'stream'>[],
): Promise<void> {
  if (entries.length === 0) return;
  await db.query(
    `delete from suppressions s using unnest($3::text[], $4::text[]) as d(key, stream)
     where s.workspace_id = $1 and s.mode = $2 and s.key = d.key and s.stream = d.stream`,
    [
      ...[scope.workspaceId, scope.mode],
      ...[entries.map(({ key }) => key), entries.map(({ stream }) => stream)],
    ],
  );
}

/** Deletes everything under these keys, including expired entries. */
export async function deleteSuppressionKeys(
  db: Queryable,
  scope: TenantScope,
  keys: readonly string[],
): Promise<void> {
  await db.query(
    'delete from suppressions where workspace_id = $1 and mode = $2 and key = any($3)',
    [scope.workspaceId, scope.mode, keys],
  );
}

export interface SuppressionFilter {
  reason?: SuppressionReason;
  /** Only entries with one of these keys: all that can suppress one address. */
  keys?: readonly string[];
  /** Only entries that apply to this stream: its own, and those that apply everywhere. */
  stream?: string;
}

/** Newest first, with ids between the bounds, at most `limit`. */
export async function listSuppressions(
  db: Queryable,
  scope: TenantScope,
  filter: SuppressionFilter,
  bounds: { beforeId: string; sinceId: string; limit: number },
  nowMs: number,
): Promise<Suppression[]> {
  const values: unknown[] = [
    scope.workspaceId,
    scope.mode,
    bounds.beforeId,
    bounds.sinceId,
    bounds.limit,
    sqlTime(nowMs),
  ];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const { reason, keys, stream } = filter;
  const fits = `workspace_id = $1 and mode = $2 and id < $3 and id >= $4
    and (expires_at is null or expires_at > $6)
    ${reason === undefined ? '' : `and reason = ${parameter(reason)}`}`;
  const streams = stream === undefined ? undefined : [EVERYWHERE, stream];
  const { rows } = await db.query<Suppression>({
    // Each combination is a separate prepared statement, so that each has a plan for its own index.
    name: `list-suppressions${reason ? '-reason' : ''}${keys ? '-keys' : ''}${streams ? '-stream' : ''}`,
    text: `${source()} order by id desc limit $5`,
    values,
  });
  return rows;

  /** Keys, and streams with each reason, are looked up one by one, in the index of each. */
  function source(): string {
    if (keys !== undefined) {
      const inStream = streams ? `and stream = any(${parameter(streams)}::text[])` : '';
      return `select s.* from unnest(${parameter(keys)}::text[]) k cross join lateral (
        select ${COLUMNS} from suppressions where ${fits} and key = k ${inStream}
        limit ${SCOPES_MAX}) s`;
    }
    if (streams !== undefined) {
      const reasons = reason === undefined ? SUPPRESSION_REASONS : [reason];
      return `select s.* from unnest(${parameter(streams)}::text[]) one
        cross join unnest(${parameter(reasons)}::text[]) why cross join lateral (
        select ${COLUMNS} from suppressions where ${fits} and stream = one and reason = why
        order by id desc limit $5) s`;
    }
    return `select ${COLUMNS} from suppressions where ${fits}`;
  }
}

/** Addresses and domains with the prefix, ordered by key and id, after the given position. */
export async function listSuppressionsByPrefix(
  db: Queryable,
  scope: TenantScope,
  prefix: string,
  filter: SuppressionFilter,
  bounds: { after: { key: string; id: string }; sinceId: string; untilId: string; limit: number },
  nowMs: number,
): Promise<Suppression[]> {
  const range = (from: string, to: string): string => `
    (select ${COLUMNS} from suppressions
      where workspace_id = $1 and mode = $2 and key >= ${from} and key < ${to} and key >= $3
        and (key, id) > ($3, $13::uuid)
        and id >= $4 and id < $5 and (expires_at is null or expires_at > $7)
        and ($8::text is null or reason = $8) and ($14::text is null or stream in ('', $14))
      order by key, id limit $6)`;
  const { rows } = await db.query<Suppression>({
    name: 'list-suppressions-by-prefix',
    text: `select * from (${range('$9', '$10')} union all ${range('$11', '$12')}) found
      order by key, id limit $6`,
    values: [
      scope.workspaceId,
      scope.mode,
      bounds.after.key,
      bounds.sinceId,
      bounds.untilId,
      bounds.limit,
      sqlTime(nowMs),
      filter.reason ?? null,
      // U+10FFFF is in no address, so it sorts after every key with the prefix.
      prefix,
      `${prefix}\u{10ffff}`,
      `@${prefix}`,
      `@${prefix}\u{10ffff}`,
      bounds.after.id,
      filter.stream ?? null,
    ],
  });
  return rows;
}

export async function hasExpired(db: Queryable, nowMs: number): Promise<boolean> {
  const { rowCount } = await db.query('select from suppressions where expires_at <= $1 limit 1', [
    sqlTime(nowMs),
  ]);
  return rowCount === 1;
}

/** Deletes expired entries, at most `limit`, and returns them. */
export async function deleteExpired(
  db: Queryable,
  nowMs: number,
  limit: number,
): Promise<(Suppression & TenantScope)[]> {
  const { rows } = await db.query<Suppression & TenantScope>(
    `delete from suppressions s using (
       select workspace_id, mode, key, stream from suppressions where expires_at <= $1
       order by expires_at limit $2 for update skip locked) ended
     where s.workspace_id = ended.workspace_id and s.mode = ended.mode and s.key = ended.key
       and s.stream = ended.stream
     returning s.workspace_id as "workspaceId", s.mode, s.key, s.stream, s.id, s.email, s.domain, s.reason,
       s.evidence, s.note, s.created_at as "createdAtMs", s.expires_at as "expiresAtMs"`,
    [sqlTime(nowMs), limit],
  );
  return rows;
}
