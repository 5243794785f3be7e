import { setTimeout as sleep } from 'node:timers/promises';
import { benchFollowers } from './followers.ts';
import { openClient, postRequest } from './http-load.ts';
import { type CpuByProcess, cpuByProcess } from './process-usage.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { startSink } from './start-smtp-sink.ts';
import { startWebhookSink } from './start-webhook-sink.ts';
import { readStatements, STEPS, type Statement, stepOf } from './statement-steps.ts';
import {
  addEndpoints,
  startWebhookEnvironment,
  type WebhookEnvironment,
} from './webhook-environment.ts';

/**
 * What a message costs, from HTTP to SMTP and, with an endpoint, to two webhooks: CPU time by process,
 * and CPU time and WAL by step of its statements. Measured twice: as fast as the machine can, where
 * groups are large and webhooks wait for mail, and at a rate that leaves time for both. Messages are
 * not signed; each has its own recipient and idempotency key. Then, how fast the consumers of the event
 * log are.
 *
 * PostgreSQL measures the time of statements, not their CPU time, and on a busy machine they wait for a
 * core. Their times are therefore scaled so that they add up to the CPU time of PostgreSQL's backends.
 */

const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const WARM_UP_SECONDS = Number(process.env.BENCH_WARM_UP_SECONDS ?? 15);
const RATE = Number(process.env.BENCH_RATE ?? 300);
const PARTS = (process.env.BENCH_PARTS ?? 'full,paced,followers').split(',');
const CONNECTIONS = 64;

const LOADS = [
  { part: 'full', name: 'full', perSecond: undefined },
  { part: 'paced', name: `${RATE}/s`, perSecond: RATE },
];

export async function benchCost(report: Report): Promise<void> {
  console.log(`Per message; "full" is as fast as the machine can.`);
  for (const { part, name, perSecond } of LOADS) {
    if (!PARTS.includes(part)) continue;
    for (const endpoints of [0, 1]) {
      const cost = await measure(endpoints, perSecond);
      reportCost(report, endpoints > 0 ? `${name} + webhooks` : name, cost);
    }
  }
  if (PARTS.includes('followers')) await measureFollowers(report);
}

async function measureFollowers(report: Report): Promise<void> {
  await using mail = await startSink();
  await using environment = await startEnvironment(mail.port, { ROLES: 'api,delivery' });
  await using receiver = await startWebhookSink(1);
  await addEndpoints(environment.target, receiver.ports);
  await using load = await openClient(environment.target.port, CONNECTIONS);
  await load.run({
    durationMs: SECONDS * 1000,
    warmUpMs: 0,
    request: sends(environment.target.key),
  });
  await untilRecorded(environment);
  await benchFollowers(report, environment);
}

interface Cost {
  messages: number;
  perSecond: number;
  cpu: CpuByProcess;
  walBytes: number;
  diskBytes: number;
  statements: Statement[];
}

async function measure(endpoints: number, perSecond: number | undefined): Promise<Cost> {
  await using mail = await startSink();
  await using environment = await startEnvironment(mail.port);
  await using receiver = await startWebhookSink(1);
  const { client, target } = environment;
  await client.query('create extension pg_stat_statements');
  if (endpoints > 0) await addEndpoints(target, receiver.ports);
  await using load = await openClient(target.port, CONNECTIONS);
  let sent = 0;
  const request = sends(target.key);
  const send = (seconds: number) =>
    load.run({
      durationMs: seconds * 1000,
      warmUpMs: 0,
      ...(perSecond === undefined ? {} : { perSecond }),
      request: () => request(sent++),
    });
  // The first change of a page after a checkpoint writes all of it, which a short run would overstate.
  await client.query('checkpoint');
  await send(WARM_UP_SECONDS);
  await untilProcessed(environment);

  await client.query('select pg_stat_statements_reset()');
  const messagesBefore = sent;
  const before = await readSizes(environment);
  const cpuBefore = cpuByProcess(environment);
  const { perSecond: accepted } = await send(SECONDS);
  await untilProcessed(environment);
  const cpuAfter = cpuByProcess(environment);
  const statements = await readStatements(client);
  const after = await readSizes(environment);
  const cpu = Object.fromEntries(
    Object.entries(cpuAfter).map(([name, micros]) => [name, micros - (cpuBefore[name] ?? 0)]),
  );
  return {
    messages: sent - messagesBefore,
    perSecond: accepted,
    cpu,
    walBytes: after.wal - before.wal,
    diskBytes: after.disk - before.disk,
    statements,
  };
}

