import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import {
  createPerson,
  PASSWORD,
  SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';

/**
 * Password guessing is slowed down more and more, by account and by source, whether the account exists or not; a
 * user with the right password can still sign in. The clock is manual; sources are distinguished by a trusted proxy's
 * header.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

let clock: ManualClock;
let app: TestApp;

beforeEach(async () => {
  clock = new ManualClock(Date.now());
  app = await startApp({ clock, env: { TRUST_PROXY: '127.0.0.1' } });
  await createPerson(app, 'jane@people.example', 'owner');
});
afterEach(() => app[Symbol.asyncDispose]());

function from(ip: string): SessionClient {
  const visitor = new SessionClient(app);
  visitor.headers = { 'x-forwarded-for': ip };
  return visitor;
}

/** How many guesses are checked, and the wait reported with the first that is not. */
async function guess(email: string, ipOf: (n: number) => string, most = 40) {
  for (let judged = 0; judged < most; judged++) {
    const answer = await from(ipOf(judged)).signIn(email, 'a wrong guess');
    if (answer.status === 401) continue;
    expect([answer.status, answer.json.code]).toEqual([429, 'too_many_attempts']);
    return { judged, waitSeconds: Number(answer.headers.get('retry-after')) };
  }
  return { judged: most, waitSeconds: 0 };
}

test.each(['jane@people.example', 'nobody@people.example'])(
  '%s: five attempts from anywhere, then the delay doubles each time',
  async (email) => {
    const spread = (n: number): string => `198.51.100.${n}`;
    expect(await guess(email, spread)).toEqual({ judged: 5, waitSeconds: 5 });
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) {
      const { waitSeconds } = await guess(email, () => '192.0.2.1');
      waits.push(waitSeconds);
      clock.advance(waitSeconds * SECOND_MS);
      expect((await from('192.0.2.2').signIn(email, 'another guess')).status).toBe(401);
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
    clock.advance(HOUR_MS + 1);
    expect((await guess(email, spread)).judged).toBe(5);
  },
);

test('the right password is not checked either during the delay, and works afterwards', async () => {
  await guess('jane@people.example', (n) => `198.51.100.${n}`);
  expect((await from('203.0.113.1').signIn('jane@people.example')).status).toBe(429);
  clock.advance(5 * SECOND_MS);
  expect((await from('203.0.113.1').signIn('jane@people.example')).status).toBe(200);
  expect((await guess('jane@people.example', (n) => `198.51.100.${n}`)).judged).toBe(5);
});

test('a device from which the owner has signed in before has its own count', async () => {
  expect((await from('203.0.113.1').signIn('jane@people.example')).status).toBe(200);
  await guess('jane@people.example', (n) => `198.51.100.${n}`);
  expect((await from('203.0.113.2').signIn('jane@people.example')).status).toBe(429);
  expect((await from('203.0.113.1').signIn('jane@people.example')).status).toBe(200);
  expect((await guess('jane@people.example', () => '203.0.113.1')).judged).toBe(5);
});

test('a source has twenty attempts across all accounts', async () => {
  let judged = 0;
  while ((await from('192.0.2.7').signIn(`p${judged}@people.example`, 'a guess')).status === 401) {
    judged += 1;
  }
  expect(judged).toBe(20);
  expect((await from('192.0.2.7').signIn('jane@people.example')).status).toBe(429);
  expect((await from('192.0.2.8').signIn('jane@people.example')).status).toBe(200);
});

test('signing in to their own account does not reset an attacker’s source', async () => {
  for (let round = 0; round < 10; round++) {
    for (const n of [1, 2])
      await from('192.0.2.7').signIn(`p${round}${n}@people.example`, 'a guess');
    await from('192.0.2.7').signIn('jane@people.example');
  }
  expect((await from('192.0.2.7').signIn('last@people.example', 'a guess')).status).toBe(429);
});

test('a whole IPv6 network is one source', async () => {
  let judged = 0;
  for (; judged < 40; judged++) {
    const address = `2001:db8:1:2::${judged.toString(16)}`;
    const answer = await from(address).signIn(`p${judged}@people.example`, 'a guess');
    if (answer.status !== 401) break;
  }
  expect(judged).toBe(20);
  expect((await from('2001:db8:1:3::1').signIn('x@people.example', 'a guess')).status).toBe(401);
});

test('a thousand concurrent attempts count like sequential ones', async () => {
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      from(`198.51.100.${n}`).signIn('jane@people.example', 'a guess'),
    ),
  );
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
});

test('password confirmation within a session is counted too', async () => {
  const person = await createPerson(app, 'joe@people.example', 'owner');
  const visitor = await signInAs(app, person);
  const body = { current_password: 'a guess', new_password: 'kettle rain ladders' };
  for (let i = 0; i < 5; i++) {
    expect((await visitor.call('POST', '/me/password', { body })).status).toBe(422);
  }
  const slowed = await visitor.call('POST', '/me/password', { body });
  expect([slowed.status, slowed.json.code]).toEqual([429, 'too_many_attempts']);
  const removal = await visitor.call('POST', '/me/totp/remove', { body: { password: PASSWORD } });
  expect(removal.status).toBe(429);
});

test('a source without attempts left is rejected by all expensive operations', async () => {
  const person = await createPerson(app, 'joe@people.example', 'owner');
  const visitor = await signInAs(app, person);
  const source = { headers: { 'x-forwarded-for': '192.0.2.7' } };
  for (let n = 0; n < 20; n++) await from('192.0.2.7').signIn(`p${n}@people.example`, 'a guess');
  const token = 'x'.repeat(43);
  const password = 'kettle rain ladders';
  const calls: [string, object][] = [
    ['/setup', { email: 'a@b.example', name: 'A', password }],
    ['/session', { email: 'a@b.example', password }],
    ['/password-resets', { email: 'a@b.example' }],
    ['/password-resets/complete', { token, password }],
    ['/invitations/inspect', { token }],
    ['/invitations/accept', { token }],
    ['/me/password', { current_password: password, new_password: password }],
    ['/me/totp', { password }],
    ['/me/totp/confirm', { code: '123456' }],
    ['/me/totp/recovery-codes', { password }],
    ['/me/totp/remove', { password }],
  ];
  for (const [path, body] of calls) {
    const answer = await visitor.call('POST', path, { body, ...source });
    expect([path, answer.status, answer.json.code]).toEqual([path, 429, 'too_many_attempts']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
});
