import { httpLoad, postRequest } from './http-load.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { rateOf, startSink } from './start-smtp-sink.ts';
import { startTarget, type Target } from './start-target.ts';

/**
 * Costs must not grow with the history or the backlog: acceptance and delivery, each measured with
 * an empty database and again, in the same process, with a million stored or queued messages. Also
 * the memory of the server when idle and under load.
 */

const COUNT = Number(process.env.BENCH_HISTORY ?? 1_000_000);
const PARTS = (process.env.BENCH_PARTS ?? 'accept,deliver').split(',');
const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 6) * 1000;

export async function benchHistory(report: Report): Promise<void> {
  if (PARTS.includes('accept')) await accepting(report);
  if (PARTS.includes('deliver')) await delivering(report);
}

async function accepting(report: Report): Promise<void> {
  await using target = await startTarget('grouped', { env: { ROLES: 'api' } });
  report('memory when idle', { MiB: await target.memoryMiB() });
  await rate(target);
  const empty = await rate(target);
  report('memory after load', { MiB: await target.memoryMiB() });
  await target.seed(COUNT, 'delivered');
  await rate(target);
  const full = await rate(target);
  report('accepting, empty', { 'requests/s': empty });
  report(`accepting, ${COUNT} stored`, { 'requests/s': full, 'empty times': full / empty });
}

/** Counts what reaches the receiver, from the first request to the last final dot. */
async function delivering(report: Report): Promise<void> {
  await using sink = await startSink();
  await using target = await startTarget('grouped', {
    env: {
      BENCH_MODE: 'live',
      BENCH_UNSIGNED: '1',
      DELIVERY_ROUTE: `smtp://127.0.0.1:${sink.port}`,
    },
  });
  const delivered = (): Promise<number> => rateOf(sink, () => rate(target));
  await delivered();
  const empty = await delivered();
  const before = await target.memoryMiB();
  await target.seed(COUNT, 'waiting');
  await delivered();
  const full = await delivered();
  const after = await target.memoryMiB();
  report('delivering, empty queue', { 'messages/s': empty, MiB: before });
  const figures = { 'messages/s': full, MiB: after, 'empty times': full / empty };
  report(`delivering, ${COUNT} waiting`, figures);
}

async function rate(target: Target): Promise<number> {
  const body = JSON.stringify(sampleSend('jane@example.com'));
  const { perSecond } = await httpLoad({
    port: target.port,
    connections: 64,
    durationMs: DURATION_MS,
    warmUpMs: 500,
    request: () => postRequest('/api/v1/transactional/send', target.key, body),
  });
  return perSecond;
}
