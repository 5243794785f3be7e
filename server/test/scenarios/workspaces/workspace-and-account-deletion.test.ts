import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertMembership } from '../../../src/accounts/people/member-store.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { WorkspacePurges } from '../../../src/privacy/workspace-purges.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import {
  createPerson,
  PASSWORD,
  SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { mailboxRoute } from '../../harness/delivery/mailbox-route.ts';
import { until } from '../../harness/until.ts';

/**
 * Owners delete a workspace and can restore it for a week; then it and its accounts are gone. The same
 * holds for people and their own account, unless a workspace would have no owner.
 */

const DAY_MS = 86_400_000;
const route = mailboxRoute();
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ liveRoute: route });
});
afterAll(() => app[Symbol.asyncDispose]());

/** A workspace with a sending domain, a live key and an owner. */
async function newWorkspace(name: string) {
  const { id } = await app.app.workspaces.create(name);
  await app.app.domains.trust(id, { name: 'example.org' });
  const person = await createPerson(app, `${name.toLowerCase()}@owners.example`, 'owner', id);
  return {
    id,
    path: `/workspaces/${encodeId('wsp', id)}/deletion`,
    publicId: encodeId('wsp', id),
    key: await app.newKey({ workspaceId: id, mode: 'live' }),
    owner: await signInAs(app, person, id),
    person,
  };
}

const send = (key: string) =>
  app.call('POST', '/transactional/send', { key, body: validMessage() });

async function command(...args: string[]) {
  const env = databaseEnv(app.database);
  const result = await runPostrider(['workspaces', ...args, '--json'], { env });
  return { ...result, json: result.stdout === '' ? undefined : JSON.parse(result.stdout) };
}

test('an owner deletes a workspace and restores it; no one else can', async () => {
  const { id, path, key, owner } = await newWorkspace('Shop');
  const admin = await signInAs(app, await createPerson(app, 'admin@shop.example', 'admin', id), id);
  const { owner: stranger } = await newWorkspace('Elsewhere');
  const remove = (by: SessionClient, name = 'Shop') => by.call('POST', path, { body: { name } });
  for (const [by, name, status, code] of [
    [owner, 'shop', 422, 'validation_failed'],
    [admin, 'Shop', 403, 'insufficient_role'],
    [stranger, 'Shop', 404, 'not_found'],
  ] as const) {
    const refused = await remove(by, name);
    expect([refused.status, refused.json.code]).toEqual([status, code]);
  }
  expect((await send(key)).status).toBe(202);

  const deleted = await remove(owner);
  expect([deleted.status, deleted.json.deletion]).toEqual([202, expect.any(Object)]);
  const { requested_at, delete_at } = deleted.json.deletion;
  expect(Date.parse(delete_at) - Date.parse(requested_at)).toBe(7 * DAY_MS);
  expect((await remove(owner)).json.code).toBe('conflict');
  await until(async () => (await send(key)).status === 403);
  const held = await send(key);
  expect(held.json).toMatchObject({ code: 'workspace_suspended' });
  expect(held.json.detail).toContain('scheduled for deletion');
  // Everything can still be read and exported.
  owner.mode = 'live';
  expect((await owner.call('GET', '/messages/export?format=ndjson')).status).toBe(200);
  const mine = (await owner.call('GET', '/me')).json.workspaces;
  expect(mine).toMatchObject([{ name: 'Shop', deletion: { delete_at }, suspended: null }]);

  expect((await admin.call('DELETE', path)).json.code).toBe('insufficient_role');
  const restored = await owner.call('DELETE', path);
  expect([restored.status, restored.json.deletion]).toEqual([200, null]);
  await until(async () => (await send(key)).status === 202);
});

