import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openPool } from '../../server/src/db/connections/pool.ts';
import { takeChunk } from '../../server/src/events/event-chunk-store.ts';
import type { EventConsumer } from '../../server/src/events/event-consumer-store.ts';
import { EVENT_LOG_START } from '../../server/src/events/events-store.ts';
import { silentLog } from '../../server/src/lib/log.ts';
import { cpuByProcess } from './process-usage.ts';
import type { Report } from './results.ts';
import type { WebhookEnvironment } from './webhook-environment.ts';

/**
 * How fast the consumers of the event log are over a backlog, alone and two at a time, as on two nodes:
 * each is a thread with connections of its own. Dividing the log into chunks is the only thing that
 * they do one after the other, so its time is the limit of an installation. They run here, over what
 * the server wrote; the server must not have the role that runs them.
 */
export async function benchFollowers(
  report: Report,
  environment: WebhookEnvironment,
): Promise<void> {
  const { client, url } = environment;
  const { rows } = await client.query('select count(*)::int as n from events');
  const events: number = rows[0].n;
  const workers = [await startWorker(url), await startWorker(url)];
  try {
    for (const [name, consumer] of CONSUMERS) {
      // Compiles the code and reads the pages.
      for (const worker of workers) await run(consumer, [worker]);
      for (const [count, label] of [
        [1, 'one consumer'],
        [2, 'two consumers'],
      ] as const) {
        const { micros, ms } = await run(consumer, workers.slice(0, count));
        report(`${name}, ${label}`, {
          'events/s': events / (ms / 1000),
          'CPU-µs': micros / events,
        });
      }
    }
    await restart('statistics');
    const { ms } = await measure(() => takeAll(url));
    report('dividing the log into chunks', { 'events/s': events / (ms / 1000) });
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  async function run(consumer: EventConsumer, some: readonly Worker[]): Promise<Measured> {
    await restart(consumer);
    return measure(() =>
      Promise.all(
        some.map((worker) => {
          worker.postMessage(consumer);
          return once(worker, 'message');
        }),
      ),
    );
  }

  async function restart(consumer: EventConsumer): Promise<void> {
    const { tx, id } = EVENT_LOG_START;
    await client.query('update event_consumers set tx = $2, id = $3 where name = $1', [
      consumer,
      tx,
      id,
    ]);
    if (consumer === 'webhooks') await client.query('truncate webhook_backlogs');
  }

  async function measure(work: () => Promise<unknown>): Promise<Measured> {
    const [before, startedAtMs] = [cpuMicros(), performance.now()];
    await work();
    return { micros: cpuMicros() - before, ms: performance.now() - startedAtMs };
  }

  function cpuMicros(): number {
    const { user, system } = process.cpuUsage();
    return user + system + (cpuByProcess(environment)['PostgreSQL backends'] ?? Number.NaN);
  }
}

interface Measured {
  micros: number;
  ms: number;
}

const CONSUMERS: readonly (readonly [name: string, EventConsumer])[] = [
  ['fan-out', 'webhooks'],
  ['statistics', 'statistics'],
];

async function startWorker(url: string): Promise<Worker> {
  const worker = new Worker(new URL('./follower-worker.ts', import.meta.url), { workerData: url });
  await once(worker, 'online');
  return worker;
}

async function takeAll(url: string): Promise<void> {
  const pool = openPool({ hosts: [{ connectionString: url }], log: silentLog, max: 1 });
  while ((await takeChunk(pool, 'statistics', { eventsMax: 2_000, bytesMax: 2 ** 24 }))?.more);
  await pool.query('truncate event_chunks');
  await pool.end();
}
