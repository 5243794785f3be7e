import { httpLoad } from './http-load.ts';
import { databaseCpuMicros } from './process-usage.ts';
import type { Report } from './results.ts';
import { type Sink, settled } from './start-smtp-sink.ts';
import type { Target } from './start-target.ts';

/** Compares the CPU time per delivered message of several loads, alternating in one process. */

const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 10) * 1000;
const WARM_UP_MS = Number(process.env.BENCH_WARM_UP_SECONDS ?? 20) * 1000;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const CONNECTIONS = 64;

interface Cost {
  perSecond: number;
  nodeMicros: number;
  databaseMicros: number;
}

/** The first is the usual case, which the others are compared with. */
export async function compareCosts(
  report: Report,
  target: Target,
  sink: Sink,
  requests: Record<string, () => string>,
  perSecond?: number,
): Promise<void> {
  const contestants = Object.entries(requests).map(
    ([name, request]): Contestant => ({ name, request, costs: [] }),
  );
  const [usual, ...others] = contestants as [Contestant, ...Contestant[]];
  const run = (one: Contestant, durationMs: number) =>
    measure(target, sink, { request: one.request, durationMs, perSecond });
  for (const one of contestants) await run(one, WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const one of contestants) one.costs.push(await run(one, DURATION_MS));
  }
  for (const { name, costs } of contestants) {
    const { perSecond: delivered, nodeMicros, databaseMicros } = cheapest(costs);
    const figures = {
      'messages/s': delivered,
      'Node µs': nodeMicros,
      'PostgreSQL µs': databaseMicros,
    };
    report(name, figures);
  }
  for (const { name, costs } of others) {
    const ratio = total(cheapest(costs)) / total(cheapest(usual.costs));
    report(`${name} / ${usual.name}`, { 'CPU times': ratio, MiB: await target.memoryMiB() });
  }
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
  load: { request: () => string; durationMs: number; perSecond: number | undefined },
): Promise<Cost> {
  const { received: before } = await settled(sink);
  const startedAt = performance.timeOrigin + performance.now();
  const [node, database] = [await target.cpuMicros(), databaseCpuMicros(target.pid)];
  const { perSecond, ...rest } = load;
  await httpLoad({
    port: target.port,
    connections: CONNECTIONS,
    warmUpMs: 0,
    ...(perSecond === undefined ? {} : { perSecond }),
    ...rest,
  });
  const { received, lastAt } = await settled(sink);
  const messages = received - before;
  return {
    perSecond: messages / ((lastAt - startedAt) / 1000),
    nodeMicros: ((await target.cpuMicros()) - node) / messages,
    databaseMicros: (databaseCpuMicros(target.pid) - database) / messages,
  };
}
