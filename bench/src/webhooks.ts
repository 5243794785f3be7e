import { setTimeout as sleep } from 'node:timers/promises';
import { httpLoad, postRequest } from './http-load.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { startWebhookSink, type WebhookSink } from './start-webhook-sink.ts';
import {
  addEndpoints,
  appendEvents,
  type EnvironmentUsage,
  insertPendingDeliveries,
  startWebhookEnvironment,
  type WebhookEnvironment,
} from './webhook-environment.ts';

/**
 * Webhooks: events per second that reach one and ten receivers, the delay of an event at low load,
 * also next to a dead endpoint, the cost of an endpoint for mail, and the cost of a million
 * undelivered events in memory and in delay for other events. Server, database and receivers share
 * the machine, so only ratios within a run and CPU time are meaningful.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 20_000);
const BACKLOG = Number(process.env.BENCH_BACKLOG ?? 1_000_000);
const DEAD_BACKLOG = Number(process.env.BENCH_DEAD_BACKLOG ?? 100_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const PARTS = (process.env.BENCH_PARTS ?? 'rate,delay,dead,cost,backlog').split(',');

export async function benchWebhooks(report: Report): Promise<void> {
  if (PARTS.includes('rate')) {
    for (const receivers of [1, 10]) await benchRate(report, receivers);
  }
  if (PARTS.includes('delay')) await benchDelay(report);
  if (PARTS.includes('dead')) await benchDead(report);
  if (PARTS.includes('cost')) await benchCost(report);
  if (PARTS.includes('backlog')) await benchBacklog(report);
}

async function benchRate(report: Report, receivers: number): Promise<void> {
  await using environment = await startWebhookEnvironment();
  await using sink = await startWebhookSink(receivers);
  await addEndpoints(environment.target, sink.ports);
  await deliverEvents(environment, sink, receivers);
  const figures = await deliverEvents(environment, sink, receivers);
  report(`to ${receivers} receiver${receivers === 1 ? '' : 's'}`, figuresOf(figures));
}

interface Figures {
  perSecond: number;
  /** CPU microseconds per event, of the server and of PostgreSQL. */
  micros: { node: number; postgres: number } | undefined;
}

/** From the commit of all events to the last receipt. */
async function deliverEvents(
  environment: WebhookEnvironment,
  sink: WebhookSink,
  receivers = 1,
): Promise<Figures> {
  await sink.request('reset');
  const before = environment.usage();
  const startedAt = performance.now();
  await appendEvents(environment.client, EVENTS / receivers);
  await sink.untilReceived(EVENTS);
  const seconds = (performance.now() - startedAt) / 1000;
  return { perSecond: EVENTS / seconds, micros: microsEach(before, environment.usage(), EVENTS) };
}

function microsEach(
  before: EnvironmentUsage | undefined,
  after: EnvironmentUsage | undefined,
  count: number,
): Figures['micros'] {
  if (!before || !after) return undefined;
  const each = (who: keyof EnvironmentUsage): number =>
    (after[who].cpuMicros - before[who].cpuMicros) / count;
  return { node: each('node'), postgres: each('postgres') };
}

/** CPU time is per event or message. */
function figuresOf({ perSecond, micros }: Figures, unit = 'event') {
  const cost = micros && { 'Node µs': micros.node, 'PostgreSQL µs': micros.postgres };
  return { [`${unit}s/s`]: perSecond, ...cost };
}

async function benchDelay(report: Report): Promise<void> {
  await using environment = await startWebhookEnvironment();
  await using sink = await startWebhookSink(1);
  await addEndpoints(environment.target, sink.ports);
  const at = await delaysOf(environment, sink);
  const figures = { 'p50 ms': at(0.5), 'p95 ms': at(0.95), 'p99 ms': at(0.99) };
  report('from an event to its receipt, low load', figures);
}

/**
 * A live endpoint, alone at first and then next to one that never responds and has a large backlog.
 */
async function benchDead(report: Report): Promise<void> {
  await using environment = await startWebhookEnvironment();
  await using live = await startWebhookSink(1);
  await using dead = await startWebhookSink(1, 'hang');
  await addEndpoints(environment.target, live.ports);
  const alone = await delaysOf(environment, live);
  await addEndpoints(environment.target, dead.ports, 'domain.*');
  await appendEvents(environment.client, DEAD_BACKLOG, 'domain.verified');
  await untilFannedOut(environment, DEAD_BACKLOG);
  const beside = await delaysOf(environment, live);
  for (const share of [0.5, 0.95]) {
    const [before, after] = [alone(share), beside(share)];
    report(`p${share * 100} next to a dead endpoint with ${DEAD_BACKLOG}`, {
      'alone ms': before,
      'next ms': after,
      times: after / Math.max(1, before),
    });
  }
}

