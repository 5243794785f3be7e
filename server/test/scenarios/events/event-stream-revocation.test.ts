import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import {
  createPerson,
  type SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { type EventSourceReader, openEventSource } from '../../harness/http/event-source-reader.ts';
import { until } from '../../harness/until.ts';

/**
 * Event streams end immediately when the reader loses access, on every node. Two servers share a
 * database: the stream is open on the second, and access ends through the first. The stream's own
 * lifetime is an hour.
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
  /** A client of the first node. */
  visitor: SessionClient;
  reader: EventSourceReader;
}

async function openStream(): Promise<Scene> {
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

const ended = ({ reader }: Scene) => until(() => reader.ended, { what: 'the stream has ended' });

test('signing out ends the streams of the session', async () => {
  const scene = await openStream();
  const cookie = scene.visitor.cookie;
  expect((await scene.visitor.call('DELETE', '/session')).status).toBe(204);
  await ended(scene);
  scene.visitor.cookie = cookie;
  await expect(readAs(there, scene.visitor)).rejects.toThrow('401');
});

test('signing out one session from another, or all sessions, ends their streams', async () => {
  const scene = await openStream();
  const { json } = await scene.visitor.call('GET', '/me/sessions');
  await scene.visitor.call('DELETE', `/me/sessions/${json.data[0].id}`);
  await ended(scene);

  const other = await openStream();
  expect((await other.visitor.call('DELETE', '/me/sessions')).status).toBe(204);
  await ended(other);
});

test('a password change ends the streams of other sessions', async () => {
  const scene = await openStream();
  const body = { current_password: 'tulip freight oboe', new_password: 'another oboe, freighted' };
  expect((await scene.visitor.call('POST', '/me/password', { body })).status).toBeLessThan(300);
  await ended(scene);
});

test('removing or leaving a membership ends its streams', async () => {
  const removed = await openStream();
  const owner = await theOwner();
  expect((await owner.call('DELETE', `/members/${removed.personId}`)).status).toBe(204);
  await ended(removed);
  await expect(readAs(there, removed.visitor)).rejects.toThrow('403');

  const leaving = await openStream();
  const path = `/workspaces/${leaving.visitor.workspace}/leave`;
  expect((await leaving.visitor.call('POST', path)).status).toBe(204);
  await ended(leaving);
});

test('a role change ends the stream; a role that may still read can reconnect', async () => {
  const scene = await openStream();
  const owner = await theOwner();
  const body = { role: 'viewer' };
  expect((await owner.call('PATCH', `/members/${scene.personId}`, { body })).status).toBe(200);
  await ended(scene);
  (await readAs(there, scene.visitor)).close();
});

test('streams of others continue', async () => {
  const scene = await openStream();
  const other = await openStream();
  await scene.visitor.call('DELETE', '/session');
  await ended(scene);
  await here.call('POST', '/transactional/send', { body: validMessage() });
  await until(() => other.reader.events.length > 0);
  other.reader.close();
});

test('an expired session ends its stream', async () => {
  const clock = new ManualClock(Date.now());
  const streams = { lifetimeMs: 365 * 86_400_000, heartbeatMs: 365 * 86_400_000 };
  await using late = await startApp({ clock, streams });
  const person = await createPerson(late, 'late@people.example', 'viewer');
  const visitor = await signInAs(late, person);
  const first = await readAs(late, visitor);
  clock.advance(7 * 86_400_000 - 1_000);
  await late.call('GET', '/limits');
  // Notifications of the keys that were created at the start may arrive late.
  const reader = first.ended ? await readAs(late, visitor) : first;
  expect(reader.ended).toBe(false);
  clock.advance(1_000);
  await until(() => reader.ended, { what: 'the stream has ended' });
});

test('an expired key ends its stream', async () => {
  const clock = new ManualClock(Date.now());
  const streams = { lifetimeMs: 365 * 86_400_000, heartbeatMs: 365 * 86_400_000 };
  await using late = await startApp({ clock, streams });
  const expiresAt = new Date(clock.now() + 300_000).toISOString();
  const { json } = await late.call('POST', '/api-keys', {
    body: { name: 'For five minutes', expires_at: expiresAt },
  });
  const open = () => openEventSource(`${late.url}/api/v1/events/stream`, json.token);
  const first = await open();
  clock.advance(300_000 - 1_000);
  await late.call('GET', '/limits');
  // The notification of a new key ends the streams of its workspace too, and may arrive late.
  const reader = first.ended ? await open() : first;
  expect(reader.ended).toBe(false);
  clock.advance(1_000);
  await until(() => reader.ended, { what: 'the stream has ended' });
});
