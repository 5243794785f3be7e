import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../../server/src/db/embedded/embedded-postgres.ts';
import { silentLog } from '../../server/src/lib/log.ts';
import { type Usage, usageOf } from './process-usage.ts';
import { startTarget, type Target } from './start-target.ts';

/** A server with a PostgreSQL that the benchmark can access directly. */
export interface WebhookEnvironment extends AsyncDisposable {
  target: Target;
  client: pg.Client;
  url: string;
  /** The postmaster. */
  postgresPid: number;
  /** Usage of the server and of all PostgreSQL processes. */
  usage(): EnvironmentUsage | undefined;
}

export interface EnvironmentUsage {
  node: Usage;
  postgres: Usage;
}

export interface EnvironmentOptions {
  /** Of PostgreSQL. */
  settings?: Record<string, string>;
  /** Of the server. */
  env?: Record<string, string>;
}

export async function startWebhookEnvironment({
  settings = {},
  env = {},
}: EnvironmentOptions = {}): Promise<WebhookEnvironment> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'postrider-bench-'));
  const postgres = await startEmbedded({ dataDir, log: silentLog, holder: 'command', settings });
  const { user, host, database } = postgres.connection;
  const url = `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}`;
  const target = await startTarget('grouped', {
    dataDir,
    env: {
      DATABASE_URL: url,
      SECRET_KEY: 'a secret key for benchmarks, long enough to be one',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      ...env,
    },
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    target,
    client,
    url,
    postgresPid: postgres.pid as number,
    usage() {
      const [node, ofPostgres] = [usageOf(target.pid), usageOf(postgres.pid)];
      return node && ofPostgres && { node, postgres: ofPostgres };
    },
    async [Symbol.asyncDispose]() {
      await client.end();
      await target[Symbol.asyncDispose]();
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export async function addEndpoints(
  { port, key }: Target,
  ports: readonly number[],
  events = 'message.*',
): Promise<void> {
  for (const sinkPort of ports) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `http://127.0.0.1:${sinkPort}/`, events: [events] }),
    });
    if (response.status !== 201) throw new Error(await response.text());
  }
}

const EVENT_DATA = JSON.stringify({
  message_id: 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8',
  recipient: 'jane@example.com',
  attempt: 1,
  metadata: { user_id: '4711' },
  tags: ['welcome'],
  smtp: {
    code: 250,
    enhanced: '2.0.0',
    text: 'Ok',
    mx: 'mx1.example.com',
    ip: '192.0.2.1',
    tls: 'TLSv1.3',
  },
});

/** Appends events in one commit, as delivery does. */
export async function appendEvents(
  client: pg.Client,
  count: number,
  type = 'message.delivered',
): Promise<void> {
  await client.query(
    `insert into events (workspace_id, mode, tx, id, type, created_at, sequence, data)
     select w.id, 'test', pg_current_xact_id()::text::bigint, uuidv7(), $3,
            clock_timestamp(), 2, $2::json
       from generate_series(1, $1::int) cross join (select id from workspaces order by id limit 1) w`,
    [count, EVENT_DATA, type],
  );
}

/**
 * Inserts events together with their pending deliveries to the endpoint for domains, because the
 * fan-out would take minutes. The event consumers are moved past them in the same commit.
 */
export async function insertPendingDeliveries(client: pg.Client, count: number): Promise<void> {
  const step = 100_000;
  for (let made = 0; made < count; made += step) {
    await client.query(INSERT_PENDING, [Math.min(step, count - made), EVENT_DATA]);
  }
  await client.query('analyze events, webhook_deliveries');
}

const INSERT_PENDING = `
with moved as (
    update event_consumers
       set tx = pg_current_xact_id()::text::bigint, id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
inserted as (
    insert into events (workspace_id, mode, tx, id, type, created_at, data)
    select w.workspace_id, w.mode, pg_current_xact_id()::text::bigint, uuidv7(), 'domain.verified',
           clock_timestamp(), $2::json
      from generate_series(1, $1::int)
     cross join (select workspace_id, mode from webhooks where 'domain.*' = any(events)) w
 returning *)
insert into webhook_deliveries (workspace_id, mode, webhook_id, event_id, event_tx, event_type,
                                due_at, created_at)
select t.workspace_id, t.mode, w.id, t.id, t.tx, t.type, t.created_at, t.created_at
  from inserted t join webhooks w on 'domain.*' = any(w.events)`;
