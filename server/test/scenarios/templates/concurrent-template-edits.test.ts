import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse } from '../../harness/app.ts';

/**
 * A client that sends If-Match never overwrites or publishes a draft that it has not seen; without
 * If-Match the last write wins. The whole server runs, with templates, layouts and partials alike.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const get = (path: string) => app.call('GET', path);
const patch = (path: string, body: unknown, ifMatch?: string) =>
  app.call('PATCH', path, { body, headers: ifMatch === undefined ? {} : { 'If-Match': ifMatch } });
const publish = (path: string, ifMatch: string) =>
  app.call('POST', `${path}/publish`, { body: {}, headers: { 'If-Match': ifMatch } });

async function make(kind: string, key: string): Promise<TestResponse> {
  const html = kind === 'layouts' ? '<p>{{ content }}</p>' : '<p>One</p>';
  const more = kind === 'templates' ? { subject: 'A subject' } : {};
  const made = await app.call('POST', `/${kind}`, { body: { key, html, ...more } });
  expect(made.status).toBe(201);
  return made;
}

describe.each(['templates', 'layouts', 'partials'])('%s', (kind) => {
  test('the second of two changes to the same draft is rejected and changes nothing', async () => {
    const path = `/${kind}/shared`;
    const made = await make(kind, 'shared');
    const seen = await get(path);
    expect(seen.headers.get('etag')).toBe(seen.json.etag);
    expect(seen.json.etag).toBe(made.json.etag);
    const first = await patch(path, { name: 'First' }, seen.json.etag);
    expect(first.status).toBe(200);
    expect(first.headers.get('etag')).toBe(first.json.etag);
    expect(first.json.etag).not.toBe(seen.json.etag);
    const second = await patch(path, { name: 'Second' }, seen.json.etag);
    expect([second.status, second.json.code]).toEqual([412, 'draft_changed']);
    expect(second.json.detail).toContain(first.json.updated_by);
    expect((await get(path)).json.name).toBe('First');
    expect((await patch(path, { name: 'Second' }, first.json.etag)).json.name).toBe('Second');
  });

  test('a draft that the client has not seen is not published', async () => {
    const path = `/${kind}/unseen`;
    const { json: seen } = await make(kind, 'unseen');
    const { json: changed } = await patch(path, { text: 'Two {{ content }}' });
    const refused = await publish(path, seen.etag);
    expect([refused.status, refused.json.code]).toEqual([412, 'draft_changed']);
    expect((await get(path)).json.published_version).toBe(null);
    expect((await publish(path, changed.etag)).json.version).toBe(1);
    // Publishing does not change the draft.
    expect((await get(path)).json.etag).toBe(changed.etag);
  });
});

test('of many simultaneous changes exactly one succeeds', async () => {
  const { json: seen } = await make('templates', 'race');
  const answers = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((n) => patch('/templates/race', { name: `Writer ${n}` }, seen.etag)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412, 412]);
  const done = answers.find(({ status }) => status === 200);
  expect((await get('/templates/race')).json.name).toBe(done?.json.name);
});

test('a template with the key of a deleted one has another ETag', async () => {
  const { json: seen } = await make('templates', 'again');
  expect((await app.call('DELETE', '/templates/again')).status).toBe(204);
  await make('templates', 'again');
  expect((await patch('/templates/again', { name: 'Old' }, seen.etag)).status).toBe(412);
});

test('If-Match is accepted in every form that HTTP defines, and no other', async () => {
  await make('templates', 'forms');
  const etag = async () => (await get('/templates/forms')).json.etag;
  const change = (ifMatch?: string) => patch('/templates/forms', { name: 'Forms' }, ifMatch);
  expect((await change()).status).toBe(200);
  expect((await change('*')).status).toBe(200);
  // As changed by a proxy that compresses responses.
  expect((await change(`W/${await etag()}`)).status).toBe(200);
  expect((await change(`"other", ${await etag()}`)).status).toBe(200);
  expect((await change('"other"')).status).toBe(412);
  const current = await etag();
  for (const wrong of ['other', current.slice(1, -1), `${current} ${current}`, '"', '']) {
    const refused = await change(wrong);
    expect([wrong, refused.status]).toEqual([wrong, 422]);
    expect(refused.json.errors[0]).toMatchObject({ parameter: 'If-Match', code: 'invalid_format' });
  }
  expect(await etag()).toBe(current);
});
