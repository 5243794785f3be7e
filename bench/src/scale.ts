import { compareCosts } from './compare-costs.ts';
import { postRequest } from './http-load.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { benchDomains } from './scale-domains.ts';
import { startSink } from './start-smtp-sink.ts';
import { startTarget } from './start-target.ts';

/**
 * Costs must not grow with the number of workspaces, or of receiving domains: CPU time of the server
 * and of PostgreSQL per delivered message, with few and with many of them, alternating in one process.
 */

const WORKSPACES = Number(process.env.BENCH_WORKSPACES ?? 10_000);
const PARTS = (process.env.BENCH_PARTS ?? 'workspaces,domains').split(',');

export async function benchScale(report: Report): Promise<void> {
  if (PARTS.includes('workspaces')) await workspaces(report);
  if (PARTS.includes('domains')) await benchDomains(report);
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
  // So that the statistics add up as many counts as the messages append.
  await target.seedAppendedCounts();
  const body = JSON.stringify(sampleSend('jane@example.com'));
  const send = (key: string): string => postRequest('/api/v1/transactional/send', key, body);
  let sent = 0;
  await compareCosts(report, target, sink, {
    'one workspace': () => send(target.key),
    [`${WORKSPACES} workspaces`]: () => send(keys[sent++ % keys.length] as string),
  });
}
