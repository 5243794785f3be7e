import { expect, test } from 'vitest';
import { OperatorKeys } from '../../../src/accounts/operator-keys.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { BrakeChecks } from '../../../src/stats/brake-checks.ts';
import { startApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';

/**
 * A workspace with many bounces is slowed down and then paused, with the evidence, until the operator
 * releases it. The statistics are written by the test.
 */

const SETTINGS = {
  slowBounceRate: 0.05,
  pauseBounceRate: 0.1,
  slowComplaintRate: 0.001,
  pauseComplaintRate: 0.003,
  windowMs: 86_400_000,
  recipientsMin: 100,
  slowedMessagesPerHour: 2,
  probationMs: 0,
  probationMessagesPerHour: 1,
};

test('bounces slow a workspace down, then pause it, until the operator releases it', async () => {
  await using app = await startApp({
    env: {
      BRAKE_SLOW_BOUNCE_PERCENT: '5',
      BRAKE_PAUSE_BOUNCE_PERCENT: '10',
      BRAKE_SLOW_COMPLAINT_PERCENT: '0.1',
      BRAKE_PAUSE_COMPLAINT_PERCENT: '0.3',
      BRAKE_SLOW_MESSAGES_PER_HOUR: '2',
    },
  });
  const { workspaceId } = app;
  const { pool } = app.app.storage;
  await app.app.domains.trust(workspaceId, { name: 'example.org' });
  const { token: key } = await new OperatorKeys({ pool, clock: systemClock }).create({ name: 'P' });
  const path = `/operator/workspaces/${encodeId('wsp', workspaceId)}`;
  const brake = async () => (await app.call('GET', `${path}/brake`, { key })).json;
  const check = () => new BrakeChecks({ pool, clock: systemClock, settings: SETTINGS }).check();
  /** The server checks too, and only one check runs at a time. */
  const untilState = (state: string | undefined) =>
    until(async () => {
      await check();
      return (await brake()).brake?.state === state;
    });
  const send = async (): Promise<number> => {
    // Scheduled, so that nothing is delivered and counted.
    const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
    const sent = { key: app.liveKey, body: validMessage({ scheduled_at }) };
    return (await app.call('POST', '/transactional/send', sent)).status;
  };
  const count = async (counter: string, n: number): Promise<void> => {
    await pool.query(
      `insert into statistics_hour (workspace_id, mode, dimension, at, value, counter, n)
       values ($1, 'live', 'all', date_trunc('hour', $2::timestamptz, 'UTC'), '', $3, $4)
       on conflict (workspace_id, mode, dimension, at, value, counter)
       do update set n = statistics_hour.n + excluded.n`,
      [workspaceId, new Date(), counter, n],
    );
  };

  await count('delivered', 940);
  await check();
  expect(await brake()).toMatchObject({ brake: null, thresholds: { slow_bounce_percent: 5 } });
  await count('bounced', 60);
  await untilState('slowed');
  expect((await brake()).brake).toMatchObject({
    state: 'slowed',
    messages_per_hour: 2,
    evidence: { kind: 'bounce_rate', counted: 60, recipients: 1_000, rate: 0.06 },
  });
  await until(async () => (await send()) === 429);
  const { json: usage } = await app.call('GET', '/usage', { key: app.liveKey });
  expect(usage.messages_per_hour.limit).toBe(2);

  // Members see why; everything but live sending still works.
  await count('bounced', 140);
  await untilState('paused');
  await until(async () => (await send()) === 403);
  const workspace = await app.call('GET', path, { key });
  expect(workspace.json.suspended.reason).toBe(
    'Paused automatically: 200 of 1140 messages bounced (17.54%, the limit is 10%).',
  );

  // After a release, the same bounces do not count again.
  const released = await app.call('DELETE', `${path}/brake`, { key });
  expect(released).toMatchObject({ status: 200, json: { brake: null } });
  await check();
  expect((await brake()).brake).toBeNull();
  await until(async () => (await send()) === 202);
  const { rows: events } = await pool.query<{ type: string }>(
    `select type from events where workspace_id = $1 and type like 'workspace.%' order by id`,
    [workspaceId],
  );
  expect(events.map(({ type }) => type)).toEqual([
    'workspace.slowed',
    'workspace.paused',
    'workspace.released',
  ]);

  // Another workspace may be trusted more, and a new one less.
  const endsAt = new Date(Date.now() + 86_400_000).toISOString();
  const set = await app.call('PUT', `${path}/brake`, {
    key,
    body: { pause_bounce_percent: 50, probation_ends_at: endsAt },
  });
  expect(set.json).toMatchObject({
    thresholds: { slow_bounce_percent: 5, pause_bounce_percent: 50 },
    policy: { slow_bounce_percent: null, pause_bounce_percent: 50, probation_ends_at: endsAt },
    probation: { ends_at: endsAt, messages_per_hour: 50 },
  });
});
