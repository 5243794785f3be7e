import { request } from 'node:http';
import { expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { PASSWORD, SessionClient } from '../../harness/browser/dashboard-session.ts';

/**
 * The first visitor becomes the owner, once, and only from the machine itself or with the link that was
 * printed at startup. The real server runs on loopback; remote visits are recognized by proxy headers or by
 * another name in Host.
 */

const LOCAL = { env: { BASE_URL: 'http://localhost:3000' } };

const OWNER = { email: 'Jane@Shop.example', name: 'Jane Doe', password: PASSWORD };

test('a local visitor creates the owner and is signed in', async () => {
  await using app = await startApp(LOCAL);
  const visitor = new SessionClient(app);
  const before = await visitor.call('GET', '/setup');
  expect(before.json).toEqual({ needed: true, link_required: false });

  const made = await visitor.call('POST', '/setup', { body: { ...OWNER, workspace_name: 'Shop' } });
  expect(made.status).toBe(201);
  expect(made.json.me).toMatchObject({ email: 'Jane@shop.example', name: 'Jane Doe' });
  expect(made.json.me.workspaces).toMatchObject([{ name: 'Shop', role: 'owner' }]);
  expect((await visitor.call('GET', '/me')).json).toMatchObject({
    email: 'Jane@shop.example',
    email_verified: true,
  });

  const after = await new SessionClient(app).call('GET', '/setup');
  expect(after.json).toEqual({ needed: false, link_required: false });
});

test('only one owner is created, even with concurrent requests', async () => {
  await using app = await startApp(LOCAL);
  const answers = await Promise.all(
    [1, 2, 3, 4].map((n) =>
      new SessionClient(app).call('POST', '/setup', {
        body: { ...OWNER, email: `o${n}@shop.example` },
      }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  const again = await new SessionClient(app).call('POST', '/setup', { body: OWNER });
  expect([again.status, again.json.code]).toEqual([409, 'conflict']);
});

test.each([
  ['forwarded by a proxy', {}, { 'x-forwarded-for': '203.0.113.7' }],
  ['a proxy identifies itself', {}, { via: '1.1 proxy' }],
  ['the server has a public name', { BASE_URL: 'https://mail.shop.example' }, {}],
])('a remote visitor needs the link: %s', async (_, env, headers) => {
  await using app = await startApp({ env: { ...LOCAL.env, ...env } });
  const visitor = new SessionClient(app);
  visitor.headers = headers;
  expect((await visitor.call('GET', '/setup')).json).toEqual({ needed: true, link_required: true });
  for (const token of [undefined, '', 'x'.repeat(43)]) {
    const body = token === undefined ? OWNER : { ...OWNER, token };
    const refused = await visitor.call('POST', '/setup', { body });
    expect([refused.status, refused.json.code]).toEqual([403, 'setup_link_required']);
  }
  const link = await app.app.people.setup.link('https://mail.shop.example');
  expect(link).toMatch(/^https:\/\/mail\.shop\.example\/app\/setup#[\w-]{43}$/);
  const token = link?.split('#')[1];
  expect((await visitor.call('POST', '/setup', { body: { ...OWNER, token } })).status).toBe(201);
  expect(await app.app.people.setup.link('https://mail.shop.example')).toBeUndefined();
});

test('a page that resolves its own name to this machine is not local', async () => {
  await using app = await startApp(LOCAL);
  const body = JSON.stringify(OWNER);
  const headers = { 'content-type': 'application/json', 'postrider-mode': 'live' };
  const host = 'rebound.attacker.example';
  const refused = await raw(app, { ...headers, host, origin: `http://${host}` }, body);
  expect(JSON.parse(refused.text)).toMatchObject({ status: 403, code: 'setup_link_required' });
  const good = await raw(app, { ...headers, host: 'localhost:3000' }, body);
  expect(good.status).toBe(201);
});

test('the link of one database is invalid for another', async () => {
  await using one = await startApp(LOCAL);
  await using two = await startApp(LOCAL);
  const links = await Promise.all([one, two].map((app) => app.app.people.setup.link('')));
  expect(links[0]).not.toBe(links[1]);
});

test('a weak password and an invalid address are both reported', async () => {
  await using app = await startApp(LOCAL);
  const body = { email: 'nobody', name: 'N', password: 'short' };
  const refused = await new SessionClient(app).call('POST', '/setup', { body });
  expect(refused.status).toBe(422);
  expect(refused.json.errors.map((one: { pointer: string }) => one.pointer)).toEqual([
    '/email',
    '/password',
  ]);
  expect((await new SessionClient(app).call('GET', '/setup')).json.needed).toBe(true);
});

/** fetch does not allow setting Host. */
function raw(
  app: TestApp,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${app.url}/api/v1/setup`, { method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
