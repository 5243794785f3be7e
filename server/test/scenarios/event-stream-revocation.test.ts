import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '../../src/lib/manual-clock.ts';
import { validMessage, startApp, type TestApp } from '../harness/app.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { type EventSourceReader, openEventSource } from '../harness/event-source-reader.ts';
import { until } from '../harness/until.ts';
import { createPerson, signInAs, type SessionClient } from '../harness/dashboard-session.ts';

/**
 * Goal: whoever may no longer read events stops seeing them at once, on whichever node they read.
 * Method: two servers on one database. The person reads from the second; what ends the right is done
 * at the first. Nothing but the end of the stream can answer: its own lifetime is an hour.
 */

let database: TestDatabase;
let here: TestApp;
let there: TestApp;
let people = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  const streams = { lifetimeMs: 3_600_000 };
  here = await startApp({ database, streams });
  there = await startApp({ database, streams });
});
afterAll(async () => {
  await there[Symbol.asyncDispose]();
  await here[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

interface Scene {
  personId: string;
  /** Acts at the first node. */
  visitor: SessionClient;
  reader: EventSourceReader;
}

async function somebodyReads(): Promise<Scene> {
  people += 1;
  const person = await createPerson(here, `reader${people}@people.example`, 'developer');
  const visitor = await signInAs(here, person);
  return { personId: person.publicId, visitor, reader: await readAs(there, visitor) };
}

const readAs = (app: TestApp, visitor: SessionClient) =>
  openEventSource(`${app.url}/api/v1/events/stream`, {
    cookie: visitor.cookie as string,
    'postrider-workspace': visitor.workspace as string,
    'postrider-mode': visitor.mode,
  });

async function theOwner(): Promise<SessionClient> {
  people += 1;
  return signInAs(here, await createPerson(here, `owner${people}@people.example`, 'owner'));
}

const ended = ({ reader }: Scene) =>
  until(() => reader.ended, { what: 'the stream has ended', timeoutMs: 5_000 });

test('signing out ends what the session reads', async () => {
  const scene = await somebodyReads();
  const cookie = scene.visitor.cookie;
  expect((await scene.visitor.call('DELETE', '/session')).status).toBe(204);
  await ended(scene);
  scene.visitor.cookie = cookie;
  await expect(readAs(there, scene.visitor)).rejects.toThrow('401');
});

test('one session signed out from another, and all of them at once', async () => {
  const scene = await somebodyReads();
  const { json } = await scene.visitor.call('GET', '/me/sessions');
  await scene.visitor.call('DELETE', `/me/sessions/${json.data[0].id}`);
  await ended(scene);

  const other = await somebodyReads();
  expect((await other.visitor.call('DELETE', '/me/sessions')).status).toBe(204);
  await ended(other);
});

test('a new password ends what was read under the old one', async () => {
  const scene = await somebodyReads();
  const body = { current_password: 'tulip freight oboe', new_password: 'another oboe, freighted' };
  expect((await scene.visitor.call('POST', '/me/password', { body })).status).toBeLessThan(300);
  await ended(scene);
});

test('who is removed from the workspace, or leaves it, reads no more', async () => {
  const removed = await somebodyReads();
  const owner = await theOwner();
  expect((await owner.call('DELETE', `/members/${removed.personId}`)).status).toBe(204);
  await ended(removed);
  await expect(readAs(there, removed.visitor)).rejects.toThrow('403');

  const leaving = await somebodyReads();
  const path = `/workspaces/${leaving.visitor.workspace}/leave`;
  expect((await leaving.visitor.call('POST', path)).status).toBe(204);
  await ended(leaving);
});

test('a new role is asked for again; one that may still read comes back', async () => {
  const scene = await somebodyReads();
  const owner = await theOwner();
  const body = { role: 'viewer' };
  expect((await owner.call('PATCH', `/members/${scene.personId}`, { body })).status).toBe(200);
  await ended(scene);
  (await readAs(there, scene.visitor)).close();
});

test('others go on reading', async () => {
  const scene = await somebodyReads();
  const other = await somebodyReads();
  await scene.visitor.call('DELETE', '/session');
  await ended(scene);
  await here.call('POST', '/transactional/send', { body: validMessage() });
  await until(() => other.reader.events.length > 0);
  other.reader.close();
});

test('a session that runs out takes its stream with it', async () => {
  const clock = new ManualClock(Date.now());
  const streams = { lifetimeMs: 365 * 86_400_000, heartbeatMs: 365 * 86_400_000 };
  await using late = await startApp({ clock, streams });
  const person = await createPerson(late, 'late@people.example', 'viewer');
  const visitor = await signInAs(late, person);
  const reader = await readAs(late, visitor);
  clock.advance(7 * 86_400_000 - 1_000);
  await late.call('GET', '/limits');
  expect(reader.ended).toBe(false);
  clock.advance(1_000);
  await until(() => reader.ended, { what: 'the stream has ended', timeoutMs: 5_000 });
});

test('a key that runs out takes its stream with it', async () => {
  const clock = new ManualClock(Date.now());
  const streams = { lifetimeMs: 365 * 86_400_000, heartbeatMs: 365 * 86_400_000 };
  await using late = await startApp({ clock, streams });
  const expiresAt = new Date(clock.now() + 300_000).toISOString();
  const { json } = await late.call('POST', '/api-keys', {
    body: { name: 'For five minutes', expires_at: expiresAt },
  });
  const reader = await openEventSource(`${late.url}/api/v1/events/stream`, json.token);
  clock.advance(300_000 - 1_000);
  await late.call('GET', '/limits');
  expect(reader.ended).toBe(false);
  clock.advance(1_000);
  await until(() => reader.ended, { what: 'the stream has ended', timeoutMs: 5_000 });
});