test('after a week everything is deleted, and the operator sees it', async () => {
  const { path, publicId, key, owner, person } = await newWorkspace('Gone');
  await send(key);
  await until(() => route.arrived.length > 0);
  await owner.call('POST', path, { body: { name: 'Gone' } });
  const states = async () => {
    const { json } = await command('deletions');
    return json.data.find((one: { workspace_id: string }) => one.workspace_id === publicId);
  };
  expect(await states()).toMatchObject({ state: 'scheduled', finished_at: null });

  const clock = new ManualClock(Date.now() + 8 * DAY_MS);
  const purges = new WorkspacePurges({ pool: app.database.pool, clock, log: silentLog });
  await purges.work();
  expect(await states()).toMatchObject({ state: 'deleting', deleted_rows: { people: 1 } });
  // Keys and sessions end at once, also where they were cached.
  await until(async () => (await send(key)).status === 401);
  expect((await owner.call('GET', '/me')).status).toBe(401);
  expect((await new SessionClient(app).signIn(person.email)).status).toBe(401);
  expect((await command('restore', publicId)).stderr).toContain('already being deleted');
  await until(async () => {
    clock.advance(60_000);
    await purges.work();
    return (await states()).state === 'deleted';
  });
  expect((await command('list')).stdout).not.toContain(publicId);
});

test('the operator deletes and restores a workspace at the command line', async () => {
  const { publicId } = await newWorkspace('Tenant');
  for (const [args, message] of [
    [['delete', 'Tenant'], '--confirm'],
    [['delete', 'Tenant', '--confirm', 'tenant'], 'must be the name of the workspace'],
    [['delete', 'Nobody', '--confirm', 'Nobody'], 'not found'],
  ] as const) {
    const refused = await command(...args);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(message)]);
  }
  const deleted = await command('delete', 'Tenant', '--confirm', 'Tenant');
  expect(deleted.json).toMatchObject({ id: publicId, deletion: { delete_at: expect.any(String) } });
  const listed = await runPostrider(['workspaces', 'list'], { env: databaseEnv(app.database) });
  expect(listed.stdout).toMatch(new RegExp(`${publicId} .* deleting `));
  expect((await command('restore', 'Tenant')).json).toMatchObject({ deletion: null });
  const now = await command('delete', 'Tenant', '--confirm', 'Tenant', '--now');
  expect(Date.parse(now.json.deletion.delete_at)).toBeLessThanOrEqual(Date.now());
});

test('the last workspace and the last account cannot be deleted', async () => {
  await using alone = await startApp();
  const person = await createPerson(alone, 'jane@owners.example', 'owner');
  const owner = await signInAs(alone, person);
  const path = `/workspaces/${encodeId('wsp', alone.workspaceId)}/deletion`;
  const refused = await owner.call('POST', path, { body: { name: 'Test' } });
  expect([refused.status, refused.json.code]).toEqual([409, 'last_workspace']);

  const body = { password: PASSWORD };
  const second = await alone.app.workspaces.create('Second');
  expect((await owner.call('POST', path, { body: { name: 'Test' } })).status).toBe(202);
  const [first] = await alone.app.workspaces.list();
  expect((await alone.app.workspaces.first())?.id).toBe(second.id);
  expect(first?.deletion).not.toBeNull();
  const last = await owner.call('POST', '/me/deletion', { body });
  expect([last.status, last.json.code]).toEqual([409, 'conflict']);
});

