import { expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { uuidv7 } from '../lib/ids.ts';
import { systemClock } from '../lib/time/clock.ts';
import { type MoveStep, WorkspaceMove } from './workspace-move.ts';

/** Moves a workspace between databases that no server uses, so that nothing but the move acts. */

const EVENTS = 20;

async function createWorkspace({ pool }: TestDatabase): Promise<string> {
  const now = new Date();
  const id = uuidv7(now.getTime());
  await pool.query('insert into workspaces (id, name, created_at) values ($1, $2, $3)', [
    id,
    'Shop',
    now,
  ]);
  await pool.query(
    `insert into webhooks (workspace_id, mode, id, url, events, description, enabled, since_tx,
                           created_at, updated_at)
     values ($1, 'live', $1, 'https://example.com', '{*}', '', true, 0, $2, $2)`,
    [id, now],
  );
  for (let n = 0; n < EVENTS; n += 1) {
    await pool.query(
      `insert into events (workspace_id, mode, tx, id, type, created_at, message_id, sequence, data)
       values ($1, 'live', event_log_tx(), $2, 'message.accepted', $3, $2, 1, '{}')`,
      [id, uuidv7(now.getTime()), now],
    );
  }
  const messageId = uuidv7(now.getTime());
  await pool.query(
    `insert into messages (workspace_id, mode, id, created_at, sender, subject, stream)
     values ($1, 'live', $2, $3, 'shop@example.com', 'Your order', 'default')`,
    [id, messageId, now],
  );
  await pool.query(
    `insert into deliveries (workspace_id, mode, message_id, ordinal, kind, recipient, recipient_key,
                             status, shard, due_at, expires_at)
     values ($1, 'live', $2, 0, 'to', 'a@example.com', 'a@example.com', 'queued', 1, $3, $3)`,
    [id, messageId, now],
  );
  return id;
}

/** The time at which the only delivery is due, in ISO form. */
async function dueAt({ pool }: TestDatabase): Promise<string> {
  const { rows } = await pool.query<{ due: string }>('select due_at::text as due from deliveries');
  return rows[0]?.due as string;
}

test('events that no server has processed lead to webhooks and statistics at the target, each once', async () => {
  await using source = await createTestDatabase();
  await using target = await createTestDatabase();
  const id = await createWorkspace(source);
  const due = await dueAt(source);
  const steps: MoveStep[] = [];
  const parked: boolean[] = [];
  const move = new WorkspaceMove(
    {
      source: source.pool,
      target: target.pool,
      clock: systemClock,
      onStep: async (step) => {
        steps.push(step);
        if (step === 'verified') {
          for (const database of [source, target]) parked.push((await dueAt(database)) > '2900');
        }
      },
    },
    id,
  );
  expect(await move.run()).toMatchObject({
    state: 'moved',
    rows: { events: EVENTS, webhook_backlogs: 1, deliveries: 1 },
  });
  expect(parked).toEqual([true, true]);
  expect(await dueAt(target)).toBe(due);
  expect(steps.at(-1)).toBe('purged');

  const { rows } = await target.pool.query(
    `select (select sum(events)::int from webhook_backlogs where due_at < '2900-01-01') as pending,
            (select count(*)::int from event_consumers where tx > (select max(tx) from events)) as ahead,
            (select event_log_horizon() > max(tx) from events) as continues,
            (select delete_at is null from workspaces) as active`,
  );
  expect(rows).toEqual([{ pending: EVENTS, ahead: 2, continues: true, active: true }]);
  for (const span of ['minute', 'hour', 'day']) {
    const counted = await target.pool.query(
      `select sum(n)::int as n from statistics_by_${span} where counter = 'messages'`,
    );
    expect(counted.rows).toEqual([{ n: EVENTS }]);
  }
  const left = await source.pool.query('select from events union all select from deliveries');
  expect(left.rowCount).toBe(0);
});

test('a workspace does not move to where another one receives the mail of its domain', async () => {
  await using source = await createTestDatabase();
  await using target = await createTestDatabase();
  const [id, other] = [await createWorkspace(source), await createWorkspace(target)];
  const receive = ({ pool }: TestDatabase, workspaceId: string) =>
    pool.query(
      `insert into domains (workspace_id, id, name, status, ownership_token, return_path_host, tls,
         track_opens, track_clicks, created_at, receiving)
       values ($1, $1, 'reply.example.com', 'verified', 't', 'b', 'required', false, false, now(), true)`,
      [workspaceId],
    );
  await receive(source, id);
  await receive(target, other);
  const parts = { source: source.pool, target: target.pool, clock: systemClock };
  const run = () => new WorkspaceMove(parts, id).run();
  await expect(run()).rejects.toThrow('receives the mail of reply.example.com');
  await target.pool.query('update domains set receiving = false');
  expect(await run()).toMatchObject({ state: 'moved' });
});
