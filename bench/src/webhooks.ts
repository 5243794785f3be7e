import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { silentLog } from '../../server/src/base/log.ts';
import { startEmbedded } from '../../server/src/storage/embedded-postgres.ts';
import { httpLoad, postRequest } from './http-load.ts';
import { sampleSend } from './sample.ts';
import { startTarget, type Target } from './targets.ts';

/**
 * Webhooks: how many events a second reach one and ten receivers, how long an event takes at low
 * load, also beside a dead endpoint, what an endpoint costs those who send mail, and what a million
 * undelivered events cost in memory. Server, database and receivers share the machine, so only ratios
 * within a run mean much.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 20_000);
const BACKLOG = Number(process.env.BENCH_BACKLOG ?? 1_000_000);
const DEAD_BACKLOG = Number(process.env.BENCH_DEAD_BACKLOG ?? 100_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const PARTS = (process.env.BENCH_PARTS ?? 'rate,delay,dead,cost,memory').split(',');

export async function benchWebhooks(): Promise<void> {
  if (PARTS.includes('rate')) {
    for (const receivers of [1, 10]) await benchRate(receivers);
  }
  if (PARTS.includes('delay')) await benchDelay();
  if (PARTS.includes('dead')) await benchDead();
  if (PARTS.includes('cost')) await benchCost();
  if (PARTS.includes('memory')) await benchMemory();
}

async function benchRate(receivers: number): Promise<void> {
  await using house = await startHouse();
  await using sink = await startSink(receivers);
  await addEndpoints(house.target, sink.ports);
  await appendEvents(house.client, EVENTS / receivers);
  await sink.untilReceived(2_000);
  await sink.ask('forget');
  const startedAt = performance.now();
  await appendEvents(house.client, EVENTS / receivers);
  await sink.untilReceived(EVENTS);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `${`to ${receivers} receiver${receivers === 1 ? '' : 's'}`.padEnd(22)} ${(EVENTS / seconds).toFixed(0).padStart(7)} events/s`,
  );
}

async function benchDelay(): Promise<void> {
  await using house = await startHouse();
  await using sink = await startSink(1);
  await addEndpoints(house.target, sink.ports);
  const at = await delaysOf(house, sink);
  console.log(
    `${'delay at low load'.padEnd(22)} p50 ${at(0.5)} ms   p95 ${at(0.95)} ms   p99 ${at(0.99)} ms (from an event to its receipt)`,
  );
}

/** A live endpoint, alone at first and then beside one that never answers and has a great deal waiting. */
async function benchDead(): Promise<void> {
  await using house = await startHouse();
  await using live = await startSink(1);
  await using dead = await startSink(1, 'hang');
  await addEndpoints(house.target, live.ports);
  const alone = await delaysOf(house, live);
  await addEndpoints(house.target, dead.ports, 'domain.*');
  await appendEvents(house.client, DEAD_BACKLOG, 'domain.verified');
  await untilFannedOut(house, DEAD_BACKLOG);
  const beside = await delaysOf(house, live);
  for (const share of [0.5, 0.95]) {
    const [before, after] = [alone(share), beside(share)];
    console.log(
      `${`beside a dead endpoint`.padEnd(22)} p${share * 100} ${before} ms alone, ${after} ms with ${DEAD_BACKLOG} waiting next door (${(after / Math.max(1, before)).toFixed(2)} times)`,
    );
  }
}

