import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeAt } from '../../../src/accounts/people/totp.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { fromBase32 } from '../../harness/base32.ts';
import {
  createPerson,
  PASSWORD,
  SessionClient,
  signInAs,
  type TestPerson,
} from '../../harness/browser/dashboard-session.ts';
import { mailboxRoute } from '../../harness/delivery/mailbox-route.ts';

/**
 * A user changes their sign-in address: a link to the new address confirms it, and a link to the
 * previous address undoes it. No one else can do either, or learn which addresses have an account.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NEW_PASSWORD = 'kettle rain ladders';

const clock = new ManualClock(Date.now());
const route = mailboxRoute();
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ liveRoute: route, clock });
  await app.app.domains.trust(app.workspaceId, { name: 'shop.example' });
});
afterAll(() => app[Symbol.asyncDispose]());

function request(session: SessionClient, body: object) {
  return session.call('POST', '/me/email', { body: { password: PASSWORD, ...body } });
}

function confirm(session: SessionClient, token: string) {
  return session.call('POST', '/me/email/confirm', { body: { token } });
}

function undo(token: string, password = NEW_PASSWORD) {
  return new SessionClient(app).call('POST', '/email-changes/undo', { body: { token, password } });
}

async function tokenFor(email: string, page: 'confirm-email' | 'undo-email-change') {
  const { html } = await route.next(email);
  const token = new RegExp(`http://postrider.test/app/${page}#([\\w-]{43})"`).exec(html)?.[1];
  return token as string;
}

async function changeTo(session: SessionClient, email: string): Promise<void> {
  expect((await request(session, { email })).status).toBe(202);
  expect((await confirm(session, await tokenFor(email, 'confirm-email'))).status).toBe(200);
}

async function signedIn(email: string): Promise<[TestPerson, SessionClient]> {
  const person = await createPerson(app, email, 'owner');
  return [person, await signInAs(app, person)];
}

test('a link to the new address confirms the change and ends all other sessions', async () => {
  const [person, session] = await signedIn('ann@old.example');
  const elsewhere = await signInAs(app, person);
  const wanted = { email: 'Ann@new.example' };
  for (const [body, pointer, code] of [
    [{ email: 'ann@' }, '/email', 'invalid_email'],
    [{ email: 'ann@old.example' }, '/email', 'unchanged'],
    [{ ...wanted, password: 'a wrong guess' }, '/password', 'wrong_password'],
  ] as const) {
    const refused = await request(session, body);
    expect([refused.status, refused.json.errors[0]]).toMatchObject([422, { pointer, code }]);
  }
  await new SessionClient(app).call('POST', '/password-resets', {
    body: { email: 'ann@old.example' },
  });
  const reset = /reset-password#([\w-]{43})/.exec((await route.next('ann@old.example')).html)?.[1];

  expect((await request(session, wanted)).json).toEqual({});
  const replaced = await tokenFor('Ann@new.example', 'confirm-email');
  expect((await request(session, wanted)).status).toBe(202);
  const token = await tokenFor('Ann@new.example', 'confirm-email');
  expect((await session.call('GET', '/me')).json.email).toBe('ann@old.example');

  // Someone else who receives the link, because of a typing error, cannot use it.
  const [, stranger] = await signedIn('stranger@old.example');
  for (const [by, link] of [
    [stranger, token],
    [session, replaced],
    [session, 'x'.repeat(43)],
  ] as const) {
    const refused = await confirm(by, link);
    expect([refused.status, refused.json.code]).toEqual([422, 'invalid_link']);
  }
  expect((await confirm(new SessionClient(app), token)).status).toBe(401);

  const cookie = session.cookie;
  const confirmed = await confirm(session, token);
  expect([confirmed.status, confirmed.json.email]).toEqual([200, 'Ann@new.example']);
  expect(session.cookie).not.toBe(cookie);
  expect((await session.call('GET', '/me')).status).toBe(200);
  expect((await elsewhere.call('GET', '/me')).json.code).toBe('invalid_session');
  expect((await confirm(session, token)).json.code).toBe('invalid_link');
  expect((await new SessionClient(app).signIn('ann@old.example')).status).toBe(401);
  expect((await new SessionClient(app).signIn('ann@new.example')).status).toBe(200);
  const body = { token: reset, password: NEW_PASSWORD };
  const late = await new SessionClient(app).call('POST', '/password-resets/complete', { body });
  expect(late.json.code).toBe('invalid_link');
  const { rows } = await app.database.pool.query('select token_hash from email_changes');
  expect(JSON.stringify(rows)).not.toContain(token);
});

test('a link to the previous address undoes every later change and sets a new password', async () => {
  const [{ id }, thief] = await signedIn('victim@old.example');
  const { pool } = app.database;
  await pool.query(
    `insert into passkeys (person_id, id, credential_id, public_key, counter, transports, name,
       is_backed_up, created_at)
     values ($1, gen_random_uuid(), 'thief', 'key', 0, '{}', 'Of the thief', false, now())`,
    [id],
  );
  await changeTo(thief, 'thief@new.example');
  const victims = await tokenFor('victim@old.example', 'undo-email-change');
  await changeTo(thief, 'thief@newer.example');
  const thiefs = await tokenFor('thief@new.example', 'undo-email-change');
  expect((await undo(victims, 'password123')).json.errors).toMatchObject([
    { pointer: '/password', code: 'weak_password' },
  ]);
  expect((await undo('x'.repeat(43))).json.code).toBe('invalid_link');
  expect((await undo(victims)).status).toBe(204);
  for (const used of [victims, thiefs]) {
    expect((await undo(used, 'another good one')).json.code).toBe('invalid_link');
  }
  expect((await thief.call('GET', '/me')).json.code).toBe('invalid_session');
  for (const email of ['victim@old.example', 'thief@newer.example']) {
    expect((await new SessionClient(app).signIn(email)).status).toBe(401);
  }
  const victim = new SessionClient(app);
  expect((await victim.signIn('victim@old.example', NEW_PASSWORD)).status).toBe(200);
  const { rows } = await pool.query('select from passkeys where person_id = $1', [id]);
  expect(rows).toEqual([]);
});

test('neither change nor undo takes an address that meanwhile has another account', async () => {
  const [, session] = await signedIn('carl@old.example');
  expect((await request(session, { email: 'carl@new.example' })).status).toBe(202);
  const token = await tokenFor('carl@new.example', 'confirm-email');
  await createPerson(app, 'carl@new.example');
  const refused = await confirm(session, token);
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
  expect((await session.call('GET', '/me')).json.email).toBe('carl@old.example');

  await changeTo(session, 'carl@newer.example');
  const back = await tokenFor('carl@old.example', 'undo-email-change');
  await createPerson(app, 'carl@old.example');
  expect((await undo(back)).json.code).toBe('conflict');
  expect((await new SessionClient(app).signIn('carl@newer.example')).status).toBe(200);
});

test('an address with an account gets the same response, and its owner an email', async () => {
  const [, session] = await signedIn('dora@old.example');
  await createPerson(app, 'taken@old.example');
  const unknown = await request(session, { email: 'free@new.example' });
  const known = await request(session, { email: 'taken@old.example' });
  expect([known.status, known.text]).toEqual([unknown.status, unknown.text]);
  const { html } = await route.next('taken@old.example');
  expect(html).toContain('only one account');
  expect(html).not.toContain('confirm-email');
  const third = await request(session, { email: 'third@new.example' });
  const fourth = await request(session, { email: 'fourth@new.example' });
  expect([third.status, fourth.status]).toEqual([202, 429]);
});

test('links expire: one after an hour, the other after a week', async () => {
  const [, session] = await signedIn('emil@old.example');
  await request(session, { email: 'emil@new.example' });
  const late = await tokenFor('emil@new.example', 'confirm-email');
  clock.advance(HOUR_MS);
  expect((await confirm(session, late)).json.code).toBe('invalid_link');
  await changeTo(session, 'emil@new.example');
  const token = await tokenFor('emil@old.example', 'undo-email-change');
  clock.advance(7 * DAY_MS);
  expect((await undo(token)).json.code).toBe('invalid_link');
  await app.app.people.sweep();
  const { rows } = await app.database.pool.query('select from email_changes');
  expect(rows).toEqual([]);
});

test('the previous address is notified even if the node dies after the change', async () => {
  const [person, session] = await signedIn('fritz@old.example');
  await changeTo(session, 'fritz@new.example');
  const lost = await tokenFor('fritz@old.example', 'undo-email-change');
  await app.app.people.settled();
  // As if the node had claimed the notice and died before it submitted the email.
  await app.database.pool.query(
    'update email_changes set notice_due_at = $2 where person_id = $1',
    [person.id, new Date(clock.now() + 5 * 60_000)],
  );
  await app.app.people.sweep();
  expect((await undo(lost, 'short')).json.errors).toMatchObject([{ code: 'weak_password' }]);
  clock.advance(5 * 60_000);
  await app.app.people.sweep();
  const token = await tokenFor('fritz@old.example', 'undo-email-change');
  expect((await undo(lost)).json.code).toBe('invalid_link');
  expect((await undo(token)).status).toBe(204);
});

test('with a second factor, a code is required, and a password change voids a pending change', async () => {
  const [, session] = await signedIn('gina@old.example');
  const { secret } = (await session.call('POST', '/me/totp', { body: { password: PASSWORD } }))
    .json;
  const code = () => codeAt(fromBase32(secret), clock.now());
  const enabled = await session.call('POST', '/me/totp/confirm', { body: { code: code() } });
  const [recovery] = enabled.json.recovery_codes;
  const email = 'gina@new.example';
  expect((await request(session, { email })).json.errors).toMatchObject([
    { pointer: '/code', code: 'required' },
  ]);
  expect((await request(session, { email, code: code() })).json.errors).toMatchObject([
    { pointer: '/code', code: 'wrong_code' },
  ]);
  expect((await request(session, { email, code: recovery })).status).toBe(202);
  const token = await tokenFor(email, 'confirm-email');
  await session.call('POST', '/me/password', {
    body: { current_password: PASSWORD, new_password: NEW_PASSWORD },
  });
  expect((await confirm(session, token)).json.code).toBe('invalid_link');
});
