import { hashToken, newToken } from '../../server/src/accounts/api-key-token.ts';
import type { Pool } from '../../server/src/db/connections/pool.ts';

/**
 * Fills the database with messages of another tenant that were delivered or wait for a retry. The
 * database generates them in batches that keep its memory flat.
 */
export async function seed(
  pool: Pool,
  count: number,
  state: 'delivered' | 'waiting',
): Promise<void> {
  const step = 100_000;
  const workspace = '01890a5d-ac96-774b-bcce-b302099a8057';
  for (let from = 0; from < count; from += step) {
    await pool.query({
      text: SEED,
      values: [workspace, from, Math.min(step, count - from), state],
    });
  }
  await pool.query('analyze messages, deliveries, events, message_contents');
  await pool.query('checkpoint').catch(() => {});
}

/**
 * Adds workspaces with the domains and API keys of an existing one. They may only be used for mail
 * that is not signed, because their domains share one key.
 */
export async function addWorkspaces(pool: Pool, like: string, count: number): Promise<string[]> {
  const tokens = Array.from({ length: count }, () => newToken('live'));
  await pool.query({ text: ADD_WORKSPACES, values: [like, tokens.map(hashToken)] });
  await pool.query('analyze workspaces, api_keys, api_key_secrets, domains, domain_keys');
  return tokens;
}

/** Rows of the existing workspace, with the id of a new one. */
const copyOf = (table: string): string =>
  `select (jsonb_populate_record(one, jsonb_build_object('workspace_id', made.id))).*
     from ${table} one, made where one.workspace_id = $1`;

const ADD_WORKSPACES = `
  with made as materialized (
    select gen_random_uuid() as id, token_hash, n
      from unnest($2::bytea[]) with ordinality as given (token_hash, n)),
  w as (insert into workspaces (id, name, created_at)
    select id, 'Workspace ' || n, now() from made),
  k as (insert into api_keys ${copyOf('api_keys')}),
  s as (insert into api_key_secrets (token_hash, workspace_id, key_id)
    select token_hash, made.id, api_keys.id from made, api_keys where api_keys.workspace_id = $1),
  d as (insert into domains ${copyOf('domains')})
  insert into domain_keys ${copyOf('domain_keys')}`;

export async function countTransactions(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]?.count);
}

const SEED = `
  with made as materialized (
    select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 1000000 + ($2 + n) / 10), 12, '0')
      || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid as id,
      now() - interval '10 minutes' as at, $2 + n as n
    from generate_series(1, $3::integer) as n),
  m as (insert into messages (workspace_id, mode, id, created_at, sender, subject, stream, tags,
      metadata)
    select $1, 'live', id, at, 'shop@past.example', 'Receipt ' || n, 'transactional', '{}', '{}'
      from made),
  c as (insert into message_contents (workspace_id, mode, id, head, html)
    select $1, 'live', id, '{"from":{"email":"shop@past.example"},"to":[],"cc":[],"reply_to":[],"headers":[]}',
      repeat('<p>past</p>', 50) from made),
  d as (insert into deliveries (workspace_id, mode, message_id, ordinal, kind, recipient, recipient_key,
      status, shard, due_at, attempts, expires_at, finished_at)
    select $1, 'live', id, 0, 'to', 'r' || n || '@past.example', 'r' || n || '@past.example',
      case when $4 = 'waiting' then 'deferred' else 'delivered' end::delivery_status, n % 64,
      case when $4 = 'waiting' then now() + interval '1 hour' end, 1, now() + interval '2 days',
      case when $4 = 'waiting' then null else at end from made)
  insert into events (workspace_id, mode, tx, id, type, created_at, message_id, sequence, data)
    select $1, 'live', pg_current_xact_id()::text::bigint, id, 'message.accepted', at, id, 1, '{}'
    from made`;

/**
 * Appends counts to the statistics of all workspaces, as many as wait on average to be added up, as if each
 * had sent a message a minute. Without them, sending to many workspaces would not cause what it does later.
 */
export async function seedAppendedCounts(pool: Pool): Promise<void> {
  await pool.query(SEED_APPENDED_COUNTS);
  await pool.query('vacuum analyze statistics_appended');
}

const SEED_APPENDED_COUNTS = `
  insert into statistics_appended (workspace_id, mode, at, messages, delivered, counts)
  select w.id, 'live', date_trunc('minute', now()) - n % 50 * interval '1 minute', 1, 1,
    format('{"all":{"":{"messages":1,"accepted":1,"content_bytes":2048,"delivered":1,"%1$s":1}},'
      '"stream":{"transactional":{"messages":1,"accepted":1,"delivered":1,"%1$s":1}},'
      '"domain":{"example.com":{"messages":1,"accepted":1,"delivered":1,"%1$s":1}},'
      '"receiver":{"other":{"accepted":1,"delivered":1,"%1$s":1}}}', l.latency)::json
    from generate_series(1, 64) n cross join workspaces w
   cross join lateral (select 'latency.' || 10 + n % 10 as latency) l`;
