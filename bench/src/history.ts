import { httpLoad, postRequest } from './http-load.ts';
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

export async function benchHistory(): Promise<void> {
  if (PARTS.includes('accept')) await accepting();
  if (PARTS.includes('deliver')) await delivering();
}

async function accepting(): Promise<void> {
  await using target = await startTarget('grouped', { env: { ROLES: 'api' } });
  console.log(`memory when idle          ${(await target.memoryMiB()).toFixed(0)} MiB`);
  await rate(target);
  const empty = await rate(target);
  console.log(`memory after load         ${(await target.memoryMiB()).toFixed(0)} MiB`);
  await target.seed(COUNT, 'delivered');
  await rate(target);
  const full = await rate(target);
  console.log(`accepting, empty          ${empty.toFixed(0)} requests/s`);
  console.log(
    `accepting, ${COUNT} stored ${full.toFixed(0)} requests/s   ratio ${(full / empty).toFixed(2)}`,
  );
}

/** Counts what reaches the receiver, from the first request to the last final dot. */
async function delivering(): Promise<void> {
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
  console.log(
    `delivering, empty queue    ${empty.toFixed(0)} messages/s, ${before.toFixed(0)} MiB`,
  );
  console.log(
    `delivering, ${COUNT} waiting ${full.toFixed(0)} messages/s, ${after.toFixed(0)} MiB   ratio ${(full / empty).toFixed(2)}`,
  );
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
