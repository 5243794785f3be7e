import type { Pool } from '../../server/src/db/pool.ts';

/**
 * Fills the database with messages of another tenant that were delivered or wait for a retry. The
 * database generates them in batches that keep its memory flat.
 */
export async function seed(
  pool: Pool,
  count: number,
  state: 'delivered' | 'waiting',
): Promise<void> {
  const step = 50_000;
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

const SEED = `
  with made as materialized (
    select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 1000000 + $2 + n), 12, '0')
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
