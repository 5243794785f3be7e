import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { canonicalRequest } from '../../../src/messages/accept/idempotency.ts';
import { startApp } from '../../harness/app.ts';
import {
  createPerson,
  member,
  PASSWORD,
  SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';

/** A session starts with a password and a new secret, ends on all nodes when it should, and its secret is only in the cookie. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test('a user signs in, works and signs out', async () => {
  await using app = await startApp();
  await createPerson(app, 'jane@people.example', 'owner');
  const visitor = new SessionClient(app);
  const signedIn = await visitor.signIn('JANE@People.example');
  expect(signedIn.status).toBe(200);
  expect(signedIn.json).toMatchObject({ second_factor_required: false, challenge: null });
  const [{ id }] = signedIn.json.me.workspaces;
  visitor.workspace = id;
  expect((await visitor.call('GET', '/messages')).status).toBe(200);
  const secret = visitor.cookie?.split('=')[1] as string;
  expect(signedIn.text).not.toContain(secret);

  const cookie = visitor.cookie;
  const out = await visitor.call('DELETE', '/session');
  expect(out.status).toBe(204);
  expect(visitor.cookie).toBeUndefined();
  visitor.cookie = cookie;
  const late = await visitor.call('GET', '/messages');
  expect([late.status, late.json.code]).toEqual([401, 'invalid_session']);
  expect((await visitor.call('DELETE', '/session')).status).toBe(204);
});

test('large bodies are not read before authentication', async () => {
  await using app = await startApp();
  const body = { email: 'jane@people.example', password: 'x'.repeat(70_000) };
  for (const path of ['/session', '/setup', '/password-resets', '/invitations/inspect']) {
    const answer = await new SessionClient(app).call('POST', path, { body });
    expect([path, answer.status, answer.json.code]).toEqual([path, 413, 'body_too_large']);
  }
});

test('the cookie is HttpOnly and limited to this server', async () => {
  await using plain = await startApp();
  await createPerson(plain, 'jane@people.example', 'owner');
  const [line = ''] = (
    await new SessionClient(plain).signIn('jane@people.example')
  ).headers.getSetCookie();
  expect(line).toMatch(
    /^postrider_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
  );

  await using secure = await startApp({ env: { BASE_URL: 'https://mail.shop.example' } });
  await createPerson(secure, 'jane@people.example', 'owner');
  const [safe = ''] = (
    await new SessionClient(secure).signIn('jane@people.example')
  ).headers.getSetCookie();
  expect(safe).toMatch(/^__Host-postrider_session=[\w-]{43}; .*HttpOnly; SameSite=Strict; Secure$/);
});

test('a session secret from before the sign-in is invalid afterwards', async () => {
  await using app = await startApp();
  const attacker = await member(app, 'viewer', 'attacker@people.example');
  await createPerson(app, 'jane@people.example', 'owner');
  for (const planted of [attacker.visitor.cookie, `postrider_session=${'x'.repeat(43)}`]) {
    const victim = new SessionClient(app);
    victim.cookie = planted;
    await victim.signIn('jane@people.example');
    expect(victim.cookie).not.toBe(planted);
    const thief = new SessionClient(app);
    thief.cookie = planted;
    expect((await thief.call('GET', '/me')).json.code).toBe('invalid_session');
    expect((await victim.call('GET', '/me')).json.email).toBe('jane@people.example');
  }
});

test('a wrong password and an unknown address get the same response', async () => {
  await using app = await startApp();
  await createPerson(app, 'jane@people.example', 'owner');
  const wrong = await new SessionClient(app).signIn('jane@people.example', 'kettle rain ladders');
  const unknown = await new SessionClient(app).signIn(
    'nobody@people.example',
    'kettle rain ladders',
  );
  const noAddress = await new SessionClient(app).signIn('no address at all', 'kettle rain ladders');
  expect(wrong.status).toBe(401);
  const withoutRequestId = ({ json: { request_id: _, ...rest } }: typeof wrong): unknown => rest;
  expect(withoutRequestId(unknown)).toEqual(withoutRequestId(wrong));
  expect(withoutRequestId(noAddress)).toEqual(withoutRequestId(wrong));
});

test('a session ends after a week without use, and after thirty days in any case', async () => {
  const clock = new ManualClock(Date.now());
  await using app = await startApp({ clock });
  const { visitor: idle, person } = await member(app, 'owner');
  const busy = await signInAs(app, person);
  for (let day = 0; day < 29; day++) {
    clock.advance(DAY_MS);
    expect([day, (await busy.call('GET', '/me')).status]).toEqual([day, 200]);
    if (day === 5) expect((await idle.call('GET', '/me')).status).toBe(200);
    if (day === 13) expect((await idle.call('GET', '/me')).json.code).toBe('invalid_session');
  }
  clock.advance(DAY_MS + 1);
  expect((await busy.call('GET', '/me')).json.code).toBe('invalid_session');
});

test('sessions are listed, and signed out one by one or all at once', async () => {
  await using app = await startApp();
  const { person, visitor } = await member(app, 'developer');
  const [phone, laptop] = [await signInAs(app, person), await signInAs(app, person)];
  const other = await member(app, 'viewer');

  const { data } = (await visitor.call('GET', '/me/sessions')).json;
  expect(data).toHaveLength(3);
  expect(data.filter((one: { current: boolean }) => one.current)).toHaveLength(1);
  const first = await visitor.call('GET', '/me/sessions?limit=2');
  const rest = await visitor.call('GET', `/me/sessions?cursor=${first.json.next_cursor}`);
  expect([...first.json.data, ...rest.json.data]).toEqual(data);

  const phoneId = (await phone.call('GET', '/me')).json.session.id;
  expect((await other.visitor.call('DELETE', `/me/sessions/${phoneId}`)).status).toBe(404);
  expect((await phone.call('GET', '/me')).status).toBe(200);
  expect((await visitor.call('DELETE', `/me/sessions/${phoneId}`)).status).toBe(204);
  expect((await phone.call('GET', '/me')).json.code).toBe('invalid_session');
  expect((await visitor.call('DELETE', `/me/sessions/${phoneId}`)).status).toBe(404);

  expect((await visitor.call('DELETE', '/me/sessions?keep_current=true')).status).toBe(204);
  expect((await laptop.call('GET', '/me')).json.code).toBe('invalid_session');
  expect((await visitor.call('GET', '/me')).status).toBe(200);
  const cookie = visitor.cookie;
  expect((await visitor.call('DELETE', '/me/sessions')).status).toBe(204);
  expect(visitor.cookie).toBeUndefined();
  visitor.cookie = cookie as string;
  expect((await visitor.call('GET', '/me')).json.code).toBe('invalid_session');
  expect((await other.visitor.call('GET', '/me')).status).toBe(200);
});

test('changing the password requires the old one and ends all other sessions', async () => {
  await using app = await startApp();
  const { person, visitor } = await member(app, 'admin');
  const elsewhere = await signInAs(app, person);
  const change = (current_password: string, new_password: string) =>
    visitor.call('POST', '/me/password', { body: { current_password, new_password } });

  const wrong = await change('not the password', 'kettle rain ladders');
  expect(wrong.json.errors).toMatchObject([
    { pointer: '/current_password', code: 'wrong_password' },
  ]);
  const weak = await change(PASSWORD, 'admin@people');
  expect(weak.json.errors).toMatchObject([{ pointer: '/new_password', code: 'weak_password' }]);

  const before = visitor.cookie;
  expect((await change(PASSWORD, 'kettle rain ladders')).status).toBe(204);
  expect(visitor.cookie).not.toBe(before);
  expect((await visitor.call('GET', '/me')).status).toBe(200);
  expect((await elsewhere.call('GET', '/me')).json.code).toBe('invalid_session');
  expect((await new SessionClient(app).signIn(person.email)).status).toBe(401);
  expect((await new SessionClient(app).signIn(person.email, 'kettle rain ladders')).status).toBe(
    200,
  );
});

test('the name can be changed', async () => {
  await using app = await startApp();
  const { visitor } = await member(app, 'viewer');
  const renamed = await visitor.call('PATCH', '/me', { body: { name: '<b>Eve</b>' } });
  expect([renamed.status, renamed.json.name]).toEqual([200, '<b>Eve</b>']);
});

test('API keys created by users name their creator', async () => {
  await using app = await startApp();
  const { visitor, person } = await member(app, 'developer');
  const headers = { 'postrider-mode': 'live' };
  const made = await visitor.call('POST', '/api-keys', { headers, body: { name: 'Mine' } });
  expect([made.status, made.json.created_by]).toEqual([201, person.publicId]);
  expect(made.json.scopes).not.toContain('write:domains');
  expect(made.json.scopes).not.toContain('read:members');
  const wide = await visitor.call('POST', '/api-keys', {
    headers,
    body: { name: 'Wide', scopes: ['write:domains'] },
  });
  expect(wide.status).toBe(403);
  const answer = await app.call('GET', '/me', { key: made.json.token });
  expect([answer.status, answer.json.code]).toEqual([403, 'insufficient_scope']);
});

test('stored request fingerprints do not help to guess a password', async () => {
  await using app = await startApp();
  const { visitor } = await member(app, 'owner');
  const body = { password: PASSWORD };
  const headers = { 'idempotency-key': 'codes' };
  const ask = () => visitor.call('POST', '/me/totp', { body, headers });
  const first = await ask();
  const again = await ask();
  expect([again.json.secret, again.headers.get('idempotent-replayed')]).toEqual([
    first.json.secret,
    'true',
  ]);
  const { rows } = await app.database.pool.query<{ hash: string }>(
    `select encode(request_hash, 'hex') as hash from idempotency_keys`,
  );
  expect(rows).toHaveLength(1);
  const unkeyed = hash('sha256', canonicalRequest('POST', '/api/v1/me/totp', body));
  expect(rows[0]?.hash).not.toBe(unkeyed);
});
