import { expect, test } from 'vitest';
import { ROLES } from '../../../src/accounts/roles.ts';
import { simulatorTransport } from '../../../src/delivery/transport/simulator.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import {
  createPerson,
  member,
  PASSWORD,
  SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';
import { raceForLock } from '../../harness/database/row-lock-race.ts';
import { mailboxRoute } from '../../harness/delivery/mailbox-route.ts';
import { until } from '../../harness/until.ts';

/**
 * People join a workspace by invitation only, with the invited role; roles limit what members can change in
 * the team; a workspace never loses its last owner.
 */

const DAY_MS = 24 * 3_600_000;

function invite(by: SessionClient, email: string, role = 'developer') {
  return by.call('POST', '/invitations', { body: { email, role } });
}

function tokenOf(link: string): string {
  expect(link).toMatch(/^http:\/\/postrider\.test\/app\/invitation#[\w-]{43}$/);
  return link.split('#')[1] as string;
}

function accept(by: SessionClient, token: string, more: object = {}) {
  return by.call('POST', '/invitations/accept', { body: { token, ...more } });
}

const JOE = { name: 'Joe', password: PASSWORD };

test('an address without an account creates one through its link', async () => {
  await using app = await startApp();
  const { visitor: owner, person } = await member(app, 'owner');
  const made = await invite(owner, 'Joe@people.example');
  expect([made.status, made.json.mailed, made.json.status]).toEqual([201, false, 'pending']);
  expect(made.json.invited_by).toBe(person.publicId);
  const token = tokenOf(made.json.link);

  const joe = new SessionClient(app);
  const seen = await joe.call('POST', '/invitations/inspect', { body: { token } });
  expect(seen.json).toMatchObject({
    workspace_name: 'Test',
    email: 'Joe@people.example',
    role: 'developer',
    invited_by_name: 'owner',
    account_exists: false,
  });
  const bare = await accept(joe, token);
  expect(bare.json.errors.map((one: { pointer: string }) => one.pointer)).toEqual([
    '/name',
    '/password',
  ]);
  const weak = await accept(joe, token, { name: 'Joe', password: 'joejoejoejoe' });
  expect(weak.json.errors).toMatchObject([{ pointer: '/password', code: 'weak_password' }]);
  const joined = await accept(joe, token, JOE);
  expect(joined.json.me.workspaces).toMatchObject([{ name: 'Test', role: 'developer' }]);
  expect((await joe.call('GET', '/me')).json.email).toBe('Joe@people.example');

  expect((await accept(new SessionClient(app), token, JOE)).json.code).toBe('invalid_link');
  const list = await owner.call('GET', '/invitations');
  expect(list.json.data).toMatchObject([{ id: made.json.id, status: 'accepted' }]);
  expect((await invite(owner, 'JOE@people.example')).json.code).toBe('conflict');
});

test('an existing account joins only after signing in', async () => {
  await using app = await startApp();
  const { visitor: owner } = await member(app, 'owner');
  const other = await app.app.workspaces.create('Other');
  const joe = await createPerson(app, 'joe@people.example', 'owner', other.id);
  const token = tokenOf((await invite(owner, 'joe@people.example', 'viewer')).json.link);
  const outsider = await member(app, 'viewer', 'stranger@people.example');
  for (const visitor of [new SessionClient(app), outsider.visitor]) {
    const refused = await accept(visitor, token, JOE);
    expect([refused.status, refused.json.code]).toEqual([409, 'sign_in_first']);
  }
  expect((await new SessionClient(app).signIn('joe@people.example')).status).toBe(200);
  const visitor = await signInAs(app, joe, other.id);
  const cookie = visitor.cookie;
  const joined = await accept(visitor, token);
  expect(joined.json.me.workspaces.map((one: { role: string }) => one.role).sort()).toEqual([
    'owner',
    'viewer',
  ]);
  expect(visitor.cookie).toBe(cookie);
});

test('with a sending domain the link is only in the email, not in any list', async () => {
  const route = mailboxRoute();
  await using app = await startApp({ liveRoute: route });
  await app.app.domains.trust(app.workspaceId, { name: 'shop.example' });
  const { visitor: owner } = await member(app, 'owner', 'mallory@people.example');
  await owner.call('PATCH', '/me', { body: { name: '<b>{{ contact.email }}</b>' } });
  const made = await invite(owner, 'joe@people.example', 'admin');
  expect([made.json.mailed, made.json.link]).toEqual([true, null]);
  const received = await route.next('joe@people.example');
  expect(received.html).toContain('&lt;b&gt;{{ contact.email }}&lt;/b&gt;');
  expect(received.subject).toBe('<b>{{ contact.email }}</b> invited you to Test on Postrider');
  const token = /invitation#([\w-]{43})"/.exec(received.html)?.[1] as string;
  owner.mode = 'live';
  expect((await owner.call('GET', '/messages')).json.data).toEqual([]);
  const [message] = (await owner.call('GET', '/messages?tag=postrider:system')).json.data;
  const shown = await owner.call('GET', `/messages/${message.id}/content`);
  expect(shown.json.text).toContain('Accept invitation');
  expect(shown.text).not.toContain(token);
  expect((await accept(new SessionClient(app), token, JOE)).status).toBe(200);
});

test('invitation emails are delivered whatever the names of inviter and workspace contain', async () => {
  const route = mailboxRoute();
  await using app = await startApp({ liveRoute: route });
  await app.app.domains.trust(app.workspaceId, { name: 'shop.example' });
  const { visitor: owner, person } = await member(app, 'owner');
  const name = 'Eve\r\nBcc: eve@evil.example\u2028\u0007';
  expect((await owner.call('PATCH', '/me', { body: { name } })).status).toBe(200);
  const workspace = `/workspaces/${encodeId('wsp', app.workspaceId)}`;
  expect((await owner.call('PATCH', workspace, { body: { name: 'Sh\nop' } })).status).toBe(200);
  const made = await invite(owner, 'joe@people.example');
  expect([made.status, made.json.mailed]).toEqual([201, true]);
  expect((await route.next('joe@people.example')).subject).toMatch(
    /^Eve Bcc: eve@evil.example +invited you to Sh op on Postrider$/,
  );
  await new SessionClient(app).call('POST', '/password-resets', { body: { email: person.email } });
  await app.app.people.settled();
  const { rows } = await app.database.pool.query<{ subject: string }>(
    'select subject from messages order by id desc limit 1',
  );
  expect(rows).toEqual([{ subject: 'Reset your Postrider password' }]);
});

test('links expire, are revoked, and are replaced by newer ones', async () => {
  const clock = new ManualClock(Date.now());
  await using app = await startApp({ clock });
  const { visitor: owner } = await member(app, 'owner');
  const [old, newer, late] = [
    await invite(owner, 'joe@people.example'),
    await invite(owner, 'joe@people.example'),
    await invite(owner, 'late@people.example'),
  ];
  const first = await accept(new SessionClient(app), tokenOf(old.json.link), JOE);
  expect(first.json.code).toBe('invalid_link');
  expect((await owner.call('DELETE', `/invitations/${newer.json.id}`)).status).toBe(204);
  const again = await owner.call('DELETE', `/invitations/${newer.json.id}`);
  expect([again.status, again.json.code]).toEqual([409, 'conflict']);
  expect((await accept(new SessionClient(app), tokenOf(newer.json.link), JOE)).json.code).toBe(
    'invalid_link',
  );
  clock.advance(7 * DAY_MS);
  const { visitor } = await member(app, 'admin');
  const lateToken = tokenOf(late.json.link);
  expect((await accept(new SessionClient(app), lateToken, JOE)).json.code).toBe('invalid_link');
  const inspected = await new SessionClient(app).call('POST', '/invitations/inspect', {
    body: { token: lateToken },
  });
  expect(inspected.json.code).toBe('invalid_link');
  const { data } = (await visitor.call('GET', '/invitations')).json;
  expect(data.map((one: { status: string }) => one.status)).toEqual([
    'expired',
    'revoked',
    'revoked',
  ]);
});

test('a bounced invitation has its reason, and a new link replaces the one that was sent', async () => {
  await using app = await startApp({ liveRoute: simulatorTransport(systemClock) });
  await app.app.domains.trust(app.workspaceId, { name: 'shop.example' });
  const { visitor: owner } = await member(app, 'owner');
  const made = await invite(owner, 'bounced@simulator.test');
  expect(made.json).toMatchObject({ mailed: true, delivery: { message_id: expect.any(String) } });
  const { id } = made.json;
  const deliveryOf = async () => (await owner.call('GET', '/invitations')).json.data[0].delivery;
  await until(async () => (await deliveryOf()).status === 'bounced');
  expect(await deliveryOf()).toMatchObject({
    message_id: made.json.delivery.message_id,
    reason: 'unknown_mailbox',
    explanation: expect.stringMatching(/\w/),
  });

  const resent = await owner.call('POST', `/invitations/${id}/resend`);
  expect(resent.json).toMatchObject({ id, status: 'pending', mailed: true, link: null });
  expect(resent.json.delivery.message_id).not.toBe(made.json.delivery.message_id);
  const links: string[] = [];
  for (const _time of [1, 2]) {
    const created = await owner.call('POST', `/invitations/${id}/link`);
    expect(created.json).toMatchObject({ id, mailed: false, delivery: null });
    links.push(tokenOf(created.json.link));
  }
  const [old, current] = links as [string, string];
  expect((await accept(new SessionClient(app), old, JOE)).json.code).toBe('invalid_link');
  expect((await accept(new SessionClient(app), current, JOE)).status).toBe(200);
  for (const action of ['resend', 'link']) {
    const refused = await owner.call('POST', `/invitations/${id}/${action}`);
    expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
  }
});

test('an expired invitation is sent again, by those who may invite with its role', async () => {
  const clock = new ManualClock(Date.now());
  await using app = await startApp({ clock });
  const { visitor: owner } = await member(app, 'owner');
  const { id, link } = (await invite(owner, 'joe@people.example', 'owner')).json;
  clock.advance(7 * DAY_MS);
  const { visitor: admin } = await member(app, 'admin');
  const { visitor: newOwner, person } = await member(app, 'owner', 'new@people.example');
  for (const action of ['resend', 'link']) {
    const refused = await admin.call('POST', `/invitations/${id}/${action}`);
    expect(refused.json.code).toBe('insufficient_role');
  }
  const sent = await newOwner.call('POST', `/invitations/${id}/resend`);
  expect(sent.json).toMatchObject({ status: 'pending', invited_by: person.publicId });
  expect((await accept(new SessionClient(app), tokenOf(link), JOE)).json.code).toBe('invalid_link');
  expect((await accept(new SessionClient(app), tokenOf(sent.json.link), JOE)).status).toBe(200);
});

test('two concurrent uses of one link create one member', async () => {
  await using app = await startApp();
  const { visitor: owner } = await member(app, 'owner');
  const token = tokenOf((await invite(owner, 'joe@people.example')).json.link);
  const answers = await Promise.all(
    [1, 2, 3].map(() => accept(new SessionClient(app), token, JOE)),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect((await owner.call('GET', '/members')).json.data).toHaveLength(2);
});

test('only owners create, change and remove owners', async () => {
  await using app = await startApp();
  const { visitor: owner, person: ownerPerson } = await member(app, 'owner');
  const { visitor: admin, person: adminPerson } = await member(app, 'admin');
  const refused = [
    await invite(admin, 'x@people.example', 'owner'),
    await admin.call('PATCH', `/members/${adminPerson.publicId}`, { body: { role: 'owner' } }),
    await admin.call('PATCH', `/members/${ownerPerson.publicId}`, { body: { role: 'viewer' } }),
    await admin.call('DELETE', `/members/${ownerPerson.publicId}`),
  ];
  expect(refused.map(({ status, json }) => [status, json.code])).toEqual(
    refused.map(() => [403, 'insufficient_role']),
  );
  const promised = await invite(owner, 'next@people.example', 'owner');
  const revoked = await admin.call('DELETE', `/invitations/${promised.json.id}`);
  expect(revoked.json.code).toBe('insufficient_role');
  expect((await invite(admin, 'y@people.example', 'admin')).status).toBe(201);
});

test('role changes and removals apply to the next request', async () => {
  await using app = await startApp();
  const { visitor: owner } = await member(app, 'owner');
  const { visitor: admin, person } = await member(app, 'admin');
  const promised = await invite(admin, 'joe@people.example', 'admin');
  const path = `/members/${person.publicId}`;
  const changed = await owner.call('PATCH', path, { body: { role: 'viewer' } });
  expect([changed.status, changed.json.role]).toEqual([200, 'viewer']);
  expect((await invite(admin, 'y@people.example')).json.code).toBe('insufficient_role');
  const token = tokenOf(promised.json.link);
  expect((await accept(new SessionClient(app), token, JOE)).json.code).toBe('invalid_link');
  expect((await owner.call('DELETE', path)).status).toBe(204);
  expect((await owner.call('DELETE', path)).status).toBe(404);
  expect((await owner.call('PATCH', path, { body: { role: 'viewer' } })).status).toBe(404);
  expect((await admin.call('GET', '/messages')).json.code).toBe('not_a_member');
  expect((await admin.call('GET', '/me')).json.workspaces).toEqual([]);
});

test('the last owner stays, even if two owners remove each other concurrently', async () => {
  await using app = await startApp();
  const { visitor: one, person: first } = await member(app, 'owner', 'one@people.example');
  const workspace = encodeId('wsp', app.workspaceId);
  const alone = [
    await one.call('DELETE', `/members/${first.publicId}`),
    await one.call('PATCH', `/members/${first.publicId}`, { body: { role: 'admin' } }),
    await one.call('POST', `/workspaces/${workspace}/leave`),
  ];
  expect(alone.map(({ status, json }) => [status, json.code])).toEqual(
    alone.map(() => [409, 'last_owner']),
  );
  const { visitor: two, person: second } = await member(app, 'owner', 'two@people.example');
  const answers = await raceForLock(
    app,
    { sql: 'select from memberships for update', values: [] },
    [
      () => one.call('DELETE', `/members/${second.publicId}`),
      () => two.call('DELETE', `/members/${first.publicId}`),
    ],
  );
  expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
  expect(await ownersOf(app)).toBe(1);
});

test('if two members demote or remove each other concurrently, one request fails', async () => {
  await using app = await startApp();
  await member(app, 'owner', 'third@people.example');
  const both = async (role: 'owner' | 'admin') => {
    const [one, two] = [
      await member(app, role, `${role}-one@people.example`),
      await member(app, role, `${role}-two@people.example`),
    ];
    return { one, two };
  };
  const team = { sql: 'select from workspaces for no key update', values: [] };
  const admins = await both('admin');
  const body = { role: 'viewer' };
  const demoted = await raceForLock(app, team, [
    () => admins.one.visitor.call('PATCH', `/members/${admins.two.person.publicId}`, { body }),
    () => admins.two.visitor.call('PATCH', `/members/${admins.one.person.publicId}`, { body }),
  ]);
  expect(demoted.map(({ status, json }) => [status, json.code]).sort()).toEqual([
    [200, undefined],
    [403, 'insufficient_role'],
  ]);
  const owners = await both('owner');
  const removed = await raceForLock(app, team, [
    () => owners.one.visitor.call('DELETE', `/members/${owners.two.person.publicId}`),
    () => owners.two.visitor.call('DELETE', `/members/${owners.one.person.publicId}`),
  ]);
  expect(removed.map(({ status, json }) => [status, json?.code]).sort()).toEqual([
    [204, undefined],
    [403, 'not_a_member'],
  ]);
});

test('a member demoted while a request waits cannot complete it', async () => {
  await using app = await startApp();
  const { visitor: owner } = await member(app, 'owner');
  const { visitor: admin, person } = await member(app, 'admin');
  const { person: other } = await member(app, 'developer');
  const open = await invite(owner, 'joe@people.example');
  const demoting = {
    sql: `with demoted as (update memberships set role = 'viewer' where person_id = $1 returning 1)
      select from workspaces, demoted for no key update of workspaces`,
    values: [person.id],
  };
  const answers = await raceForLock(app, demoting, [
    () => invite(admin, 'jim@people.example'),
    () => admin.call('DELETE', `/invitations/${open.json.id}`),
    () => admin.call('PATCH', `/members/${other.publicId}`, { body: { role: 'admin' } }),
    () => admin.call('DELETE', `/members/${other.publicId}`),
  ]);
  expect(answers.map(({ status, json }) => [status, json?.code])).toEqual(
    answers.map(() => [403, 'insufficient_role']),
  );
  const { data } = (await owner.call('GET', '/invitations')).json;
  expect(data.map((one: { email: string; status: string }) => [one.email, one.status])).toEqual([
    ['joe@people.example', 'pending'],
  ]);
});

test('workspaces are created, renamed and left', async () => {
  await using app = await startApp();
  const { visitor: owner } = await member(app, 'owner');
  const made = await owner.call('POST', '/workspaces', { body: { name: 'Second' } });
  expect([made.status, made.json.role]).toEqual([201, 'owner']);
  const list = await owner.call('GET', '/workspaces');
  expect(list.json.data.map((one: { name: string }) => one.name)).toEqual(['Second', 'Test']);
  const first = await owner.call('GET', '/workspaces?limit=1');
  const rest = await owner.call('GET', `/workspaces?cursor=${first.json.next_cursor}`);
  expect(rest.json.data).toEqual([list.json.data[1]]);

  const path = `/workspaces/${encodeId('wsp', app.workspaceId)}`;
  for (const role of ROLES) {
    const { visitor } = await member(app, role, `${role}2@people.example`);
    const renamed = await visitor.call('PATCH', path, { body: { name: `By ${role}` } });
    const may = role === 'owner' || role === 'admin';
    expect([role, renamed.status]).toEqual([role, may ? 200 : 403]);
    const another = await visitor.call('POST', '/workspaces', { body: { name: 'Another' } });
    expect([role, another.status]).toEqual([role, role === 'owner' ? 201 : 403]);
    const foreign = `/workspaces/${made.json.id}`;
    expect((await visitor.call('PATCH', foreign, { body: { name: 'Mine' } })).status).toBe(404);
    expect((await visitor.call('POST', `${foreign}/leave`)).status).toBe(404);
    expect((await visitor.call('POST', `${path}/leave`)).status).toBe(204);
    expect((await visitor.call('GET', '/members')).json.code).toBe('not_a_member');
  }
});

test('the number of owned workspaces is limited, even with concurrent requests', async () => {
  await using app = await startApp({ env: { WORKSPACES_MAX: '3' } });
  const { visitor: owner } = await member(app, 'owner');
  const make = () => owner.call('POST', '/workspaces', { body: { name: 'Another' } });
  const row = { sql: 'lock table workspaces in share row exclusive mode', values: [] };
  const answers = await raceForLock(app, row, [make, make, make]);
  expect(answers.map(({ status, json }) => [status, json.code]).sort()).toEqual([
    [201, undefined],
    [201, undefined],
    [429, 'quota_exceeded'],
  ]);
  expect((await make()).json.detail).toContain('At most 3 workspaces');
  expect(await ownersOf(app)).toBe(3);
});

test('a second account of an owner cannot exceed the limit', async () => {
  await using app = await startApp({ env: { WORKSPACES_MAX: '3' } });
  const { visitor: owner } = await member(app, 'owner');
  const { visitor: other } = await member(app, 'owner', 'other@people.example');
  const make = (visitor: SessionClient) =>
    visitor.call('POST', '/workspaces', { body: { name: 'Another' } });
  expect((await make(owner)).status).toBe(201);
  expect((await make(other)).status).toBe(201);
  const first = `/workspaces/${other.workspace}`;
  expect((await other.call('POST', `${first}/leave`)).status).toBe(204);
  for (const visitor of [owner, other]) {
    expect((await make(visitor)).json.code).toBe('quota_exceeded');
  }
  // Workspaces created by the operator do not count.
  const { id } = await app.app.workspaces.create('Of the operator');
  await app.database.pool.query(
    `insert into memberships (workspace_id, person_id, role, created_at)
     select $1, id, 'owner', now() from people where email = 'other@people.example'`,
    [id],
  );
  expect((await make(other)).status).toBe(201);
  expect((await make(owner)).status).toBe(429);
});

test('members are paginated', async () => {
  await using app = await startApp();
  const { visitor } = await member(app, 'viewer');
  for (const role of ROLES) await createPerson(app, `${role}3@people.example`, role);
  const all = (await visitor.call('GET', '/members')).json.data;
  expect(all).toHaveLength(5);
  const first = await visitor.call('GET', '/members?limit=2');
  const second = await visitor.call('GET', `/members?limit=2&cursor=${first.json.next_cursor}`);
  expect([...first.json.data, ...second.json.data]).toEqual(all.slice(0, 4));
});

async function ownersOf(app: TestApp): Promise<number> {
  const { rows } = await app.database.pool.query<{ owners: number }>(
    `select count(*) as owners from memberships where role = 'owner'`,
  );
  return rows[0]?.owners ?? 0;
}
