import { expect, test } from 'vitest';
import { deleteOldMovedWorkspaces } from '../../../src/accounts/moved-workspace-store.ts';
import { deletePeopleWithoutWorkspace } from '../../../src/accounts/people/person-store.ts';
import { inTransaction } from '../../../src/db/connections/pool.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import type { TestResponse } from '../../harness/app.ts';
import { createPerson, SessionClient, signInAs } from '../../harness/browser/dashboard-session.ts';
import { type Cells, move, purge, startCells, withPool } from '../../harness/database/cells.ts';

/**
 * A workspace has moved. Its members and the holders of its keys and invitations, who still come to the
 * first cell, learn the address of the second one; others learn nothing. When the workspace is back,
 * everything is as before.
 */

const urlOf = (cell: string): string => `http://${cell}.postrider.test`;

const answerOf = ({ status, json }: TestResponse) => [status, json.code, json.moved_to];
const MOVED = [403, 'workspace_moved', urlOf('west')];

async function signIn(cells: Cells, cell: string, email: string): Promise<SessionClient> {
  const client = new SessionClient(cells.app(cell));
  expect((await client.signIn(email)).status).toBe(200);
  return client;
}

test('former members and holders of keys find the new address of a workspace', async () => {
  await using cells = await startCells(['east', 'west'], (cell) => ({ BASE_URL: urlOf(cell) }));
  const east = cells.app('east');
  const { workspaceId: id, liveKey: key } = east;
  const publicId = encodeId('wsp', id);
  const other = await east.app.workspaces.create('Other');
  const strangerKey = await east.newKey({ workspaceId: other.id });
  // The account of each is a member of other workspaces: of none, at the source, at the target.
  const only = await createPerson(east, 'only@shop.example', 'owner');
  await createPerson(east, 'both@shop.example', 'viewer');
  await createPerson(cells.app('west'), 'both@shop.example', 'viewer');
  const stranger = await createPerson(east, 'stranger@shop.example', 'owner', other.id);
  const open = await signInAs(east, only);
  const invited = await open.call('POST', '/invitations', {
    body: { email: 'new@shop.example', role: 'viewer' },
  });
  const token = String(invited.json.link).split('#')[1];
  const inspect = (cell: string) =>
    new SessionClient(cells.app(cell)).call('POST', '/invitations/inspect', { body: { token } });
  expect((await inspect('east')).status).toBe(200);
  const revoked = await open.call('POST', '/api-keys', { body: { name: 'Old', mode: 'test' } });
  expect(typeof revoked.json.token).toBe('string');
  await open.call('DELETE', `/api-keys/${revoked.json.id}`);

  const routed = async () => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${cells.router.url}/api/v1/events`, { headers })).status;
  };
  expect(await routed()).toBe(200);

  await move(cells, id, 'east', 'west');
  const callWith = (secret: string) => east.call('GET', '/events', { key: secret });
  const check = async () => {
    const refused = await callWith(key);
    expect(answerOf(refused)).toEqual(MOVED);
    expect(refused.json.detail).toBe(`Workspace "Test" has moved to ${urlOf('west')}.`);
    expect(answerOf(await callWith(east.testKey))).toEqual(MOVED);
    expect(answerOf(await callWith(revoked.json.token))[1]).toBe('invalid_api_key');
    expect((await callWith(strangerKey)).status).toBe(200);
    expect(answerOf(await inspect('east'))).toEqual(MOVED);
    const asStranger = await signInAs(east, stranger, id);
    expect(answerOf(await asStranger.call('GET', '/events'))).toEqual([
      403,
      'not_a_member',
      undefined,
    ]);
    expect((await asStranger.call('GET', '/me')).json.moved_workspaces).toEqual([]);
  };
  await check();
  // A session from before the move.
  expect(answerOf(await open.call('GET', '/events'))).toEqual(MOVED);
  await purge(cells.database, 'east', id);
  await check();
  // Nor does the end of another workspace of theirs end the account.
  await withPool(cells.database, 'east', async (pool) => {
    const remove = inTransaction(pool, (db) => deletePeopleWithoutWorkspace(db, [only.id]));
    expect(await remove).toBe(0);
  });
  const record = { id: publicId, name: 'Test', url: urlOf('west') };
  for (const email of ['only@shop.example', 'both@shop.example']) {
    const former = await signIn(cells, 'east', email);
    const { json } = await former.call('GET', '/me');
    expect(json.workspaces).toEqual([]);
    expect(json.moved_workspaces).toMatchObject([record]);
    // The same password, and the same role.
    const member = await signIn(cells, 'west', email);
    const me = (await member.call('GET', '/me')).json;
    const ids = me.workspaces.map((workspace: { id: string }) => workspace.id);
    expect(ids).toContain(publicId);
    expect(me.moved_workspaces).toEqual([]);
  }
  expect((await inspect('west')).status).toBe(200);
  // The router takes the refusal for what it is: the key is elsewhere.
  expect(await routed()).toBe(200);

  await move(cells, id, 'west', 'east');
  expect((await callWith(key)).status).toBe(200);
  expect((await inspect('east')).status).toBe(200);
  const back = await signIn(cells, 'east', 'only@shop.example');
  const { json } = await back.call('GET', '/me');
  expect(json.workspaces).toMatchObject([{ id: publicId, role: 'owner' }]);
  expect(json.moved_workspaces).toEqual([]);
  expect(answerOf(await cells.app('west').call('GET', '/events', { key }))[2]).toBe(urlOf('east'));

  // In the end the record is deleted, with the accounts that are in no other workspace there.
  await purge(cells.database, 'west', id);
  await withPool(cells.database, 'west', async (pool) => {
    const people = async () =>
      (await pool.query('select email from people order by email')).rows.map(({ email }) => email);
    expect(await people()).toEqual(['both@shop.example', 'only@shop.example']);
    await deleteOldMovedWorkspaces(pool, Date.now() + 1_000);
    expect(await people()).toEqual(['both@shop.example']);
  });
  const late = await cells.app('west').call('GET', '/events', { key });
  expect(answerOf(late)).toEqual([401, 'invalid_api_key', undefined]);
}, 120_000);
