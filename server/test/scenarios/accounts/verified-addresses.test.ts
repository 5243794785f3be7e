import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeAt } from '../../../src/accounts/people/totp.ts';
import { createLog } from '../../../src/lib/log.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { fromBase32 } from '../../harness/base32.ts';
import {
  createPerson,
  member,
  PASSWORD,
  SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startIdentityProvider,
  type TestProvider,
} from '../../harness/browser/identity-provider.ts';
import { RedirectBrowser } from '../../harness/browser/redirect-browser.ts';
import { SoftwareAuthenticator } from '../../harness/browser/software-authenticator.ts';
import { mailboxRoute } from '../../harness/delivery/mailbox-route.ts';

/**
 * Anyone who gets a link that was not emailed can create an account for the address of someone else.
 * When the person who receives the mail of the address proves it, nothing of what was set up before
 * signs in any more.
 */

const ORIGIN = 'http://localhost';
const NEW_PASSWORD = 'kettle rain ladders';

const route = mailboxRoute();
let provider: TestProvider;
let app: TestApp;
let owner: SessionClient;
let victims = 0;

beforeAll(async () => {
  provider = await startIdentityProvider([`${ORIGIN}/sso/callback`]);
  app = await startApp({
    liveRoute: route,
    env: {
      BASE_URL: ORIGIN,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_NAME: 'Staff',
      OIDC_DEFAULT_ROLE: 'viewer',
    },
  });
  await app.app.domains.trust(app.workspaceId, { name: 'shop.example' });
  ({ visitor: owner } = await member(app, 'owner'));
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

/** An owner of another workspace, which cannot send. */
async function attacker(): Promise<SessionClient> {
  victims += 1;
  const { id } = await app.app.workspaces.create(`Attacker ${victims}`);
  return signInAs(app, await createPerson(app, `eve${victims}@evil.example`, 'owner', id), id);
}

/** Invites an address and returns the token of the link that is passed on. */
async function linkFor(email: string, by: SessionClient): Promise<string> {
  const { json } = await by.call('POST', '/invitations', { body: { email, role: 'viewer' } });
  const created = await by.call('POST', `/invitations/${json.id}/link`);
  expect([created.status, created.json.mailed]).toEqual([200, false]);
  return created.json.link.split('#')[1];
}

async function inviteByEmail(email: string): Promise<string> {
  const made = await owner.call('POST', '/invitations', { body: { email, role: 'admin' } });
  expect(made.json.mailed).toBe(true);
  return mailedToken(email, 'invitation');
}

/** The next email to an address that matches. */
async function mailWith(email: string, pattern: RegExp): Promise<RegExpExecArray> {
  for (;;) {
    const match = pattern.exec((await route.next(email)).html);
    if (match) return match;
  }
}

async function mailedToken(email: string, page: string): Promise<string> {
  return (await mailWith(email, new RegExp(`/app/${page}#([\\w-]{43})"`)))[1] as string;
}

function accept(by: SessionClient, token: string, more: object = {}) {
  return by.call('POST', '/invitations/accept', { body: { token, ...more } });
}

/** Creates the account of a victim with a link that is passed on. */
async function hijack() {
  const by = await attacker();
  const email = `ceo${victims}@victim.example`;
  const visitor = new SessionClient(app);
  const token = await linkFor(email, by);
  expect((await accept(visitor, token, { name: 'CEO', password: PASSWORD })).status).toBe(200);
  expect((await visitor.call('GET', '/me')).json.email_verified).toBe(false);
  return { email, visitor };
}

/** Adds a passkey, and then a second factor. */
async function equip(visitor: SessionClient): Promise<SoftwareAuthenticator> {
  const authenticator = new SoftwareAuthenticator(ORIGIN);
  const password = { password: PASSWORD };
  const started = await visitor.call('POST', '/me/passkeys/options', { body: password });
  const body = { name: 'Laptop', credential: authenticator.create(started.json.options) };
  expect((await visitor.call('POST', '/me/passkeys', { body })).status).toBe(201);
  const totp = await visitor.call('POST', '/me/totp', { body: password });
  const code = codeAt(fromBase32(totp.json.secret), Date.now());
  expect((await visitor.call('POST', '/me/totp/confirm', { body: { code } })).status).toBe(200);
  return authenticator;
}

async function signInWithPasskey(authenticator: SoftwareAuthenticator): Promise<number> {
  const visitor = new SessionClient(app);
  const { json } = await visitor.call('POST', '/session/passkey/options');
  const body = { credential: authenticator.get(json.options) };
  return (await visitor.call('POST', '/session/passkey', { body })).status;
}

async function resetPassword(email: string): Promise<void> {
  await new SessionClient(app).call('POST', '/password-resets', { body: { email } });
  const token = await mailedToken(email, 'reset-password');
  const body = { token, password: NEW_PASSWORD };
  const done = await new SessionClient(app).call('POST', '/password-resets/complete', { body });
  expect(done.status).toBe(204);
}

async function signInAtProvider(email: string): Promise<SessionClient> {
  provider.user = { sub: email, email, email_verified: true, name: 'The real CEO', groups: [] };
  const browser = new RedirectBrowser();
  const callback = await browser.follow(`${app.url}/sso/start`, `${ORIGIN}/sso/callback`);
  const { location } = await browser.get(callback.replace(ORIGIN, app.url));
  expect(location).toBe(`${app.url}/app/`);
  const visitor = new SessionClient(app);
  visitor.cookie = `postrider_session=${browser.cookie(app.url, 'postrider_session')}`;
  return visitor;
}

test('a password reset by email leaves nothing of what was set up before', async () => {
  const { email, visitor } = await hijack();
  const authenticator = await equip(visitor);
  await visitor.call('POST', '/me/email', {
    body: { email: 'eve@evil.example', password: PASSWORD },
  });
  expect(await signInWithPasskey(authenticator)).toBe(200);

  await resetPassword(email);
  expect(await signInWithPasskey(authenticator)).toBe(401);
  expect((await visitor.call('GET', '/me')).status).toBe(401);
  const ceo = new SessionClient(app);
  expect((await ceo.signIn(email, NEW_PASSWORD)).json.second_factor_required).toBe(false);
  expect((await ceo.call('GET', '/me')).json).toMatchObject({
    email_verified: true,
    totp_enabled: false,
    recovery_codes_left: 0,
  });
  await mailWith(email, /this was removed: passkeys, two-factor authentication\./);

  // The second time, the account is that of the person: its passkeys and second factor stay.
  const own = new SoftwareAuthenticator(ORIGIN);
  const started = await ceo.call('POST', '/me/passkeys/options', {
    body: { password: NEW_PASSWORD },
  });
  const body = { name: 'Mine', credential: own.create(started.json.options) };
  expect((await ceo.call('POST', '/me/passkeys', { body })).status).toBe(201);
  await resetPassword(email);
  expect(await signInWithPasskey(own)).toBe(200);
});

test('the provider of the server leaves nothing of what was set up before, and an email says so', async () => {
  const { email, visitor } = await hijack();
  const authenticator = await equip(visitor);
  const ceo = await signInAtProvider(email);
  expect((await visitor.call('GET', '/me')).status).toBe(401);
  expect(await signInWithPasskey(authenticator)).toBe(401);
  expect((await new SessionClient(app).signIn(email)).status).toBe(401);
  expect((await ceo.call('GET', '/me')).json).toMatchObject({
    email_verified: true,
    has_password: false,
    totp_enabled: false,
  });
  await mailWith(email, /this was removed: password, passkeys, two-factor authentication\./);
  const { json } = await owner.call('GET', '/audit-log?action=removeCredentialsBySingleSignOn');
  expect(json.data[0].details.body.removed).toHaveLength(3);

  // From then on, the password is that of the person.
  await resetPassword(email);
  await signInAtProvider(email);
  expect((await new SessionClient(app).signIn(email, NEW_PASSWORD)).status).toBe(200);
});

test('only a link that was emailed verifies the address of a new account', async () => {
  const email = 'joe@people.example';
  const token = await inviteByEmail(email);
  const joe = new SessionClient(app);
  expect((await accept(joe, token, { name: 'Joe', password: PASSWORD })).status).toBe(200);
  const authenticator = await equip(joe);
  expect((await joe.call('GET', '/me')).json.email_verified).toBe(true);
  await resetPassword(email);
  expect(await signInWithPasskey(authenticator)).toBe(200);
  expect((await new SessionClient(app).signIn(email, NEW_PASSWORD)).json).toMatchObject({
    second_factor_required: true,
  });
});

test('a link that was passed on does not admit an account that is not verified', async () => {
  const { email, visitor } = await hijack();
  const passedOn = await linkFor(email, owner);
  const replaced = await mailedToken(email, 'invitation');
  expect((await accept(visitor, replaced)).json.code).toBe('invalid_link');
  const refused = await accept(visitor, passedOn);
  expect([refused.status, refused.json.code]).toEqual([409, 'email_unverified']);
  expect((await visitor.call('GET', '/me')).json.workspaces).toHaveLength(1);

  const emailed = await inviteByEmail(email);
  expect((await accept(visitor, emailed)).json.me.workspaces).toHaveLength(2);
  expect((await visitor.call('GET', '/me')).json.email_verified).toBe(true);

  const { id } = await app.app.workspaces.create('A third one');
  const third = await createPerson(app, `third@people.example`, 'owner', id);
  const admitted = await accept(visitor, await linkFor(email, await signInAs(app, third, id)));
  expect(admitted.json.me.workspaces).toHaveLength(3);
});

test('the operator adds only accounts that are verified', async () => {
  const { email, visitor } = await hijack();
  const { team } = app.app.people;
  await expect(team.addAsOperator(app.workspaceId, email, 'admin')).rejects.toMatchObject({
    code: 'email_unverified',
  });
  expect((await visitor.call('GET', '/me')).json.workspaces).toHaveLength(1);
  await resetPassword(email);
  const added = await team.addAsOperator(app.workspaceId, email, 'admin');
  expect([added.email, added.role]).toEqual([email, 'admin']);
});

test('a signed-in user verifies their address with a link to it', async () => {
  const { visitor } = await hijack();
  const authenticator = await equip(visitor);
  const person = await createPerson(app, 'ann@people.example', 'viewer', app.workspaceId, false);
  const ann = await signInAs(app, person);
  const elsewhere = await signInAs(app, person);
  const body = { email: person.email, password: PASSWORD };
  expect((await ann.call('POST', '/me/email', { body })).status).toBe(202);
  const token = await mailedToken(person.email, 'confirm-email');
  const stranger = await visitor.call('POST', '/me/email/confirm', { body: { token } });
  expect(stranger.json.code).toBe('invalid_link');
  const confirmed = await ann.call('POST', '/me/email/confirm', { body: { token } });
  expect(confirmed.json).toMatchObject({ email: person.email, email_verified: true });
  expect((await elsewhere.call('GET', '/me')).status).toBe(401);
  expect((await new SessionClient(app).signIn(person.email)).status).toBe(200);
  const again = await ann.call('POST', '/me/email', { body });
  expect(again.json.errors).toMatchObject([{ pointer: '/email', code: 'unchanged' }]);
  // Nothing was changed, so there is nothing to undo.
  const { rows } = await app.database.pool.query('select from email_changes where person_id = $1', [
    person.id,
  ]);
  expect(rows).toHaveLength(0);
  expect(await signInWithPasskey(authenticator)).toBe(200);
});

test('a change of the address verifies the new one, and undoing it removes what was set up for the old one', async () => {
  const { email, visitor } = await hijack();
  const eve = `eve-of-${email}`;
  const body = { email: eve, password: PASSWORD };
  expect((await visitor.call('POST', '/me/email', { body })).status).toBe(202);
  const token = await mailedToken(eve, 'confirm-email');
  const confirmed = await visitor.call('POST', '/me/email/confirm', { body: { token } });
  expect(confirmed.json).toMatchObject({ email: eve, email_verified: true });
  const authenticator = await equip(visitor);

  const undo = await mailedToken(email, 'undo-email-change');
  const undone = await new SessionClient(app).call('POST', '/email-changes/undo', {
    body: { token: undo, password: NEW_PASSWORD },
  });
  expect(undone.status).toBe(204);
  const ceo = new SessionClient(app);
  expect((await ceo.signIn(email, NEW_PASSWORD)).json.second_factor_required).toBe(false);
  expect((await ceo.call('GET', '/me')).json.email_verified).toBe(true);
  expect(await signInWithPasskey(authenticator)).toBe(401);
});

test('without a domain that can send, links in the log verify addresses', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });
  await using silent = await startApp({ log });
  const { visitor: boss } = await member(silent, 'owner');
  const invited = await boss.call('POST', '/invitations', {
    body: { email: 'joe@people.example', role: 'viewer' },
  });
  const joe = new SessionClient(silent);
  const given = { name: 'Joe', password: PASSWORD };
  expect((await accept(joe, invited.json.link.split('#')[1], given)).status).toBe(200);
  const second = await silent.app.workspaces.create('Second');
  const other = await createPerson(silent, 'other@people.example', 'owner', second.id);
  const link = await (await signInAs(silent, other, second.id)).call('POST', '/invitations', {
    body: { email: 'joe@people.example', role: 'viewer' },
  });
  const token = link.json.link.split('#')[1];
  expect((await accept(joe, token)).json.code).toBe('email_unverified');
  await joe.call('POST', '/me/email', {
    body: { email: 'joe@people.example', password: PASSWORD },
  });
  await silent.app.people.settled();
  const proof = /confirm-email#([\w-]{43})/.exec(lines.join(''))?.[1];
  const body = { token: proof };
  expect((await joe.call('POST', '/me/email/confirm', { body })).status).toBe(200);
  expect((await accept(joe, token)).json.me.workspaces).toHaveLength(2);
});
