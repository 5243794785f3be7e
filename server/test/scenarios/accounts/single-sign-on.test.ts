import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertMembership } from '../../../src/accounts/people/member-store.ts';
import { PROVIDER_SESSION_MAX_MS } from '../../../src/accounts/people/sessions.ts';
import { PENDING_MS } from '../../../src/accounts/people/single-sign-on/pending-sign-in.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import {
  createPerson,
  member,
  PASSWORD,
  SessionClient,
} from '../../harness/browser/dashboard-session.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startIdentityProvider,
  type TestProvider,
  type TestUser,
} from '../../harness/browser/identity-provider.ts';
import { RedirectBrowser } from '../../harness/browser/redirect-browser.ts';

/**
 * Sign-in with a real OpenID Connect provider. The browser of the test follows the redirects, so that
 * every step can be repeated, swapped or forged.
 */

const BASE_URL = 'http://postrider.test';
const SERVER_CALLBACK = `${BASE_URL}/sso/callback`;

let clock: ManualClock;
let app: TestApp;
let provider: TestProvider;
let owner: SessionClient;
let workspace: string;
let callbackUrl: string;

beforeAll(async () => {
  clock = new ManualClock(Date.now());
  app = await startApp({ clock, env: { WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_PORTS: '1-65535' } });
  ({ visitor: owner } = await member(app, 'owner'));
  workspace = encodeId('wsp', app.workspaceId);
  callbackUrl = `${SERVER_CALLBACK}/${workspace}`;
  provider = await startIdentityProvider([callbackUrl, SERVER_CALLBACK]);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});
beforeEach(async () => {
  // Failed sign-ins of the tests before are forgotten.
  await app.database.pool.query('delete from auth_throttles');
  provider.refusal = undefined;
  provider.changeIdToken = undefined;
  provider.forgeSignature = false;
  provider.hasSignOut = true;
  expect((await put()).status).toBe(200);
});

function put(changes: Record<string, unknown> = {}, by = owner) {
  const body = {
    name: 'Test login',
    issuer: provider.issuer,
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    group_roles: [
      { group: 'mail-admins', role: 'admin' },
      { group: 'engineers', role: 'developer' },
    ],
    ...changes,
  };
  return by.call('PUT', '/single-sign-on', { body });
}

function userOf(name: string, more: Partial<TestUser> = {}): TestUser {
  const email = `${name}@staff.example`;
  return { sub: `sub-${name}`, email, email_verified: true, name, groups: ['engineers'], ...more };
}

/** Starts a sign-in and lets the provider answer; returns the callback without calling it. */
async function toCallback(browser: RedirectBrowser, to = app, query = `workspace=${workspace}`) {
  return browser.follow(`${to.url}/sso/start?${query}`, SERVER_CALLBACK);
}

/** Calls the callback, and returns where the browser is sent. */
async function finish(browser: RedirectBrowser, callback: string, to = app): Promise<string> {
  const { status, location } = await browser.get(callback.replace(BASE_URL, to.url));
  expect(status).toBe(303);
  return location.slice(to.url.length);
}

async function signIn(user: TestUser, to = app, query?: string) {
  provider.user = user;
  const browser = new RedirectBrowser();
  const path = await finish(browser, await toCallback(browser, to, query), to);
  return { path, visitor: visitorOf(browser, to) };
}

function visitorOf(browser: RedirectBrowser, to = app): SessionClient {
  const visitor = new SessionClient(to);
  const token = browser.cookie(to.url, 'postrider_session');
  visitor.cookie = token && `postrider_session=${token}`;
  visitor.workspace = encodeId('wsp', to.workspaceId);
  return visitor;
}

const failure = (reason: string) =>
  expect.stringContaining(`single-sign-on-failed?reason=${reason}&`);

