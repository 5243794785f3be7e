import { afterEach, beforeEach, expect, test } from 'vitest';
import { insertToken } from '../../../src/accounts/people/one-time-token-store.ts';
import { hashSecret, newSecret } from '../../../src/accounts/people/secret-token.ts';
import { codeAt } from '../../../src/accounts/people/totp.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { fromBase32 } from '../../harness/base32.ts';
import { member, PASSWORD, SessionClient } from '../../harness/browser/dashboard-session.ts';
import { raceForLock } from '../../harness/database/row-lock-race.ts';

/**
 * With a second factor, users sign in with a code from their app or a recovery code, each of which works once, and not
 * without. The codes are computed from the secret that the server showed, on the test's clock.
 */

const STEP_MS = 30_000;
const MINUTE_MS = 60_000;
const EMAIL = 'owner@people.example';

let clock: ManualClock;
let app: TestApp;
let visitor: SessionClient;
let secret: Buffer;
let recovery: string[];

beforeEach(async () => {
  clock = new ManualClock(Date.now());
  app = await startApp({ clock });
  ({ visitor } = await member(app, 'owner'));
  const started = await visitor.call('POST', '/me/totp', { body: { password: PASSWORD } });
  expect(started.json.uri).toContain(`secret=${started.json.secret}`);
  secret = fromBase32(started.json.secret);
  const confirmed = await visitor.call('POST', '/me/totp/confirm', { body: { code: now() } });
  recovery = confirmed.json.recovery_codes;
  expect(recovery).toHaveLength(10);
});
afterEach(() => app[Symbol.asyncDispose]());

const now = (): string => codeAt(secret, clock.now());

async function challenge(): Promise<string> {
  const half = await new SessionClient(app).signIn(EMAIL);
  expect(half.json).toMatchObject({ second_factor_required: true, me: null });
  expect(half.headers.getSetCookie()).toEqual([]);
  return half.json.challenge;
}

function finish(given: { challenge: string; code: string }, by = new SessionClient(app)) {
  return by.call('POST', '/session/second-factor', { body: given });
}

test('a code completes the sign-in and works once', async () => {
  expect((await visitor.call('GET', '/me')).json).toMatchObject({
    totp_enabled: true,
    recovery_codes_left: 10,
  });
  const used = await finish({ challenge: await challenge(), code: now() });
  expect([used.status, used.json.code]).toEqual([401, 'invalid_credentials']);
  clock.advance(STEP_MS);
  const token = await challenge();
  const other = await challenge();
  const code = now();
  const browser = new SessionClient(app);
  expect((await finish({ challenge: token, code: ` ${code}` }, browser)).json.me.email).toBe(EMAIL);
  expect((await browser.call('GET', '/me')).status).toBe(200);
  expect((await finish({ challenge: token, code })).json.code).toBe('invalid_link');
  expect((await finish({ challenge: other, code })).json.code).toBe('invalid_link');
  expect((await finish({ challenge: await challenge(), code })).json.code).toBe(
    'invalid_credentials',
  );
});

