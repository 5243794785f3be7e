import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import {
  type ScriptedResponse,
  startWebhookReceiver,
} from '../../harness/webhooks/webhook-receiver.ts';
import {
  appendTestEvents,
  setUpWebhooks,
  type WebhookSetup,
} from '../../harness/webhooks/webhook-setup.ts';

/**
 * A dead endpoint with a large backlog does not slow down others. Events are sent one after another to a healthy
 * endpoint, next to dead ones of every kind with a backlog. The test counts requests to the dead endpoints instead of
 * measuring time. BACKLOG=100000 runs the long form.
 */

const BACKLOG = Number(process.env.BACKLOG ?? 2_000);

test.each<[string, ScriptedResponse]>([
  ['hangs', 'hang'],
  ['closes', 'close'],
  ['refuses', { status: 500 }],
])(
  `an endpoint that %s, with ${BACKLOG} queued events`,
  { timeout: 300_000 },
  async (_, answer) => {
    await using setup = await setUpWebhooks({ deadlineMs: 2_000 });
    await using dead = await startWebhookReceiver({ answer: () => answer });
    await using live = await startWebhookReceiver();
    await setup.createEndpoint(dead.url, ['template.*']);
    await setup.createEndpoint(live.url, ['domain.*']);
    await backlog(setup, BACKLOG);
    await until(async () => (await waiting(setup)) >= BACKLOG, { timeoutMs: 120_000 });
    await until(() => dead.received.length >= 12, { timeoutMs: 60_000 });

    const before = dead.received.length;
    const startedAtMs = systemClock.now();
    for (let n = 0; n < 40; n++) {
      await setup.appendEvents(1, 'domain.verified');
      await until(() => live.received.length === n + 1);
    }
    const seconds = (systemClock.now() - startedAtMs) / 1000;
    // Once it is known to be dead: one request at a time, less and less often, down to one in five seconds.
    expect(dead.received.length - before).toBeLessThanOrEqual(6 + seconds);
    expect(setup.node.dispatcher?.stats.ready).toBeLessThan(100);
  },
);

test('single events of a workspace next to three with 50 silent endpoints each', async () => {
  // No request to a silent endpoint ends during the test, so what arrives did not wait for one.
  await using setup = await setUpWebhooks({ deadlineMs: 600_000 });
  const { pool, node } = setup;
  await using silent = await startWebhookReceiver({ answer: () => 'hang' });
  await using live = await startWebhookReceiver();
  await setup.createEndpoint(live.url);
  const noisy = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const workspaceId = await newWorkspace(pool, systemClock.now());
      return { workspaceId, mode: 'live' as const, scopes: new Set<never>() };
    }),
  );
  for (const scope of noisy) {
    const endpoint = { url: silent.url, events: ['*'] };
    await Promise.all(Array.from({ length: 50 }, () => node.webhooks.create(scope, endpoint)));
    await appendTestEvents(pool, scope, systemClock, 20);
  }
  const stats = node.dispatcher?.stats ?? { ready: 0, inFlight: 0, succeeded: 0, failed: 0 };
  node.dispatcher?.wake();
  // Next to all attempts and memory that the three may have; the rest waits in the database.
  await until(() => stats.inFlight >= 85 && stats.ready >= 1_500);

  for (let n = 1; n <= 20; n++) {
    await setup.appendEvents(1);
    await until(() => live.received.length === n);
  }
  await until(() => stats.succeeded === 20);
  expect(stats.failed).toBe(0);
});

async function backlog(setup: WebhookSetup, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1_000) {
    await setup.pool.query(
      `insert into events (workspace_id, mode, tx, id, type, created_at, data)
       select $1, 'test', pg_current_xact_id()::text::bigint,
              ($3 || substr(md5(random()::text), 1, 20))::uuid,
              'template.published', now(), '{}'
         from generate_series(1, $2::int)`,
      [setup.scope.workspaceId, Math.min(1_000, count - sent), timePart(systemClock.now())],
    );
  }
  setup.node.dispatcher?.wake();
}

/** The first 48 bits of a UUIDv7. */
function timePart(ms: number): string {
  return ms.toString(16).padStart(12, '0');
}

async function waiting(setup: WebhookSetup): Promise<number> {
  const { rows } = await setup.pool.query<{ n: number }>(
    `select count(*) + (select coalesce(sum(events), 0) from webhook_backlogs) as n
       from webhook_deliveries where event_type = 'template.published'`,
  );
  return rows[0]?.n ?? 0;
}