describe('the protocol', () => {
  test('a sign-in sends state, nonce and a PKCE challenge, and starts a session', async () => {
    provider.user = userOf('ann');
    const browser = new RedirectBrowser();
    const start = `${app.url}/sso/start?workspace=${workspace}&next=%2Fmessages%3Fq%3Da`;
    const { location, headers } = await browser.get(start);
    const requested = new URL(location).searchParams;
    expect(requested.get('code_challenge_method')).toBe('S256');
    expect(requested.get('redirect_uri')).toBe(callbackUrl);
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(requested.get(name)).toMatch(/^[\w-]{43}$/);
    }
    expect(headers.getSetCookie().join()).toMatch(/HttpOnly; SameSite=Lax/);
    expect(await finish(browser, await browser.follow(location, callbackUrl))).toBe(
      '/app/messages?q=a',
    );
    const session = visitorOf(browser);
    const me = await session.call('GET', '/me');
    expect(me.json).toMatchObject({ email: 'ann@staff.example', name: 'ann', has_password: false });
    expect(await finish(browser, await toCallback(browser))).toBe('/app/');
    expect((await session.call('GET', '/me')).json.code).toBe('invalid_session');
    expect(browser.cookie(app.url, 'postrider_sign_in')).toBeUndefined();
  });

  test('signing out leads to the provider and back', async () => {
    const { visitor } = await signIn(userOf('ann'));
    const out = await visitor.call('DELETE', '/session');
    expect(out.status).toBe(200);
    const url = new URL(out.json.provider_sign_out_url);
    expect(url.origin).toBe(provider.issuer);
    const sent = Object.fromEntries(url.searchParams);
    expect(sent).toMatchObject({ client_id: CLIENT_ID, post_logout_redirect_uri: callbackUrl });
    const claims = JSON.parse(atob(sent.id_token_hint?.split('.')[1] ?? ''));
    expect(claims).toMatchObject({ sub: 'sub-ann', aud: CLIENT_ID });
    const back = await fetch(callbackUrl.replace(BASE_URL, app.url), { redirect: 'manual' });
    expect(back.headers.get('location')).toBe(`/app/sign-in?workspace=${workspace}`);
    // What names the session to the provider is not readable in the database.
    const { rows } = await app.database.pool.query<{ text: string }>(
      `select encode(id_token, 'escape') as text from sessions where id_token is not null`,
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ text }) => text.includes('eyJ'))).toEqual([]);

    provider.hasSignOut = false;
    clock.advance(61_000);
    const { visitor: other } = await signIn(userOf('ann'));
    expect((await other.call('DELETE', '/session')).status).toBe(204);
    expect((await other.call('GET', '/me')).status).toBe(401);
    const { visitor: withPassword } = await member(app, 'viewer', 'leaves@people.example');
    expect((await withPassword.call('DELETE', '/session')).status).toBe(204);
  });

  test('signing out does not wait for a provider that is gone', async () => {
    const { visitor } = await signIn(userOf('ann'));
    await app.database.pool.query(`update oidc_connections set issuer = 'http://127.0.0.1:1'`);
    expect((await visitor.call('DELETE', '/session')).status).toBe(204);
    expect((await visitor.call('GET', '/me')).status).toBe(401);
  });

  test('a response works in the browser that started it, once and for ten minutes', async () => {
    provider.user = userOf('ann');
    const browser = new RedirectBrowser();
    const callback = await toCallback(browser);
    const stolen = new RedirectBrowser();
    expect(await finish(stolen, callback)).toEqual(failure('other_browser'));
    const forged = callback.replace(/state=[\w-]+/, `state=${'a'.repeat(43)}`);
    expect(await finish(browser, forged)).toEqual(failure('other_browser'));

    const pending = browser.cookie(app.url, 'postrider_sign_in');
    expect(await finish(browser, callback)).toBe('/app/');
    const again = await fetch(callback.replace(BASE_URL, app.url), {
      redirect: 'manual',
      headers: { cookie: `postrider_sign_in=${pending}` },
    });
    expect(again.headers.get('location')).toEqual(failure('completed'));
    expect(again.headers.getSetCookie()).toEqual([]);

    const late = await toCallback(browser);
    clock.advance(PENDING_MS + 1);
    expect(await finish(browser, late)).toEqual(failure('expired'));
  });

  test('another site cannot start a sign-in, only lead to the page that offers it', async () => {
    const response = await fetch(`${app.url}/sso/start?workspace=${workspace}`, {
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(response.headers.get('location')).toBe(`/app/sign-in?workspace=${workspace}`);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  test('a code of another sign-in is refused, because its verifier is another one', async () => {
    provider.user = userOf('ann');
    const [mine, theirs] = [new RedirectBrowser(), new RedirectBrowser()];
    const [own, other] = [await toCallback(mine), await toCallback(theirs)];
    const injected = new URL(own);
    injected.searchParams.set('code', new URL(other).searchParams.get('code') as string);
    expect(await finish(mine, injected.href)).toEqual(failure('provider_error'));
    expect(visitorOf(mine).cookie).toBeUndefined();
  });

  test('a response at the redirect URI of another provider is refused', async () => {
    provider.user = userOf('ann');
    const browser = new RedirectBrowser();
    const callback = await toCallback(browser);
    const other = encodeId('wsp', (await app.app.workspaces.create('Mixed up')).id);
    expect(await finish(browser, callback.replace(workspace, other))).toEqual(
      failure('invalid_response'),
    );
    expect(await finish(browser, callback.replace(`/${workspace}`, ''))).toEqual(
      failure('invalid_response'),
    );
    expect(visitorOf(browser).cookie).toBeUndefined();
    expect(await finish(browser, callback)).toBe('/app/');
  });

  test.each([
    ['another audience', (claims: object) => ({ ...claims, aud: 'another-client' })],
    ['another nonce', (claims: object) => ({ ...claims, nonce: 'another' })],
    ['another issuer', (claims: object) => ({ ...claims, iss: 'https://login.evil.example' })],
    ['an end in the past', (claims: object) => ({ ...claims, exp: 1_700_000_000 })],
  ])('an ID token with %s is refused', async (_, change) => {
    provider.changeIdToken = change;
    const { path, visitor } = await signIn(userOf('ann'));
    expect(path).toEqual(failure('invalid_response'));
    expect(visitor.cookie).toBeUndefined();
  });

  test('an ID token that another key has signed is refused', async () => {
    provider.forgeSignature = true;
    expect((await signIn(userOf('ann'))).path).toEqual(failure('invalid_response'));
  });

  test('sign-ins share the metadata of the provider for a minute', async () => {
    const start = () => new RedirectBrowser().get(`${app.url}/sso/start?workspace=${workspace}`);
    clock.advance(60_000);
    const before = provider.discoveries;
    await Promise.all([start(), start(), start()]);
    await start();
    expect(provider.discoveries).toBe(before + 1);
    clock.advance(60_000);
    await start();
    expect(provider.discoveries).toBe(before + 2);
  });

  test('an error of the provider is explained', async () => {
    provider.refusal = 'access_denied';
    expect((await signIn(userOf('ann'))).path).toEqual(failure('cancelled'));
    provider.refusal = 'temporarily_unavailable';
    expect((await signIn(userOf('ann'))).path).toEqual(failure('provider_error'));
    const unknown = await new RedirectBrowser().get(`${app.url}/sso/start?workspace=wsp_none`);
    expect(unknown.location).toEqual(failure('not_configured'));
  });
});

describe('members', () => {
  test('people become members with the role of their groups, which follows them', async () => {
    const first = await signIn(userOf('ben'));
    expect(roleOf(await first.visitor.call('GET', '/me'))).toBe('developer');
    const second = await signIn(userOf('ben', { groups: ['engineers', 'mail-admins'] }));
    expect(roleOf(await second.visitor.call('GET', '/me'))).toBe('admin');
    expect(roleOf(await first.visitor.call('GET', '/me'))).toBe('admin');
    const { json } = await owner.call('GET', '/audit-log');
    const actions = json.data.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(
      expect.arrayContaining([
        'putSingleSignOn',
        'signInBySingleSignOn',
        'joinBySingleSignOn',
        'changeRoleBySingleSignOn',
      ]),
    );
    expect(JSON.stringify(json)).not.toContain(CLIENT_SECRET);
  });

  test('someone without a role has no access, and loses what the provider gave', async () => {
    expect((await signIn(userOf('cleo', { groups: [] }))).path).toEqual(failure('no_access'));
    const { visitor } = await signIn(userOf('cleo'));
    expect((await visitor.call('GET', '/messages')).status).toBe(200);
    expect((await signIn(userOf('cleo', { groups: ['sales'] }))).path).toEqual(
      failure('no_access'),
    );
    expect((await visitor.call('GET', '/messages')).status).toBe(401);
    expect((await put({ default_role: 'viewer' })).status).toBe(200);
    const viewer = await signIn(userOf('cleo', { groups: ['sales'] }));
    expect(roleOf(await viewer.visitor.call('GET', '/me'))).toBe('viewer');
    expect((await put({ group_roles: [] })).status).toBe(200);
    const kept = await signIn(userOf('cleo', { groups: ['mail-admins'] }));
    expect(roleOf(await kept.visitor.call('GET', '/me'))).toBe('viewer');
    expect((await signIn(userOf('new'))).path).toEqual(failure('no_access'));
  });

  test('an address must be there and must not be unverified', async () => {
    const { email: _, ...nameless } = userOf('dora');
    expect((await signIn(nameless)).path).toEqual(failure('no_email'));
    const unverified = userOf('dora', { email_verified: false });
    expect((await signIn(unverified)).path).toEqual(failure('unverified_email'));
  });

  test('a member is found by address, and an owner stays owner', async () => {
    const boss = userOf('boss', { email: 'OWNER@people.example', groups: [] });
    const { email_verified: _, ...unproved } = boss;
    expect((await signIn(unproved)).path).toEqual(failure('unverified_email'));
    const { visitor } = await signIn(boss);
    const me = await visitor.call('GET', '/me');
    expect([me.json.email, roleOf(me)]).toEqual(['owner@people.example', 'owner']);
  });

  test('the account of someone who is not a member is never found', async () => {
    await createPerson(app, 'outsider@elsewhere.example');
    const user = userOf('eve', { email: 'outsider@elsewhere.example' });
    const { path, visitor } = await signIn(user);
    expect(path).toEqual(failure('account_exists'));
    expect(visitor.cookie).toBeUndefined();
  });

  test('a session of the provider sees its workspace only, and cannot change the account', async () => {
    const other = await app.app.workspaces.create('Other');
    const both = await createPerson(app, 'both@staff.example', 'viewer');
    await insertMembership(app.app.storage.pool, {
      workspaceId: other.id,
      personId: both.id,
      role: 'owner',
      createdAtMs: clock.now(),
    });
    const { visitor } = await signIn(userOf('both'));
    const me = await visitor.call('GET', '/me');
    expect(me.json.session.limited_to).toBe(workspace);
    expect(me.json.workspaces.map(({ id }: { id: string }) => id)).toEqual([workspace]);
    expect((await visitor.call('GET', '/workspaces')).json.data).toHaveLength(1);

    const headers = { 'postrider-workspace': encodeId('wsp', other.id) };
    const elsewhere = await visitor.call('GET', '/messages', { headers });
    expect(elsewhere.json.code).toBe('not_a_member');
    for (const [method, path, body] of [
      ['PATCH', '/me', { name: 'Someone else' }],
      ['POST', '/workspaces', { name: 'Mine' }],
      ['PATCH', `/workspaces/${encodeId('wsp', other.id)}`, { name: 'Mine' }],
      ['POST', `/workspaces/${encodeId('wsp', other.id)}/deletion`, { name: 'Other' }],
      ['POST', '/me/passkeys/options', { password: PASSWORD }],
    ] as const) {
      const refused = await visitor.call(method, path, { body });
      expect([path, refused.status, refused.json.code]).toEqual([path, 403, 'limited_session']);
    }
    expect((await visitor.call('GET', '/me/sessions')).json.data).toMatchObject([
      { current: true, single_sign_on: true },
    ]);
  });
});

describe('the configuration', () => {
  test('only owners change it, and a provider that does not work changes nothing', async () => {
    const { visitor: admin } = await member(app, 'admin');
    expect((await put({}, admin)).json.code).toBe('insufficient_role');
    const before = (await owner.call('GET', '/single-sign-on')).json;
    expect(before).toMatchObject({ redirect_uri: callbackUrl, managed_by: 'workspace' });
    expect(JSON.stringify(before)).not.toContain(CLIENT_SECRET);

    const nowhere = await put({ issuer: 'http://127.0.0.1:9', client_secret: 'x' });
    expect([nowhere.status, nowhere.json.code]).toEqual([422, 'single_sign_on_failed']);
    const wrong = await put({ issuer: `${provider.issuer}/other` });
    expect(wrong.json.code).toBe('single_sign_on_failed');
    expect((await put({ issuer: 'ftp://login.example' })).json.errors[0].pointer).toBe('/issuer');
    const kept = await put({ issuer: 'https://login.evil.example', client_secret: undefined });
    expect(kept.json.errors[0].pointer).toBe('/client_secret');
    expect((await put({ group_roles: [{ group: 'a', role: 'owner' }] })).status).toBe(422);
    expect((await owner.call('GET', '/single-sign-on')).json).toEqual(before);
    expect((await put({ client_secret: undefined })).status).toBe(200);
    expect((await signIn(userOf('ann'))).path).toBe('/app/');
    const { rows } = await app.database.pool.query('select * from oidc_connections');
    expect(String(rows[0].encrypted_client_secret)).not.toContain(CLIENT_SECRET);
  });

  test('if it is enforced, members must use it, and owners have a way back', async () => {
    const { visitor: developer } = await member(app, 'developer', 'dev@people.example');
    expect((await developer.call('GET', '/messages')).status).toBe(200);
    expect((await put({ enforced: true })).status).toBe(200);
    const refused = await developer.call('GET', '/messages');
    expect([refused.status, refused.json.code]).toEqual([403, 'single_sign_on_required']);
    const { json: me } = await developer.call('GET', '/me');
    expect(me.workspaces).toMatchObject([{ id: workspace, single_sign_on_required: true }]);
    expect((await owner.call('GET', '/messages')).status).toBe(200);

    const { visitor } = await signIn(userOf('dev', { email: 'dev@people.example' }));
    expect((await visitor.call('GET', '/messages')).status).toBe(200);
    const options = await visitor.call('GET', `/session/options?workspace=${workspace}`);
    expect(options.json.single_sign_on).toEqual({ name: 'Test login' });

    expect((await owner.call('DELETE', '/single-sign-on')).status).toBe(204);
    expect((await visitor.call('GET', '/messages')).status).toBe(401);
    expect((await developer.call('GET', '/messages')).status).toBe(200);
    expect((await owner.call('GET', '/single-sign-on')).status).toBe(404);
  });
});

test('the provider in the settings is trusted everywhere, and only the operator changes it', async () => {
  await using own = await startApp({
    env: {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OIDC_NAME: 'Staff',
      OIDC_GROUP_ROLES: 'mail-admins=admin, engineers=developer',
    },
  });
  const { visitor: boss } = await member(own, 'owner');
  await createPerson(own, 'known@staff.example');
  const options = await boss.call('GET', '/session/options');
  expect(options.json.single_sign_on).toEqual({ name: 'Staff' });

  const { email_verified: _, ...unverified } = userOf('known', { sub: 'unverified' });
  expect((await signIn(unverified, own, '')).path).toEqual(failure('unverified_email'));
  const { email_verified: __, ...newcomer } = userOf('newcomer');
  expect((await signIn(newcomer, own, '')).path).toEqual(failure('unverified_email'));
  const { path, visitor } = await signIn(userOf('known'), own, '');
  expect(path).toBe('/app/');
  const me = await visitor.call('GET', '/me');
  expect(me.json.session.limited_to).toBeNull();
  expect(me.json).toMatchObject({ has_password: true, workspaces: [{ role: 'developer' }] });
  expect((await visitor.call('PATCH', '/me', { body: { name: 'Known' } })).status).toBe(200);

  expect((await boss.call('GET', '/single-sign-on')).json.managed_by).toBe('server');
  const refused = await boss.call('DELETE', '/single-sign-on');
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
});

// The last one: for the provider, no time has passed, so what it issues from then on is too old.
test('a session ends after a day of use, so that access lost at the provider is lost here', async () => {
  const { visitor } = await signIn(userOf('ann'));
  clock.advance(PROVIDER_SESSION_MAX_MS - 1);
  expect((await visitor.call('GET', '/messages')).status).toBe(200);
  clock.advance(1);
  expect((await visitor.call('GET', '/messages')).json.code).toBe('invalid_session');
});

function roleOf({ json }: { json: { workspaces: { role: string }[] } }): string | undefined {
  return json.workspaces[0]?.role;
}
