import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
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

/**
 * A link in the user's own mailbox sets a new password, once; neither the requester nor members who can read
 * the workspace's messages learn anything.
 */

const HOUR_MS = 3_600_000;
const NEW = 'kettle rain ladders';

async function tokenIn(app: TestApp, route: ReturnType<typeof mailboxRoute>, email: string) {
  await new SessionClient(app).call('POST', '/password-resets', { body: { email } });
  const { html } = await route.next(email);
  return /\/app\/reset-password#([\w-]{43})"/.exec(html)?.[1] as string;
}

function complete(app: TestApp, token: string, password = NEW) {
  return new SessionClient(app).call('POST', '/password-resets/complete', {
    body: { token, password },
  });
}

test('the link is sent by the service itself and sets a new password, once', async () => {
  const route = mailboxRoute();
  await using app = await startApp({ liveRoute: route });
  await app.app.domains.trust(app.workspaceId, { name: 'shop.example' });
  const person = await createPerson(app, 'jane@people.example', 'viewer');
  const session = await signInAs(app, person);

  const [first, token] = [
    await tokenIn(app, route, 'jane@people.example'),
    await tokenIn(app, route, 'jane@people.example'),
  ];
  const [mail] = route.arrived;
  expect(mail?.content.head.from.email).toBe('postrider@shop.example');
  expect(mail?.content.html).toContain(`http://postrider.test/app/reset-password#${first}`);

  expect((await complete(app, token, 'password123')).json.errors).toMatchObject([
    { pointer: '/password', code: 'weak_password' },
  ]);
  expect((await complete(app, token)).status).toBe(204);
  for (const used of [token, first]) {
    const again = await complete(app, used, 'another good one');
    expect([again.status, again.json.code]).toEqual([422, 'invalid_link']);
  }
  expect((await session.call('GET', '/me')).json.code).toBe('invalid_session');
  expect((await new SessionClient(app).signIn(person.email)).status).toBe(401);
  expect((await new SessionClient(app).signIn(person.email, NEW)).status).toBe(200);
});

test('older links are invalid after a password change', async () => {
  const route = mailboxRoute();
  await using app = await startApp({ liveRoute: route });
  await app.app.domains.trust(app.workspaceId, { name: 'shop.example' });
  const person = await createPerson(app, 'jane@people.example', 'viewer');
  const token = await tokenIn(app, route, person.email);
  const session = await signInAs(app, person);
  const body = { current_password: PASSWORD, new_password: NEW };
  expect((await session.call('POST', '/me/password', { body })).status).toBe(204);
  const late = await complete(app, token, 'another good one');
  expect([late.status, late.json.code]).toEqual([422, 'invalid_link']);
  expect((await new SessionClient(app).signIn(person.email, NEW)).status).toBe(200);
});

test('pending sign-ins end when the password is reset', async () => {
  await using app = await startApp();
  const { visitor, person } = await member(app, 'owner');
  const sets = {
    sql: `update people set password_hash = 'another' where id = $1`,
    values: [person.id],
  };
  const body = { current_password: PASSWORD, new_password: NEW };
  const answers = await raceForLock(app, sets, [
    () => new SessionClient(app).signIn(person.email),
    () => visitor.call('POST', '/me/password', { body }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([401, 422]);
  expect(answers[1]?.json.errors).toMatchObject([{ code: 'wrong_password' }]);
});

test('the email is listed apart from other messages, with the link redacted', async () => {
  const route = mailboxRoute();
  await using app = await startApp({ liveRoute: route });
  await app.app.domains.trust(app.workspaceId, { name: 'shop.example' });
  await createPerson(app, 'jane@people.example', 'owner');
  const token = await tokenIn(app, route, 'jane@people.example');
  const { visitor: reader } = await member(app, 'viewer');
  reader.mode = 'live';
  expect((await reader.call('GET', '/messages')).json.data).toEqual([]);
  const [message] = (await reader.call('GET', '/messages?tag=postrider:system')).json.data;
  expect(message.subject).toBe('Reset your Postrider password');
  for (const path of ['', '/content', '/raw', '/attempts']) {
    const answer = await reader.call('GET', `/messages/${message.id}${path}`);
    expect(answer.text).not.toContain(token);
    expect([path, answer.status]).toEqual([path, 200]);
  }
  const { rows } = await app.database.pool.query('select c::text as row from message_contents c');
  expect(JSON.stringify(rows)).not.toContain(token);
  const events = await reader.call('GET', '/events');
  expect(events.text).toContain(message.id);
  expect(events.text).not.toContain(token);
});

test('without a sending domain, the link is in the log', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });
  await using app = await startApp({ log });
  const person = await createPerson(app, 'jane@people.example', 'owner');
  await new SessionClient(app).call('POST', '/password-resets', { body: { email: person.email } });
  await app.app.people.settled();
  const token = /reset-password#([\w-]{43})/.exec(lines.join(''))?.[1] as string;
  expect((await complete(app, token)).status).toBe(204);
});

test('an unknown address gets the same response and no email', async () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });
  await using app = await startApp({ log });
  await createPerson(app, 'jane@people.example', 'owner');
  const ask = (email: string) =>
    new SessionClient(app).call('POST', '/password-resets', { body: { email } });
  const [known, unknown] = [await ask('jane@people.example'), await ask('nobody@people.example')];
  expect([known.status, known.text]).toEqual([unknown.status, unknown.text]);
  expect(known.status).toBe(202);
  await app.app.people.settled();
  expect(lines.filter((line) => line.includes('reset-password#'))).toHaveLength(1);
  expect(lines.join('')).not.toContain('nobody@people.example');
});

test('a link is valid for an hour, and the number of links per address is limited', async () => {
  const clock = new ManualClock(Date.now());
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });
  await using app = await startApp({ log, clock });
  await createPerson(app, 'jane@people.example', 'owner');
  for (let i = 0; i < 6; i++) {
    const body = { email: 'jane@people.example' };
    expect((await new SessionClient(app).call('POST', '/password-resets', { body })).status).toBe(
      202,
    );
    await app.app.people.settled();
  }
  const tokens = [...lines.join('').matchAll(/reset-password#([\w-]{43})/g)].map(([, one]) => one);
  expect(tokens).toHaveLength(3);
  clock.advance(HOUR_MS);
  expect((await complete(app, tokens[0] as string)).json.code).toBe('invalid_link');
});