test('of two concurrent uses of the same code, one succeeds', async () => {
  clock.advance(STEP_MS);
  const [one, two] = [await challenge(), await challenge()];
  const code = now();
  const answers = await raceForLock(
    app,
    { sql: 'select from people for update', values: [] },
    [one, two].map((token) => () => finish({ challenge: token, code })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
});

test('recovery codes work once each, and new ones replace the old', async () => {
  const [first = '', second = ''] = recovery;
  expect((await finish({ challenge: await challenge(), code: first.toUpperCase() })).status).toBe(
    200,
  );
  expect((await visitor.call('GET', '/me')).json.recovery_codes_left).toBe(9);
  expect((await finish({ challenge: await challenge(), code: first })).status).toBe(401);
  const body = { password: PASSWORD };
  const renewed = await visitor.call('POST', '/me/totp/recovery-codes', { body });
  expect(renewed.json.recovery_codes).toHaveLength(10);
  expect((await finish({ challenge: await challenge(), code: second })).status).toBe(401);
  const [fresh] = renewed.json.recovery_codes;
  expect((await finish({ challenge: await challenge(), code: fresh })).status).toBe(200);
});

test('guessing codes is throttled, and a right password does not reset it', async () => {
  for (let i = 0; i < 5; i++) {
    expect((await finish({ challenge: await challenge(), code: '000000' })).status).toBe(401);
  }
  clock.advance(STEP_MS - 1);
  const slowed = await finish({ challenge: await challenge(), code: now() });
  expect([slowed.status, slowed.json.code]).toEqual([429, 'too_many_attempts']);
  clock.advance(STEP_MS);
  expect((await finish({ challenge: await challenge(), code: now() })).status).toBe(200);
});

test('a challenge expires', async () => {
  const token = await challenge();
  clock.advance(10 * MINUTE_MS);
  expect((await finish({ challenge: token, code: now() })).json.code).toBe('invalid_link');
  expect((await finish({ challenge: 'never', code: now() })).json.code).toBe('invalid_link');
});

test('a password reset does not replace the second factor', async () => {
  const half = await challenge();
  const token = await resetToken();
  const body = { token, password: 'kettle rain ladders' };
  expect(
    (await new SessionClient(app).call('POST', '/password-resets/complete', { body })).status,
  ).toBe(204);
  clock.advance(STEP_MS);
  expect((await finish({ challenge: half, code: now() })).json.code).toBe('invalid_link');
  const signedIn = await new SessionClient(app).signIn(EMAIL, 'kettle rain ladders');
  expect(signedIn.json.second_factor_required).toBe(true);
});

test('a sign-in that waits for its code ends when the password changes', async () => {
  const half = await challenge();
  const body = { current_password: PASSWORD, new_password: 'kettle rain ladders' };
  expect((await visitor.call('POST', '/me/password', { body })).status).toBe(204);
  clock.advance(STEP_MS);
  const late = await finish({ challenge: half, code: now() });
  expect([late.status, late.json.code]).toEqual([422, 'invalid_link']);
});

test('setup, renewal and removal require the password, in that order', async () => {
  const post = (path: string, body: object) => visitor.call('POST', path, { body });
  for (const path of ['/me/totp', '/me/totp/recovery-codes', '/me/totp/remove']) {
    const wrong = await post(path, { password: 'a wrong guess' });
    expect(wrong.json.errors).toMatchObject([{ pointer: '/password', code: 'wrong_password' }]);
  }
  expect((await post('/me/totp', { password: PASSWORD })).json.code).toBe('conflict');
  expect((await post('/me/totp/confirm', { code: now() })).json.code).toBe('conflict');
  expect((await post('/me/totp/remove', { password: PASSWORD })).status).toBe(204);
  expect((await post('/me/totp/remove', { password: PASSWORD })).json.code).toBe('conflict');
  expect((await post('/me/totp/recovery-codes', { password: PASSWORD })).json.code).toBe(
    'conflict',
  );
  expect((await new SessionClient(app).signIn(EMAIL)).json.second_factor_required).toBe(false);

  const again = await post('/me/totp', { password: PASSWORD });
  const wrong = await post('/me/totp/confirm', { code: '000000' });
  expect(wrong.json.errors).toMatchObject([{ pointer: '/code', code: 'wrong_code' }]);
  expect((await new SessionClient(app).signIn(EMAIL)).json.second_factor_required).toBe(false);
  secret = fromBase32(again.json.secret);
  expect((await post('/me/totp/confirm', { code: now() })).status).toBe(200);
});

test('neither the secret nor recovery codes are stored in plain text', async () => {
  const { rows } = await app.database.pool.query<{ text: string }>(
    'select p::text as text from people p',
  );
  const stored = rows.map(({ text }) => text).join();
  expect(stored).not.toContain(secret.toString('hex'));
  for (const code of recovery) {
    expect(stored).not.toContain(code);
    expect(stored).not.toContain(Buffer.from(code).toString('hex'));
  }
});

/** The token of a reset link. */
async function resetToken(): Promise<string> {
  const token = newSecret();
  const { rows } = await app.database.pool.query<{ id: string }>('select id from people');
  await insertToken(app.database.pool, {
    hash: hashSecret(token),
    personId: rows[0]?.id as string,
    purpose: 'password_reset',
    endsAtMs: clock.now() + MINUTE_MS,
  });
  return token;
}
