import { compareCosts } from './compare-costs.ts';
import { httpLoad, postRequest } from './http-load.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { benchDomains } from './scale-domains.ts';
import { type Sink, startSink } from './start-smtp-sink.ts';
import { startTarget, type Target } from './start-target.ts';

/**
 * Costs must not grow with the number of workspaces, or of receiving domains: CPU time of the server
 * and of PostgreSQL per delivered message, with few and with many of them, alternating.
 */

const WORKSPACES = Number(process.env.BENCH_WORKSPACES ?? 10_000);
const PARTS = (process.env.BENCH_PARTS ?? 'workspaces,domains').split(',');

export async function benchScale(report: Report): Promise<void> {
  if (PARTS.includes('workspaces')) await workspaces(report);
  if (PARTS.includes('domains')) await benchDomains(report);
}

/** Each has a server and a database of its own, because vacuum works for what has been sent before. */
async function workspaces(report: Report): Promise<void> {
  await using sink = await startSink();
  await using one = await start(sink);
  await using many = await start(sink);
  const keys = await many.addWorkspaces(WORKSPACES);
  // So that the statistics add up as many counts as the messages append.
  await many.seedAppendedCounts();
  const body = JSON.stringify(sampleSend('jane@example.com'));
  const send = (key: string): string => postRequest('/api/v1/transactional/send', key, body);
  let sent = 0;
  const takeTurns = (): string => send(keys[sent++ % keys.length] as string);
  // The first message of a workspace costs more than the others, and is not compared.
  while (sent < keys.length) {
    const { port } = many;
    await httpLoad({ port, connections: 64, durationMs: 1000, warmUpMs: 0, request: takeTurns });
  }
  await compareCosts(report, sink, {
    'one workspace': { target: one, request: () => send(one.key) },
    [`${WORKSPACES} workspaces`]: { target: many, request: takeTurns },
  });
}

function start(sink: Sink): Promise<Target> {
  return startTarget('grouped', {
    env: {
      BENCH_MODE: 'live',
      BENCH_UNSIGNED: '1',
      DELIVERY_ROUTE: `smtp://127.0.0.1:${sink.port}`,
    },
  });
}