function startEnvironment(
  mailPort: number,
  env: Record<string, string> = {},
): Promise<WebhookEnvironment> {
  return startWebhookEnvironment({
    settings: STATISTICS_SETTINGS,
    env: {
      BENCH_MODE: 'live',
      BENCH_UNSIGNED: '1',
      DELIVERY_ROUTE: `smtp://127.0.0.1:${mailPort}`,
      ...env,
    },
  });
}

/** The nth send. */
function sends(key: string): (n: number) => string {
  return (n) => {
    const body = JSON.stringify(sampleSend(`jane-${n}@example.com`));
    return postRequest('/api/v1/transactional/send', key, body, `bench-${n}`);
  };
}

const STATISTICS_SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
};

async function untilRecorded({ client }: WebhookEnvironment): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      `select exists (select from deliveries where status in ('queued', 'deferred')) as waiting`,
    );
    if (!rows[0].waiting) return;
    await sleep(500);
  }
}

/** Everything is delivered, recorded, sent to the endpoint and counted. */
async function untilProcessed(environment: WebhookEnvironment): Promise<void> {
  await untilRecorded(environment);
  for (;;) {
    const { rows } = await environment.client.query(`select
        exists (select from webhook_deliveries where status = 'pending')
        or exists (select from webhook_backlogs)
        or exists (select from event_chunks)
        or exists (select from events e join event_consumers c on (e.tx, e.id) > (c.tx, c.id)
                    where e.tx >= (select min(tx) from event_consumers)
                      and (c.name = 'statistics' or exists (select from webhooks))) as waiting`);
    if (!rows[0].waiting) return;
    await sleep(500);
  }
}

/**
 * The position in the WAL instead of pg_stat_wal, which sessions update only after ten idle seconds.
 */
async function readSizes({ client }: WebhookEnvironment): Promise<{ wal: number; disk: number }> {
  const { rows } = await client.query(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal,
            pg_database_size(current_database())::float8 as disk`,
  );
  return rows[0];
}

function reportCost(report: Report, name: string, cost: Cost): void {
  const each = (value: number): number => value / cost.messages;
  report(`${name}: accepted`, { 'messages/s': cost.perSecond });
  for (const [process, micros] of Object.entries(cost.cpu)) {
    report(`${name}: ${process}`, { 'CPU-µs': each(micros) });
  }
  const backends = cost.cpu['PostgreSQL backends'] ?? Number.NaN;
  const scale = backends / sum(cost.statements.map(({ micros }) => micros));
  for (const step of STEPS) {
    const statements = cost.statements.filter((statement) => stepOf(statement) === step);
    const total = (key: 'calls' | 'micros' | 'walBytes' | 'pages') =>
      each(sum(statements.map((statement) => statement[key])));
    if (statements.length === 0) continue;
    report(`${name}: ${step}`, {
      'CPU-µs': total('micros') * scale,
      'WAL-bytes': total('walBytes'),
      'full-pages': total('pages'),
      calls: total('calls'),
    });
  }
  const ofStatements = sum(cost.statements.map(({ walBytes }) => walBytes));
  report(`${name}: commits and vacuum`, { 'WAL-bytes': each(cost.walBytes - ofStatements) });
  report(`${name}: WAL in total`, { 'WAL-bytes': each(cost.walBytes) });
  report(`${name}: disk`, { bytes: each(cost.diskBytes) });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
