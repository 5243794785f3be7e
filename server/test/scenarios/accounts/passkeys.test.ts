import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHALLENGE_MS } from '../../../src/accounts/people/passkeys/sign-in-challenge.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import {
  createPerson,
  member,
  PASSWORD,
  SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';
import { SoftwareAuthenticator } from '../../harness/browser/software-authenticator.ts';

/** People add passkeys with their password, and sign in with them alone. */

const ORIGIN = 'http://localhost';

let clock: ManualClock;
let app: TestApp;

beforeAll(async () => {
  clock = new ManualClock(Date.now());
  app = await startApp({ clock, env: { BASE_URL: ORIGIN } });
});
afterAll(() => app[Symbol.asyncDispose]());

async function register(visitor: SessionClient, authenticator = new SoftwareAuthenticator(ORIGIN)) {
  const started = await visitor.call('POST', '/me/passkeys/options', {
    body: { password: PASSWORD },
  });
  expect(started.status).toBe(200);
  const body = { name: 'Laptop', credential: authenticator.create(started.json.options) };
  return { authenticator, body, added: await visitor.call('POST', '/me/passkeys', { body }) };
}

async function challenge(): Promise<{ challenge: string }> {
  const started = await new SessionClient(app).call('POST', '/session/passkey/options');
  expect(started.json.options).toMatchObject({ userVerification: 'required' });
  expect(started.json.options.allowCredentials ?? []).toEqual([]);
  return started.json.options;
}

function signIn(credential: unknown, visitor = new SessionClient(app)) {
  return visitor.call('POST', '/session/passkey', { body: { credential } });
}

const outcome = ({ status, json }: { status: number; json: { code?: string } }) => [
  status,
  json?.code,
];

test('a passkey is added, used, renamed and removed', async () => {
  const { visitor, person } = await member(app, 'owner');
  const wrong = await visitor.call('POST', '/me/passkeys/options', { body: { password: 'wrong' } });
  expect(wrong.json.errors[0].pointer).toBe('/password');

  const { authenticator, added } = await register(visitor);
  expect(added.json).toMatchObject({ name: 'Laptop', last_used_at: null });
  const again = await visitor.call('POST', '/me/passkeys/options', {
    body: { password: PASSWORD },
  });
  expect(again.json.options.excludeCredentials).toHaveLength(1);

  const guest = new SessionClient(app);
  const signedIn = await signIn(authenticator.get(await challenge()), guest);
  expect(signedIn.json.me).toMatchObject({ id: person.publicId });
  expect((await guest.call('GET', '/me')).status).toBe(200);

  const path = `/me/passkeys/${added.json.id}`;
  const renamed = await visitor.call('PATCH', path, { body: { name: 'Old laptop' } });
  expect(renamed.json).toMatchObject({ name: 'Old laptop', last_used_at: expect.any(String) });
  const other = await signInAs(app, await createPerson(app, 'other@people.example', 'viewer'));
  expect((await other.call('DELETE', path)).status).toBe(404);
  expect((await other.call('GET', '/me/passkeys')).json.data).toEqual([]);
  expect((await visitor.call('GET', '/me/passkeys')).json.data).toHaveLength(1);
  expect((await visitor.call('DELETE', path)).status).toBe(204);
  expect(outcome(await signIn(authenticator.get(await challenge())))).toEqual([
    401,
    'invalid_credentials',
  ]);
});

test('a passkey replaces the second factor, because it is two', async () => {
  const person = await createPerson(app, 'two@people.example', 'viewer');
  const visitor = await signInAs(app, person);
  const { authenticator } = await register(visitor);
  await app.database.pool.query(
    `update people set totp_secret = 'x', totp_confirmed_at = now() where id = $1`,
    [person.id],
  );
  const half = await new SessionClient(app).signIn(person.email);
  expect(half.json.second_factor_required).toBe(true);
  expect((await signIn(authenticator.get(await challenge()))).status).toBe(200);
  const options = await visitor.call('POST', '/me/passkeys/options', {
    body: { password: PASSWORD },
  });
  expect(options.json.errors[0].pointer).toBe('/code');
});

test('challenges work once, for five minutes, and in one session', async () => {
  const person = await createPerson(app, 'once@people.example', 'viewer');
  const visitor = await signInAs(app, person);
  const { authenticator, body } = await register(visitor);
  expect(outcome(await visitor.call('POST', '/me/passkeys', { body }))).toEqual([
    422,
    'invalid_link',
  ]);

  const used = authenticator.get(await challenge());
  expect((await signIn(used)).status).toBe(200);
  expect((await signIn(used)).status).toBe(401);
  // The same challenge with a new signature, which only its holder can make.
  const once = await challenge();
  expect((await signIn(authenticator.get(once))).status).toBe(200);
  expect(outcome(await signIn(authenticator.get(once)))).toEqual([422, 'invalid_link']);
  const late = await challenge();
  const made = { challenge: Buffer.alloc(64, 7).toString('base64url') };
  expect(outcome(await signIn(authenticator.get(made)))).toEqual([422, 'invalid_link']);
  clock.advance(CHALLENGE_MS);
  expect(outcome(await signIn(authenticator.get(late)))).toEqual([422, 'invalid_link']);

  const thief = await createPerson(app, 'thief@people.example', 'viewer');
  const started = await visitor.call('POST', '/me/passkeys/options', {
    body: { password: PASSWORD },
  });
  const stolen = new SoftwareAuthenticator(ORIGIN).create(started.json.options);
  for (const other of [await signInAs(app, thief), await signInAs(app, person)]) {
    const taken = await other.call('POST', '/me/passkeys', {
      body: { name: 'Mine', credential: stolen },
    });
    expect(outcome(taken)).toEqual([422, 'invalid_link']);
  }
});

test('other origins, unverified users, copies and forged signatures are refused', async () => {
  const visitor = await signInAs(app, await createPerson(app, 'safe@people.example', 'viewer'));
  const { authenticator } = await register(visitor);
  const refused = async (change: (one: SoftwareAuthenticator) => void): Promise<void> => {
    const before = { ...authenticator };
    change(authenticator);
    const answer = await signIn(authenticator.get(await challenge()));
    const { counter } = authenticator;
    Object.assign(authenticator, before, { counter: Math.max(counter, before.counter) });
    expect(outcome(answer)).toEqual([401, 'invalid_credentials']);
  };
  await refused((one) => {
    one.origin = 'http://localhost:8080';
  });
  await refused((one) => {
    one.rpId = 'evil.example';
  });
  await refused((one) => {
    one.userVerified = false;
  });
  await refused((one) => {
    one.userHandle = Buffer.alloc(16).toString('base64url');
  });
  expect((await signIn(authenticator.get(await challenge()))).status).toBe(200);
  await refused((one) => {
    one.counter = 0;
  });
  const forged = authenticator.get(await challenge());
  forged.response.authenticatorData = new SoftwareAuthenticator(ORIGIN).get(
    await challenge(),
  ).response.authenticatorData;
  expect(outcome(await signIn(forged))).toEqual([401, 'invalid_credentials']);

  // What an authenticator says about its maker is not requested, and not verified.
  const certified = new SoftwareAuthenticator(ORIGIN);
  certified.attestation = 'android-safetynet';
  expect((await register(visitor, certified)).added.status).toBe(201);

  const foreign = new SoftwareAuthenticator('https://evil.example');
  foreign.rpId = 'localhost';
  expect(outcome((await register(visitor, foreign)).added)).toEqual([401, 'invalid_credentials']);
});
