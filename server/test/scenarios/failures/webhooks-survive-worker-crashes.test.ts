import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { childProgram } from '../../harness/child-programs.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';
import { appendTestEvents, setUpWebhooks } from '../../harness/webhooks/webhook-setup.ts';

/**
 * Every event reaches the receiver at least once, with the same id and bytes, whatever crashes. Worker processes are
 * killed with SIGKILL at random moments, and the receiver fails three times out of ten in every possible way. Arrivals
 * are read from the receiver's log, expected events from the database. EVENTS=10000 runs the long form.
 */

const EVENTS = Number(process.env.EVENTS ?? 1_000);
const WORKERS = 2;

test(`${EVENTS} events arrive although receivers fail and workers are killed`, {
  timeout: 300_000 + EVENTS * 120,
}, async () => {
  await using setup = await setUpWebhooks();
  // The setup's own dispatcher is not used: the workers send everything.
  await setup.node.dispatcher?.stop(1_000);
  await using receiver = await startWebhookReceiver({
    answer: () => {
      const dice = randomInt(100);
      if (dice >= 30) return { status: 204 };
      return dice < 10 ? { status: 500 } : dice < 20 ? 'close' : { status: 503, body: 'later' };
    },
  });
  await setup.createEndpoint(receiver.url);
  const workers = Array.from({ length: WORKERS }, () => startWorker(setup.database.url));
  const expected = new Set<string>();
  const over = new AbortController();
  const killing = (async () => {
    let kills = 0;
    while (!over.signal.aborted) {
      const n = randomInt(WORKERS);
      const worker = workers[n] as Worker;
      // Killing a worker before it has started proves nothing, and a busy machine starts it slowly.
      await worker.begun;
      await sleep(randomInt(50, 900));
      await kill(worker);
      workers[n] = startWorker(setup.database.url);
      kills += 1;
    }
    return kills;
  })();
  for (let appended = 0; appended < EVENTS; appended += 200) {
    const ids = await appendTestEvents(setup.pool, setup.scope, systemClock, 200);
    for (const id of ids) expected.add(id);
  }
  await until(() => new Set(receiver.received.map(({ id }) => id)).size >= EVENTS / 2, {
    timeoutMs: 120_000 + EVENTS * 40,
  });
  over.abort();
  const kills = await killing;
  await until(
    async () => {
      // The retry schedule is not tested here: make retries due now.
      await setup.pool.query(
        `update webhook_deliveries set due_at = now() where status = 'pending' and lease is null`,
      );
      const { rows } = await setup.pool.query(
        `select from webhook_backlogs union all
         select from webhook_deliveries where status <> 'succeeded' limit 1`,
      );
      return rows.length === 0;
    },
    { timeoutMs: 120_000 + EVENTS * 60 },
  );
  await Promise.all(workers.map(kill));

  expect(kills).toBeGreaterThan(0);
  if (process.env.EVENTS) {
    console.log(`${kills} kills; ${receiver.received.length} requests for ${EVENTS} events`);
  }
  const bodies = new Map<string, Set<string>>();
  for (const { id, body } of receiver.received) {
    bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
  }
  expect(new Set(bodies.keys())).toEqual(expected);
  for (const [id, versions] of bodies) {
    expect(versions.size).toBe(1);
    expect(JSON.parse([...versions][0] as string).id).toBe(id);
  }
  const { rows } = await setup.pool.query<{ n: number }>(
    'select count(*) as n from webhook_deliveries',
  );
  expect(rows[0]?.n).toBe(expected.size);
});

interface Worker {
  child: ChildProcess;
  /** It polls for work, or has exited. */
  begun: Promise<unknown>;
}

function startWorker(databaseUrl: string): Worker {
  const child = fork(childProgram('webhook-worker-main'), [databaseUrl], {
    stdio: 'ignore',
    execArgv: [],
  });
  return { child, begun: Promise.race([once(child, 'message'), once(child, 'exit')]) };
}

async function kill({ child }: Worker): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
