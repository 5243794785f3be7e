import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { createPerson, member, signInAs } from '../../harness/browser/dashboard-session.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';

/** No response shows a caller what another operation would refuse to show. */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

test('a dry run shows contact fields only with read:contacts', async () => {
  const body = { email: 'jane@example.com', locale: 'de', attributes: { iban: 'DE02' } };
  expect((await app.call('POST', '/contacts', { body })).status).toBe(201);
  const key = await app.newKey({ scopes: ['send:transactional'] });
  const reader = await app.newKey({ scopes: ['send:transactional', 'read:contacts'] });
  const dryRun = (as: string, changes: object) =>
    app.call('POST', '/transactional/dry-run', { key: as, body: validMessage({ ...changes }) });
  for (const changes of [
    { html: '<p>{{ contact.iban }}</p>' },
    { subject: '${contact.iban}' },
    { text: '{{ contact.locale | default: "x" }}' },
    { headers: { 'X-Note': '${contact.iban}' } },
  ]) {
    const refused = await dryRun(key, changes);
    expect([refused.status, refused.json.code]).toEqual([403, 'insufficient_scope']);
    expect(refused.text).not.toContain('DE02');
    expect((await dryRun(reader, changes)).status).toBe(200);
  }
  expect((await dryRun(key, {})).status).toBe(200);
  const sent = { key, body: validMessage({ html: '<p>{{ contact.iban }}</p>' }) };
  expect((await app.call('POST', '/transactional/send', sent)).status).toBe(202);
});

test('the link of an invitation is replayed only to its creator', async () => {
  const { visitor: owner } = await member(app, 'owner');
  const { visitor: admin } = await member(app, 'admin');
  const request = {
    body: { email: 'new@people.example', role: 'owner' },
    headers: { 'idempotency-key': 'invite-once' },
  };
  const first = await owner.call('POST', '/invitations', request);
  expect(first.status).toBe(201);
  expect((await owner.call('POST', '/invitations', request)).json.link).toBe(first.json.link);
  const stolen = await admin.call('POST', '/invitations', request);
  expect([stolen.status, stolen.json.code]).toEqual([422, 'idempotency_key_reused']);
});

test('the command line gives a workspace an owner, on creation and later', async () => {
  const person = await createPerson(app, 'tenant@people.example');
  const run = (...args: string[]) =>
    runPostrider(['workspaces', ...args], { env: databaseEnv(app.database) });
  const created = await run('create', 'Owned', '--owner', 'tenant@people.example');
  expect([created.code, created.stdout]).toEqual([0, expect.stringContaining('owned by tenant@')]);
  expect((await run('create', 'Orphan')).code).toBe(0);
  const unknown = await run('add-owner', 'Orphan', 'nobody@people.example');
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('No user')]);
  expect((await run('add-owner', 'Orphan', 'tenant@people.example')).code).toBe(0);
  const tenant = await signInAs(app, person);
  const { data } = (await tenant.call('GET', '/workspaces')).json;
  expect(data.map((one: { name: string; role: string }) => [one.name, one.role])).toEqual([
    ['Orphan', 'owner'],
    ['Owned', 'owner'],
  ]);
});
