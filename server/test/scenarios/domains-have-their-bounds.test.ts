import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../harness/app.ts';

/**
 * Goal: nobody can take the server's time or room with domains: their number is bounded, and so are
 * the keys that are made at a time. Method: rows for those that honest work would take days to add,
 * and more requests at once than there are places for making keys.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
});
afterAll(() => app[Symbol.asyncDispose]());

const add = (name: string) => app.call('POST', '/domains', { key: app.liveKey, body: { name } });

test('more keys at a time than there are places are refused, and nothing is changed', {
  timeout: 400_000,
}, async () => {
  await app.app.domains.trust(app.workspaceId, { name: 'ours.example' });
  const known = async (): Promise<{ id: string; name: string }[]> =>
    (await app.call('GET', '/domains?limit=100', { key: app.liveKey })).json.data;
  const before = await known();
  const ours = before.find(({ name }) => name === 'ours.example')?.id;
  const wave = Date.now();
  // Whoever finds a place waits for long: all of them have to ask before the first is answered.
  const adding = Array.from({ length: 40 }, (_, n) => add(`d${n}-${wave}.example`));
  const rotating = Array.from({ length: 60 }, () =>
    app.call('POST', `/domains/${ours}/rotate-dkim`, { key: app.liveKey }),
  );
  const added = await Promise.all(adding);
  for (const answers of [added, await Promise.all(rotating)]) {
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { json, headers } of refused) {
      expect(json.code).toBe('overloaded');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
  }
  const made = added.filter(({ status }) => status === 201).length;
  expect(await known()).toHaveLength(before.length + made);
});

test('a workspace has a bounded number of domains, also when many come at once', async () => {
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