/** From an event to its receipt, for messages sent one after the other; by percentile. */
async function delaysOf(
  environment: WebhookEnvironment,
  sink: WebhookSink,
): Promise<(share: number) => number> {
  const { port, key } = environment.target;
  const send = (): Promise<void> =>
    fetch(`http://127.0.0.1:${port}/api/v1/transactional/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(sampleSend('jane@example.com')),
    }).then((answer) => void answer.arrayBuffer());
  for (let n = 0; n < 20; n++) await send();
  await sleep(1_000);
  await sink.request('reset');
  for (let n = 0; n < 200; n++) {
    await send();
    await sleep(20);
  }
  await sink.untilReceived(400);
  const delays = (await sink.request('delays')).delays.sort((a, b) => a - b);
  return (share) => delays[Math.floor(delays.length * share)] ?? 0;
}

/**
 * The best of several rounds. Under full load mail has priority (webhook-throttle.ts), and the
 * webhook backlog is sent afterwards: the last figure includes all of it.
 */
async function benchCost(report: Report): Promise<void> {
  const best: Partial<Record<'without' | 'with', Cost>> = {};
  for (let round = 0; round < ROUNDS; round++) {
    for (const how of ['without', 'with'] as const) {
      const cost = await acceptAndDeliver(how === 'with');
      if (cost.perSecond > (best[how]?.perSecond ?? 0)) best[how] = cost;
    }
  }
  const { without, with: beside } = best as Record<'without' | 'with', Cost>;
  report('without an endpoint', figuresOf(without, 'message'));
  report('with an endpoint', figuresOf(beside, 'message'));
  report('with / without', { times: beside.perSecond / without.perSecond });
  const share = (beside.meanwhile / beside.events) * 100;
  report('events received meanwhile', { '%': share }, `of ${beside.events}`);
  report('the rest of the events', figuresOf(beside.rest));
}

interface Cost extends Figures {
  events: number;
  /** Events that were received before the last message was delivered. */
  meanwhile: number;
  rest: Figures;
}

/** Messages per second, accepted and delivered to the test inbox, including the last delivery. */
async function acceptAndDeliver(withEndpoint: boolean): Promise<Cost> {
  await using environment = await startWebhookEnvironment();
  await using sink = await startWebhookSink(1);
  if (withEndpoint) await addEndpoints(environment.target, sink.ports);
  await sendFor(environment, 1_000);
  await sleep(1_000);
  if (withEndpoint) await sink.untilReceived(await eventsOf(environment));
  await sink.request('reset');
  const eventsBefore = await eventsOf(environment);

  const before = environment.usage();
  const startedAt = performance.now();
  const sent = await sendFor(environment, SECONDS * 1000);
  const endedAt = performance.now();
  const after = environment.usage();
  const { received: meanwhile } = await sink.request('count');
  const events = (await eventsOf(environment)) - eventsBefore;
  if (withEndpoint) await sink.untilReceived(events);
  const restSeconds = (performance.now() - endedAt) / 1000;
  const left = Math.max(1, events - meanwhile);
  return {
    perSecond: sent / ((endedAt - startedAt) / 1000),
    micros: microsEach(before, after, sent),
    events,
    meanwhile,
    rest: { perSecond: left / restSeconds, micros: microsEach(after, environment.usage(), left) },
  };
}

/** How many were accepted; returns when all of them are delivered. */
async function sendFor(
  { target, client }: WebhookEnvironment,
  durationMs: number,
): Promise<number> {
  const body = JSON.stringify(sampleSend('jane@example.com'));
  const load = await httpLoad({
    port: target.port,
    connections: 64,
    durationMs,
    warmUpMs: 0,
    request: () => postRequest('/api/v1/transactional/send', target.key, body),
  });
  for (;;) {
    const { rows } = await client.query(
      `select exists (select from deliveries where status = 'queued') as waiting`,
    );
    if (!rows[0].waiting) return load.count;
    await sleep(20);
  }
}

async function eventsOf({ client }: WebhookEnvironment): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as n from events where type like 'message.%'`,
  );
  return rows[0].n;
}

/** A backlog of a million for an endpoint that never responds, and its effect on one that does. */
async function benchBacklog(report: Report): Promise<void> {
  await using environment = await startWebhookEnvironment();
  await using dead = await startWebhookSink(1, 'hang');
  await using live = await startWebhookSink(1);
  await addEndpoints(environment.target, dead.ports, 'domain.*');
  await addEndpoints(environment.target, live.ports);
  await deliverEvents(environment, live);
  const alone = await deliverEvents(environment, live);
  const before = environment.usage();
  await insertPendingDeliveries(environment.client, BACKLOG);
  await sleep(10_000);
  const beside = await deliverEvents(environment, live);
  const after = environment.usage();
  report('no backlog elsewhere', figuresOf(alone));
  report(`backlog of ${BACKLOG} elsewhere`, figuresOf(beside));
  if (!before || !after) return;
  for (const [who, name] of [
    ['node', 'the server'],
    ['postgres', 'PostgreSQL'],
  ] as const) {
    report(`memory of ${name}`, {
      'none MiB': before[who].memoryMiB,
      'backlog MiB': after[who].memoryMiB,
    });
  }
}

async function untilFannedOut(environment: WebhookEnvironment, count: number): Promise<void> {
  for (;;) {
    const { rows } = await environment.client.query(
      `select (select count(*) from webhook_deliveries where status <> 'succeeded')::int
              + (select coalesce(sum(events), 0) from webhook_backlogs)::int as n`,
    );
    if (rows[0].n >= count) return;
    await sleep(500);
  }
}
