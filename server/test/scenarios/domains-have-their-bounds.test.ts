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
  const trusted = await app.app.domains.trust(app.workspaceId, { name: 'ours.example' });
  const { data } = (await app.call('GET', '/domains', { key: app.liveKey })).json;
  expect(data).toHaveLength(1);
  let settled = 0;
  const adding = Array.from({ length: 40 }, async (_, n) => {
    const answer = await add(`d${n}.example`);
    settled += 1;
    return answer;
  });
  const rotate = () =>
    app.call('POST', `/domains/${data[0].id}/rotate-dkim`, { key: app.liveKey, body: undefined });
  let rotated = await rotate();
  while (rotated.status !== 503 && settled < adding.length) rotated = await rotate();
  expect([rotated.status, rotated.json.code]).toEqual([503, 'overloaded']);
  expect(Number(rotated.headers.get('retry-after'))).toBeGreaterThan(0);
  const answers = await Promise.all(adding);
  const refused = answers.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(0);
  for (const { json } of refused) expect(json.code).toBe('overloaded');
  const { rows } = await app.database.pool.query('select name from domains');
  expect(rows).toHaveLength(1 + answers.filter(({ status }) => status === 201).length);
  expect(trusted.name).toBe('ours.example');
});

test('a workspace has a bounded number of domains', async () => {
  await app.database.pool.query(
    `insert into domains (workspace_id, id, name, status, ownership_token, return_path_host, tls,
       track_opens, track_clicks, created_at)
     select $1, gen_random_uuid(), 'many' || n || '.example', 'pending', 'x', 'x', 'required',
       false, false, now()
     from generate_series(1, 1000) n`,
    [app.workspaceId],
  );
  const refused = await add('one-more.example');
  expect([refused.status, refused.json.code]).toEqual([429, 'quota_exceeded']);
});
