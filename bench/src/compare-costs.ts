import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './alternate.ts';
import { httpLoad } from './http-load.ts';
import { databaseCpuMicros } from './process-usage.ts';
import type { Report } from './results.ts';
import { type Sink, settled, type Taken } from './start-smtp-sink.ts';
import type { Target } from './start-target.ts';

/**
 * Compares the CPU time per delivered message of several loads, in slices that alternate. What a slice
 * causes later is counted until the next slice of its server begins. Medians of the slices count, because the
 * speed of the machine changes.
 */

/** Longer than the statistics hold counts of many workspaces back. */
const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 12) * 1000;
const WARM_UP_MS = Number(process.env.BENCH_WARM_UP_SECONDS ?? 20) * 1000;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
/** V8 forgets compiled code of a server that has been idle, so each slice starts with messages that do not count. */
const SLICE_WARM_UP_MS = Math.min(WARM_UP_MS, 5_000);
const CONNECTIONS = 64;

export interface Load {
  target: Target;
  request: () => string;
}

interface Contestant extends Load {
  name: string;
  slices: Slice[];
}

interface Slice {
  perSecond: number;
  messages: number;
  before: Usage;
  after: Usage;
}

interface Usage {
  node: number;
  database: number;
}

interface Cost extends Usage {
  perSecond: number;
}

/** The first is the usual case, which the others are compared with. */
export async function compareCosts(
  report: Report,
  sink: Sink,
  loads: Record<string, Load>,
  perSecond?: number,
): Promise<void> {
  const contestants = Object.entries(loads).map(
    ([name, load]): Contestant => ({ name, ...load, slices: [] }),
  );
  for (const { target, request } of contestants) {
    await send(target, request, WARM_UP_MS, perSecond);
    await untilIdle(target, sink);
  }
  const open = new Map<Target, Slice>();
  const close = async (target: Target): Promise<void> => {
    const slice = open.get(target);
    if (slice) slice.after = await usageOf(target);
  };
  for (let round = 0; round < ROUNDS; round++) {
    for (const { target, request, slices } of contestants) {
      await close(target);
      await send(target, request, SLICE_WARM_UP_MS, perSecond);
      await untilIdle(target, sink);
      const slice = await measure(target, request, sink, perSecond);
      slices.push(slice);
      open.set(target, slice);
    }
  }
  for (const target of open.keys()) await close(target);
  const costs = contestants.map(costOf);
  for (const [at, { perSecond: delivered, node, database }] of costs.entries()) {
    report(contestants[at]?.name as string, {
      'messages/s': delivered,
      'Node µs': node,
      'PostgreSQL µs': database,
    });
  }
  const [usual, ...others] = contestants as [Contestant, ...Contestant[]];
  for (const [at, { name, target }] of others.entries()) {
    const ratio = total(costs[at + 1] as Cost) / total(costs[0] as Cost);
    report(`${name} / ${usual.name}`, { 'CPU times': ratio, MiB: await target.memoryMiB() });
  }
}

async function measure(
  target: Target,
  request: () => string,
  sink: Sink,
  perSecond: number | undefined,
): Promise<Slice> {
  const { received: before } = await sink.count();
  const startedAt = performance.timeOrigin + performance.now();
  const usage = await usageOf(target);
  await send(target, request, DURATION_MS, perSecond);
  const { received, lastAt } = await untilIdle(target, sink);
  const messages = received - before;
  const seconds = (lastAt - startedAt) / 1000;
  return { perSecond: messages / seconds, messages, before: usage, after: usage };
}

const IDLE_MICROS_A_SECOND = 100_000;

/** Until all messages are delivered and their events counted, which may take longer. */
async function untilIdle(target: Target, sink: Sink): Promise<Taken> {
  const taken = await settled(sink);
  for (let last = await usageOf(target); ; ) {
    await sleep(1_000);
    const now = await usageOf(target);
    const micros = now.node + now.database - last.node - last.database;
    if (micros < IDLE_MICROS_A_SECOND) return taken;
    last = now;
  }
}

async function send(
  { port }: Target,
  request: () => string,
  durationMs: number,
  perSecond: number | undefined,
): Promise<void> {
  const rate = perSecond === undefined ? {} : { perSecond };
  await httpLoad({ port, connections: CONNECTIONS, warmUpMs: 0, durationMs, request, ...rate });
}

async function usageOf(target: Target): Promise<Usage> {
  return { node: await target.cpuMicros(), database: databaseCpuMicros(target.pid) };
}

function costOf({ slices }: Contestant): Cost {
  const each = (what: keyof Usage): number =>
    median(slices.map(({ before, after, messages }) => (after[what] - before[what]) / messages));
  return {
    perSecond: median(slices.map(({ perSecond }) => perSecond)),
    node: each('node'),
    database: each('database'),
  };
}

const total = ({ node, database }: Cost): number => node + database;
