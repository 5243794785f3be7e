import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimDueDomains } from '../../../src/domains/domain-store.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp, type TestResponse } from '../../harness/app.ts';
import { nextDkimKeys } from '../../harness/delivery/dkim-keys.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { publishRecords } from '../../harness/smtp/publish-dns-records.ts';
import { until } from '../../harness/until.ts';

/**
 * Domains cannot exhaust the server: their number is limited, and so are concurrent key generations and
 * the DNS queries of one workspace. Rows are inserted directly where real use would take days.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
});
afterAll(() => app[Symbol.asyncDispose]());

const add = (name: string) => app.call('POST', '/domains', { key: app.liveKey, body: { name } });

test('key generations beyond the limits are rejected and change nothing', async () => {
  const started = Promise.withResolvers<void>();
  await using held = await startApp({
    env: { ROLES: 'api' },
    generateDkimKeys: async () => {
      await started.promise;
      return nextDkimKeys();
    },
  });
  const call = (method: string, path: string, body?: unknown) =>
    held.call(method, path, { key: held.liveKey, ...(body ? { body } : {}) });
  // Each domain needs two generations: two run, fifty wait.
  const responses: TestResponse[] = [];
  const adding = Array.from({ length: 40 }, async (_, n) => {
    responses.push(await call('POST', '/domains', { name: `d${n}.example` }));
  });
  await until(() => responses.length === 14);
  responses.push(await call('POST', '/domains', { name: 'one-more.example' }));
  for (const { status, json, headers } of responses) {
    expect([status, json.code]).toEqual([503, 'overloaded']);
    expect(json.detail).toContain('Too many keys');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }

  started.resolve();
  await Promise.all(adding);
  const added = responses.filter(({ status }) => status === 201);
  expect(added).toHaveLength(26);
  const { json } = await call('GET', '/domains?limit=100');
  expect(json.data.map(({ id }: { id: string }) => id).sort()).toEqual(
    added.map(({ json }) => json.id).sort(),
  );
});

test('a rotation without a free key generation is rejected and changes nothing', async () => {
  let hold: Promise<void> | undefined;
  await using held = await startApp({
    env: { ROLES: 'api' },
    generateDkimKeys: async () => {
      await hold;
      return nextDkimKeys();
    },
  });
  await held.app.domains.trust(held.workspaceId, { name: 'ours.example' });
  const { json } = await held.call('GET', '/domains', { key: held.liveKey });
  const [ours] = json.data;
  const started = Promise.withResolvers<void>();
  hold = started.promise;
  const responses: TestResponse[] = [];
  const rotating = Array.from({ length: 60 }, async () => {
    const path = `/domains/${ours.id}/rotate-dkim`;
    responses.push(await held.call('POST', path, { key: held.liveKey }));
  });
  await until(() => responses.length === 8);
  expect(new Set(responses.map(({ json }) => json.code))).toEqual(new Set(['overloaded']));
  const { json: unchanged } = await held.call('GET', `/domains/${ours.id}`, { key: held.liveKey });
  expect(unchanged.records).toEqual(ours.records);

  started.resolve();
  await Promise.all(rotating);
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
});

test('the number of domains of a workspace is limited, even with concurrent requests', async () => {
  await app.database.pool.query(
    `insert into domains (workspace_id, id, name, status, ownership_token, return_path_host, tls,
       track_opens, track_clicks, created_at)
     select $1, gen_random_uuid(), 'many' || n || '.example', 'pending', 'x', 'x', 'required',
       false, false, now()
     from generate_series((select count(*) + 1 from domains where workspace_id = $1), 999) n`,
    [app.workspaceId],
  );
  const last = await Promise.all(['a', 'b', 'c', 'd'].map((name) => add(`${name}-last.example`)));
  expect(last.map(({ status }) => status).sort()).toEqual([201, 429, 429, 429]);
  const refused = await add('one-more.example');
  expect([refused.status, refused.json.code]).toEqual([429, 'quota_exceeded']);
});

test('unresponsive domains of one workspace do not block verification in others', async () => {
  await using dns = await startDnsServer();
  const clock = new ManualClock(systemClock.now());
  await using other = await startApp({
    clock,
    env: { ROLES: 'api', DNS_SERVERS: dns.address, HELO_NAME: 'mail.postrider.test' },
  });
  const silent = await addSilent(other, 40);
  for (const { name } of silent) {
    for (const part of ['_postrider', 'bounce', '_dmarc']) {
      dns.setName(`${part}.${name}`, 'silence');
    }
  }
  const verify = (id: string, key: string) => other.call('POST', `/domains/${id}/verify`, { key });
  // The clock does not advance, so none of these queries is answered or times out.
  const waiting = silent.map(({ id }) => verify(encodeId('dom', id), other.liveKey));
  await until(() => dns.queries.length >= 48);

  const { id: workspaceId } = await other.app.workspaces.create('Neighbour');
  const key = await other.newKey({ mode: 'live', workspaceId });
  const added = await other.call('POST', '/domains', { key, body: { name: 'fine.test' } });
  publishRecords(dns, added.json.records);
  expect((await verify(added.json.id, key)).json.status).toBe('verified');

  const answered = Promise.all(waiting).then((answers) => answers.map(({ status }) => status));
  let over = false;
  void answered.then(() => {
    over = true;
  });
  await until(() => over, { clock, stepMs: 1000 });
  expect(new Set(await answered)).toEqual(new Set([200]));
});

test('a workspace with many due domains does not delay others', async () => {
  const silent = await addSilent(app, 5);
  const { id: otherWorkspace } = await app.app.workspaces.create('Neighbour');
  const [last] = await addSilent(app, 1, otherWorkspace);
  const { pool } = app.database;
  // In the future, so that the background check does not pick them up.
  const nowMs = systemClock.now() + 12 * 3_600_000;
  const due = (ids: string[], atMs: number) =>
    pool.query('update domains set check_due_at = $2 where id = any($1::uuid[])', [
      ids,
      new Date(atMs),
    ]);
  const first = silent.map(({ id }) => id);
  await due(first, nowMs - 2000);
  await due([last?.id as string], nowMs - 1000);
  const claimed = await claimDueDomains(pool, {
    ...{ nowMs, leasedUntilMs: nowMs + 1000, latestPlausibleMs: nowMs + 86_400_000 },
    limit: 2,
  });
  expect(claimed.map(({ workspaceId }) => workspaceId).sort()).toEqual(
    [app.workspaceId, otherWorkspace].sort(),
  );
});

async function addSilent(
  to: TestApp,
  count: number,
  workspaceId = to.workspaceId,
): Promise<{ id: string; name: string }[]> {
  const { rows } = await to.database.pool.query<{ id: string; name: string }>(
    `insert into domains (workspace_id, id, name, status, ownership_token, return_path_host, tls,
       track_opens, track_clicks, created_at)
     select $1, gen_random_uuid(), name, 'pending', 'x', 'bounce.' || name, 'required', false,
       false, now()
     from (select 'silent' || n || '.test' as name from generate_series(1, $2::int) n)
     returning id, name`,
    [workspaceId, count],
  );
  return rows;
}
