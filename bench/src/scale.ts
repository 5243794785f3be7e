import { compareCosts, type Load } from './compare-costs.ts';
import { httpLoad, postRequest } from './http-load.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { benchDomains } from './scale-domains.ts';
import { type Sink, startSink } from './start-smtp-sink.ts';
import { startTarget } from './start-target.ts';

/**
 * Costs must not grow with the number of workspaces, or of receiving domains: CPU time of the server
 * and of PostgreSQL per delivered message, with few and with many of them, alternating.
 */

const WORKSPACES = Number(process.env.BENCH_WORKSPACES ?? 10_000);
const FEW_WORKSPACES = 100;
const PARTS = (process.env.BENCH_PARTS ?? 'workspaces,domains').split(',');

export async function benchScale(report: Report): Promise<void> {
  if (PARTS.includes('workspaces')) await workspaces(report);
  if (PARTS.includes('domains')) await benchDomains(report);
}

/** Each load has a server and a database of its own, because vacuum works for what has been sent before. */
async function workspaces(report: Report): Promise<void> {
  await using sink = await startSink();
  await using few = await startWorkspaces(sink, FEW_WORKSPACES);
  await using one = await startWorkspaces(sink, 1);
  await using many = await startWorkspaces(sink, WORKSPACES);
  await compareCosts(report, sink, {
    [`${FEW_WORKSPACES} workspaces`]: few,
    'one workspace': one,
    [`${WORKSPACES} workspaces`]: many,
  });
}

/** Workspaces that take turns. */
async function startWorkspaces(sink: Sink, count: number): Promise<Load & AsyncDisposable> {
  const target = await startTarget('grouped', {
    env: {
      BENCH_MODE: 'live',
      BENCH_UNSIGNED: '1',
      DELIVERY_ROUTE: `smtp://127.0.0.1:${sink.port}`,
    },
  });
  const keys = count === 1 ? [target.key] : await target.addWorkspaces(count);
  // So that the statistics add up as many counts as the messages append.
  if (count > 1) await target.seedAppendedCounts();
  const body = JSON.stringify(sampleSend('jane@example.com'));
  let sent = 0;
  const request = (): string =>
    postRequest('/api/v1/transactional/send', keys[sent++ % keys.length] as string, body);
  // The first message of a workspace costs more than the others, and is not compared.
  while (sent < keys.length) {
    const { port } = target;
    await httpLoad({ port, connections: 64, durationMs: 1000, warmUpMs: 0, request });
  }
  return { target, request, [Symbol.asyncDispose]: () => target[Symbol.asyncDispose]() };
}
