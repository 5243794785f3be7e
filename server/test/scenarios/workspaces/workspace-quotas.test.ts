import { expect, test } from 'vitest';
import { OperatorKeys } from '../../../src/accounts/operator-keys.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { member } from '../../harness/browser/dashboard-session.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { until } from '../../harness/until.ts';

/**
 * The operator limits a workspace. Two nodes that share a database keep the limit together under load,
 * and the usage equals a recount of the messages. Limits are per month, so that no hour ends meanwhile.
 */

const LIMIT = 200;
/** A hundredth of the limit. */
const CHUNK = 2;

test('two nodes together keep the quotas of a workspace', async () => {
  await using database = await createTestDatabase();
  await using first = await startApp({ database });
  await using second = await startApp({ database });
  const { workspaceId } = first;
  await first.app.domains.trust(workspaceId, { name: 'example.org' });
  const { pool } = first.app.storage;
  const { token: key } = await new OperatorKeys({ pool, clock: systemClock }).create({ name: 'P' });
  const path = `/operator/workspaces/${encodeId('wsp', workspaceId)}`;
  const setQuotas = async (body: object) => {
    const { status, json } = await first.call('PUT', `${path}/quotas`, { key, body });
    expect(status).toBe(200);
    return json;
  };
  // Scheduled, because the test is about accepting, not about delivery.
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
  const message = (more: Record<string, unknown> = {}) => validMessage({ scheduled_at, ...more });
  const send = (app: TestApp, more: Record<string, unknown> = {}) =>
    app.call('POST', '/transactional/send', { key: first.liveKey, body: message(more) });
  const counted = async (): Promise<number> => {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::int as n from messages where workspace_id = $1 and mode = 'live'`,
      [workspaceId],
    );
    return rows[0]?.n ?? 0;
  };
  const usage = async () =>
    (await first.call('GET', '/usage', { key: first.liveKey })).json.messages_per_month;

  // Messages before the first quota are counted too.
  expect((await send(first)).status).toBe(202);
  await until(async () => (await usage()).used === 1);
  const quotas = await setQuotas({ messages_per_month: LIMIT, recipients_per_message: 2 });
  expect(quotas).toMatchObject({
    messages_per_month: LIMIT,
    messages_per_day: null,
    contacts: null,
  });

  const rounds = Array.from({ length: LIMIT + 25 }, (_, index) => index);
  const answers: { status: number; json: { code?: string; quota?: object } }[] = [];
  for (let at = 0; at < rounds.length; at += 25) {
    answers.push(
      ...(await Promise.all(
        rounds.slice(at, at + 25).map((index) => send(index % 2 === 0 ? first : second)),
      )),
    );
  }
  const accepted = answers.filter(({ status }) => status === 202).length + 1;
  expect(accepted).toBeLessThanOrEqual(LIMIT);
  expect(accepted).toBeGreaterThanOrEqual(LIMIT - 2 * CHUNK);
  expect(await counted()).toBe(accepted);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.json).toMatchObject({
    code: 'quota_exceeded',
    quota: { name: 'messages_per_month', resets_at: expect.stringMatching(/-01T00:00:00\.000Z$/) },
  });

  // The usage equals the recount, for the workspace and for the operator.
  await until(async () => (await usage()).used === accepted);
  const month = new Date().toISOString().slice(0, 7);
  const seen = await first.call('GET', `${path}/usage`, { key });
  expect(seen.json.messages_per_month).toMatchObject({ limit: LIMIT, used: accepted });
  const monthly = await first.call('GET', `${path}/usage/${month}`, { key });
  expect(monthly.json).toMatchObject({ month, messages: accepted, recipients: accepted });
  expect((await first.call('GET', `${path}/usage/2026-13`, { key })).status).toBe(404);
  const { rows: published } = await pool.query<{ type: string }>(
    `select type from events where workspace_id = $1 and type like 'quota.%' order by id`,
    [workspaceId],
  );
  expect(published.map(({ type }) => type)).toEqual(['quota.warning', 'quota.exceeded']);

  // A batch is refused as a whole; test mail is not limited; a higher quota applies on both nodes.
  const batch = { messages: [message(), message()] };
  const refusedBatch = await second.call('POST', '/transactional/batch', {
    key: first.liveKey,
    body: batch,
  });
  expect(refusedBatch.json.code).toBe('quota_exceeded');
  expect((await first.call('POST', '/transactional/send', { body: validMessage() })).status).toBe(
    202,
  );
  await setQuotas({ messages_per_month: LIMIT * 2, recipients_per_message: 2, contacts: 2 });
  await until(async () => (await send(second)).status === 202);

  const to = ['a', 'b', 'c'].map((name) => ({ email: `${name}@example.com` }));
  const tooMany = await send(first, { to });
  expect(tooMany).toMatchObject({ status: 422, json: { code: 'validation_failed' } });
  expect(tooMany.json.errors[0].code).toBe('too_many_recipients');

  // An owner cannot evade the quota with another workspace.
  const { visitor } = await member(first, 'owner');
  const another = await visitor.call('POST', '/workspaces', { body: { name: 'Unlimited' } });
  expect(another).toMatchObject({ status: 429, json: { code: 'quota_exceeded' } });

  // Contacts: new ones are limited, existing ones can be changed.
  const contact = (email: string) =>
    first.call('PUT', `/contacts/${email}`, { key: first.liveKey, body: { first_name: 'A' } });
  expect([(await contact('a@x.example')).status, (await contact('b@x.example')).status]).toEqual([
    201, 201,
  ]);
  const third = await contact('c@x.example');
  expect(third).toMatchObject({
    status: 429,
    json: { quota: { name: 'contacts', resets_at: null } },
  });
  expect((await contact('a@x.example')).status).toBe(200);

  // Content: live and test messages count, and the usage equals a recount at any moment.
  const contentBytes = async () =>
    (await first.call('GET', `${path}/usage`, { key })).json.content_bytes;
  const { rows: stored } = await pool.query<{ bytes: number }>(
    `select sum(octet_length(html) + coalesce(octet_length(text), 0))::int as bytes
     from message_contents where workspace_id = $1`,
    [workspaceId],
  );
  const { used } = await contentBytes();
  expect(used).toBe(stored[0]?.bytes);
  const size = Buffer.byteLength(String(validMessage().html));
  await setQuotas({ content_bytes: used + 3 * size });
  const attempts = [
    await send(first),
    await first.call('POST', '/transactional/send', { body: validMessage() }),
    await send(first),
    await send(first),
  ];
  expect(attempts.map(({ status }) => status)).toEqual([202, 202, 202, 429]);
  expect(attempts[3]?.json.quota).toEqual({ name: 'content_bytes', resets_at: null });
  expect(await contentBytes()).toEqual({ limit: used + 3 * size, used: used + 3 * size });

  // A rate of its own replaces that of the server, on both nodes.
  await setQuotas({ requests_per_second: 1 });
  await until(async () => {
    const limits = () => second.call('GET', '/limits', { key: first.liveKey });
    const answers = await Promise.all(Array.from({ length: 20 }, limits));
    return answers.some(({ json }) => json.code === 'rate_limited');
  });
});
