import { httpLoad, postRequest } from './http-load.ts';
import { startNameServer } from './name-server.ts';
import { databaseCpuMicros } from './process-usage.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { type Sink, settled, startSink } from './start-smtp-sink.ts';
import { startTarget, type Target } from './start-target.ts';

/**
 * Costs must not grow with the number of workspaces, or of receiving domains: CPU time of the server
 * and of PostgreSQL per delivered message, with few and with many of them, alternating in one process.
 */

const WORKSPACES = Number(process.env.BENCH_WORKSPACES ?? 10_000);
const DOMAINS = Number(process.env.BENCH_DOMAINS ?? 100_000);
const FEW_DOMAINS = 100;
const PARTS = (process.env.BENCH_PARTS ?? 'workspaces,domains').split(',');
const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 10) * 1000;
const WARM_UP_MS = Number(process.env.BENCH_WARM_UP_SECONDS ?? 20) * 1000;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const CONNECTIONS = 64;

export async function benchScale(report: Report): Promise<void> {
  if (PARTS.includes('workspaces')) await workspaces(report);
  if (PARTS.includes('domains')) await domains(report);
}

async function workspaces(report: Report): Promise<void> {
  await using sink = await startSink();
  await using target = await startTarget('grouped', {
    env: {
      BENCH_MODE: 'live',
      BENCH_UNSIGNED: '1',
      DELIVERY_ROUTE: `smtp://127.0.0.1:${sink.port}`,
    },
  });
  const keys = await target.addWorkspaces(WORKSPACES);
  const body = JSON.stringify(sampleSend('jane@example.com'));
  const send = (key: string): string => postRequest('/api/v1/transactional/send', key, body);
  let sent = 0;
  await compare(report, target, sink, {
    'one workspace': () => send(target.key),
    [`${WORKSPACES} workspaces`]: () => send(keys[sent++ % keys.length] as string),
  });
}

async function domains(report: Report): Promise<void> {
  await using names = await startNameServer();
  // The mail servers have loopback addresses of their own.
  await using sink = await startSink('0.0.0.0');
  await using target = await startTarget('grouped', {
    env: {
      BENCH_MODE: 'live',
      BENCH_UNSIGNED: '1',
      DNS_SERVERS: `127.0.0.1:${names.port}`,
      MX_PORT: String(sink.port),
      OUTGOING_ADDRESSES: 'ipv4',
    },
  });
  const body = JSON.stringify(sampleSend('jane@receiver.example'));
  const send = (domain: number): string =>
    postRequest(
      '/api/v1/transactional/send',
      target.key,
      body.replace('receiver.example', `receiver${domain}.example`),
    );
  let sent = 0;
  await compare(report, target, sink, {
    [`${FEW_DOMAINS} domains`]: () => send(sent++ % FEW_DOMAINS),
    [`${DOMAINS} domains`]: () => send(sent++ % DOMAINS),
  });
}

interface Cost {
  perSecond: number;
  nodeMicros: number;
  databaseMicros: number;
}

/** The first is the usual case, the second the one that must not cost more. */
async function compare(
  report: Report,
  target: Target,
  sink: Sink,
  requests: Record<string, () => string>,
): Promise<void> {
  const [usual, many] = Object.entries(requests).map(([name, request]) => ({
    name,
    request,
    costs: [] as Cost[],
  })) as [Contestant, Contestant];
  for (const { request } of [usual, many]) await measure(target, sink, request, WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const one of [usual, many]) {
      one.costs.push(await measure(target, sink, one.request, DURATION_MS));
    }
  }
  for (const { name, costs } of [usual, many]) {
    const { perSecond, nodeMicros, databaseMicros } = cheapest(costs);
    const figures = {
      'messages/s': perSecond,
      'Node µs': nodeMicros,
      'PostgreSQL µs': databaseMicros,
    };
    report(name, figures);
  }
  const ratio = total(cheapest(many.costs)) / total(cheapest(usual.costs));
  report(`${many.name} / ${usual.name}`, { 'CPU times': ratio, MiB: await target.memoryMiB() });
}

interface Contestant {
  name: string;
  request: () => string;
  costs: Cost[];
}

/** Other programs on the machine only ever add to the cost. */
function cheapest(costs: readonly Cost[]): Cost {
  return costs.reduce((best, one) => (total(one) < total(best) ? one : best));
}

const total = ({ nodeMicros, databaseMicros }: Cost): number => nodeMicros + databaseMicros;

async function measure(
  target: Target,
  sink: Sink,
  request: () => string,
  durationMs: number,
): Promise<Cost> {
  const { received: before } = await settled(sink);
  const startedAt = performance.timeOrigin + performance.now();
  const [node, database] = [await target.cpuMicros(), databaseCpuMicros(target.pid)];
  await httpLoad({
    port: target.port,
    connections: CONNECTIONS,
    durationMs,
    warmUpMs: 0,
    request,
  });
  const { received, lastAt } = await settled(sink);
  const messages = received - before;
  return {
    perSecond: messages / ((lastAt - startedAt) / 1000),
    nodeMicros: ((await target.cpuMicros()) - node) / messages,
    databaseMicros: (databaseCpuMicros(target.pid) - database) / messages,
  };
}