/** From an event to its receipt, of messages sent one after the other; by percentile. */
async function delaysOf(house: House, sink: Sink): Promise<(share: number) => number> {
  const { port, key } = house.target;
  const send = (): Promise<void> =>
    fetch(`http://127.0.0.1:${port}/api/v1/transactional/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(sampleSend('jane@example.com')),
    }).then((answer) => void answer.arrayBuffer());
  for (let n = 0; n < 20; n++) await send();
  await sleep(1_000);
  await sink.ask('forget');
  for (let n = 0; n < 200; n++) {
    await send();
    await sleep(20);
  }
  await sink.untilReceived(400);
  const delays = (await sink.ask('delays')).delays.sort((a, b) => a - b);
  return (share) => delays[Math.floor(delays.length * share)] ?? 0;
}

async function benchCost(): Promise<void> {
  const best = { without: 0, with: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    for (const how of ['without', 'with'] as const) {
      best[how] = Math.max(best[how], await acceptAndDeliver(how === 'with'));
    }
  }
  console.log(
    `${'without an endpoint'.padEnd(22)} ${best.without.toFixed(0).padStart(7)} messages/s`,
  );
  console.log(`${'with an endpoint'.padEnd(22)} ${best.with.toFixed(0).padStart(7)} messages/s`);
  console.log(`with / without          ${(best.with / best.without).toFixed(2)}`);
}

/** Accepted and delivered to the test inbox, a second, the last delivery included. */
async function acceptAndDeliver(withEndpoint: boolean): Promise<number> {
  await using house = await startHouse();
  await using sink = await startSink(1);
  if (withEndpoint) await addEndpoints(house.target, sink.ports);
  const { port, key } = house.target;
  const body = JSON.stringify(sampleSend('jane@example.com'));
  const startedAt = performance.now();
  const load = await httpLoad({
    port,
    connections: 64,
    durationMs: SECONDS * 1000,
    warmUpMs: 0,
    request: () => postRequest('/api/v1/transactional/send', key, body),
  });
  for (;;) {
    const { rows } = await house.client.query(
      `select exists (select from deliveries where status = 'queued') as waiting`,
    );
    if (!rows[0].waiting) break;
    await sleep(20);
  }
  const rate = load.count / ((performance.now() - startedAt) / 1000);
  if (withEndpoint) {
    const { received } = await sink.ask('count');
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`  (meanwhile ${(received / seconds).toFixed(0)} events/s were received)`);
  }
  return rate;
}

async function benchMemory(): Promise<void> {
  await using house = await startHouse();
  await using sink = await startSink(1, 'hang');
  await addEndpoints(house.target, sink.ports);
  await sleep(2_000);
  const beforeMiB = await house.target.memoryMiB();
  for (let done = 0; done < BACKLOG; done += 50_000) await appendEvents(house.client, 50_000);
  await untilFannedOut(house, BACKLOG);
  const afterMiB = await house.target.memoryMiB();
  console.log(
    `${`${BACKLOG} undelivered`.padEnd(22)} ${beforeMiB.toFixed(0)} MiB before, ${afterMiB.toFixed(0)} MiB after`,
  );
}

async function untilFannedOut(house: House, count: number): Promise<void> {
  for (;;) {
    const { rows } = await house.client.query(
      `select count(*)::int as n from webhook_deliveries where status <> 'succeeded'`,
    );
    if (rows[0].n >= count) return;
    await sleep(500);
  }
}

interface House extends AsyncDisposable {
  target: Target;
  client: pg.Client;
}

async function startHouse(): Promise<House> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'postrider-bench-'));
  const postgres = await startEmbedded({ dataDir, log: silentLog, holder: 'command' });
  const { user, host, database } = postgres.connection;
  const url = `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}`;
  const target = await startTarget('grouped', {
    dataDir,
    env: {
      DATABASE_URL: url,
      SECRET_KEY: 'a secret key for benchmarks, long enough to be one',
      WEBHOOK_ALLOW_PRIVATE: 'true',
    },
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    target,
    client,
    async [Symbol.asyncDispose]() {
      await client.end();
      await target[Symbol.asyncDispose]();
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function addEndpoints(
  { port, key }: Target,
  ports: readonly number[],
  events = 'message.*',
): Promise<void> {
  for (const sinkPort of ports) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `http://127.0.0.1:${sinkPort}/`, events: [events] }),
    });
    if (answer.status !== 201) throw new Error(await answer.text());
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

/** As delivery would, in one commit. */
async function appendEvents(
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

interface SinkReport {
  received: number;
  delays: number[];
}

interface Sink extends AsyncDisposable {
  ports: number[];
  ask(what: 'count' | 'delays' | 'forget'): Promise<SinkReport>;
  untilReceived(count: number): Promise<void>;
}

async function startSink(count: number, mode: 'answer' | 'hang' = 'answer'): Promise<Sink> {
  const child = fork(path.join(import.meta.dirname, 'webhook-sink.ts'), [String(count), mode]);
  child.setMaxListeners(0);
  const { ports } = await messageOf<{ ports: number[] }>(child);
  const ask = (what: string): Promise<SinkReport> => {
    const answer = messageOf<SinkReport>(child);
    child.send(what);
    return answer;
  };
  return {
    ports,
    ask,
    async untilReceived(wanted) {
      while ((await ask('count')).received < wanted) await sleep(20);
    },
    async [Symbol.asyncDispose]() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await gone;
    },
  };
}

function messageOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code) => reject(new Error(`The receiver ended with ${code}`)));
  });
}