test('an account can be restored for a week; then it is deleted', async () => {
  const { id, person, owner } = await newWorkspace('Studio');
  const other = await createPerson(app, 'partner@studio.example', 'admin', id);
  const partner = await signInAs(app, other, id);
  await owner.call('POST', '/invitations', {
    body: { email: 'new@studio.example', role: 'admin' },
  });
  await app.database.pool.query(
    `update invitations set email_key = $2, email = $2, accepted_at = now()
     where workspace_id = $1`,
    [id, person.email],
  );
  const exported = await owner.call('GET', '/me/export');
  expect(exported.json).toMatchObject({
    user: { email: person.email, workspaces: [{ name: 'Studio' }] },
    passkeys: [],
    sessions: [{ current: true }],
  });

  // It is refused while the workspace would have no owner who stays.
  const remove = (by: SessionClient, password = PASSWORD) =>
    by.call('POST', '/me/deletion', { body: { password } });
  const wrong = await remove(owner, 'a wrong guess');
  expect(wrong.json.errors).toMatchObject([{ pointer: '/password', code: 'wrong_password' }]);
  const refused = await remove(owner);
  expect([refused.status, refused.json.code]).toEqual([409, 'last_owner']);
  expect(refused.json.detail).toContain('"Studio"');
  await app.database.pool.query(
    `update memberships set role = 'owner' where workspace_id = $1 and person_id = $2`,
    [id, other.id],
  );
  const scheduled = await remove(owner);
  expect(scheduled.status).toBe(202);
  const { delete_at } = scheduled.json;
  expect(owner.cookie).toBeUndefined();
  const asOther = await partner.call('GET', '/members');
  expect(asOther.json.data).toMatchObject([{ delete_at: null }, { delete_at }]);
  expect((await remove(partner)).json.code).toBe('last_owner');
  const demoted = { body: { role: 'admin' } };
  const demotion = await partner.call('PATCH', `/members/${other.publicId}`, demoted);
  expect(demotion.json.code).toBe('last_owner');
  const { json: log } = await partner.call('GET', '/audit-log?action=deleteMe');
  expect(log.data).toMatchObject([{ actor: { id: person.publicId } }]);

  // The owner gets an email about it: once, and also if the server stopped before it was submitted.
  const { accountDeletion, settled } = app.app.people;
  const emails = async () => {
    await settled();
    const { rows } = await app.database.pool.query(
      `select deletion_email_due_at as due, (
         select count(*)::int from deliveries d where d.recipient = p.email) as count
       from people p where id = $1`,
      [person.id],
    );
    return rows;
  };
  expect(await emails()).toEqual([{ due: null, count: 1 }]);
  await app.database.pool.query(
    `update people set deletion_email_due_at = now() - interval '1 minute' where id = $1`,
    [person.id],
  );
  await accountDeletion.sendDueEmails();
  expect(await emails()).toEqual([{ due: null, count: 2 }]);
  await accountDeletion.sendDueEmails();
  expect(await emails()).toEqual([{ due: null, count: 2 }]);
  expect(JSON.stringify(await route.next(person.email))).toContain('will be deleted after');

  // It can be restored.
  const again = await signInAs(app, person, id);
  expect((await again.call('GET', '/me')).json.delete_at).toBe(delete_at);
  const restored = await again.call('DELETE', '/me/deletion');
  expect([restored.status, restored.json.delete_at]).toEqual([200, null]);
  const deleteDue = () => accountDeletion.deleteDue();
  await deleteDue();
  expect((await again.call('GET', '/me')).status).toBe(200);

  // After a week it is deleted, unless it has become the only owner of a workspace meanwhile.
  await remove(again);
  await deleteDue();
  const signInStatus = async () => (await new SessionClient(app).signIn(person.email)).status;
  expect(await signInStatus()).toBe(200);
  const { pool } = app.database;
  await pool.query(`update people set delete_at = delete_at - interval '8 days' where id = $1`, [
    person.id,
  ]);
  const late = await app.app.workspaces.create('Late');
  const role = { workspaceId: late.id, personId: person.id, role: 'owner' as const };
  await insertMembership(pool, { ...role, createdAtMs: Date.now() });
  await deleteDue();
  expect(await signInStatus()).toBe(200);
  await createPerson(app, 'heir@late.example', 'owner', late.id);
  await deleteDue();
  expect(await signInStatus()).toBe(401);
  expect((await partner.call('GET', '/members')).json.data).toMatchObject([{ email: other.email }]);
  const { rows } = await pool.query('select from invitations where email_key = $1', [person.email]);
  expect(rows).toEqual([]);
});
