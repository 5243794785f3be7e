import { expect, test } from 'vitest';
import { encodeId } from '../../../src/lib/ids.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { member } from '../../harness/browser/dashboard-session.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';
import { until } from '../../harness/until.ts';

/**
 * The operator suspends a tenant's sending with one command, on every node; nothing is lost or sent until it is
 * resumed, and no one else is affected. The command runs next to a running server with a scripted receiver.
 */
const REASON = 'Complaints about you. Write to abuse@host.example.';

async function command(app: TestApp, ...args: string[]) {
  return runPostrider(['workspaces', ...args], { env: databaseEnv(app.database) });
}

function send(app: TestApp, key: string, more: Record<string, unknown> = {}) {
  return app.call('POST', '/transactional/send', { key, body: validMessage(more) });
}

async function attemptsOf(app: TestApp, id: string) {
  const { json } = await app.call('GET', `/messages/${id}/attempts`, { key: app.liveKey });
  return json.data as { outcome: string; bounce: { reason: string; explanation: string } | null }[];
}

test('a suspended workspace sends nothing until it is resumed', async () => {
  await using receiver = await startSmtpReceiver({ onRcpt: () => '451 4.3.0 Later' });
  await using dns = await startDnsServer({
    'example.com': { MX: ['10 mx.example.test'] },
    'mx.example.test': { A: ['127.0.0.1'] },
  });
  const MX_PORT = String(receiver.port);
  await using app = await startApp({ env: { DNS_SERVERS: dns.address, MX_PORT } });
  const otherWorkspace = await app.app.workspaces.create('Neighbour');
  for (const id of [app.workspaceId, otherWorkspace.id]) {
    await app.app.domains.trust(id, { name: 'example.org' });
  }
  const { json: waiting } = await send(app, app.liveKey);
  await until(async () => (await attemptsOf(app, waiting.id)).length > 0);

  const workspace = encodeId('wsp', app.workspaceId);
  const suspended = await command(app, 'suspend', workspace, '--reason', REASON);
  expect(suspended).toMatchObject({ code: 0, stderr: '' });
  await until(async () => (await send(app, app.liveKey)).status === 403);
  const refused = await send(app, app.liveKey);
  expect(refused.json).toMatchObject({ code: 'workspace_suspended' });
  expect(refused.json.detail).toContain(REASON);

  // Queued messages take their turn and are deferred by this server, not by the receiver.
  const tryNow = () => app.call('POST', `/messages/${waiting.id}/retry`, { key: app.liveKey });
  expect((await tryNow()).status).toBe(200);
  await until(async () =>
    (await attemptsOf(app, waiting.id)).some(({ bounce }) => bounce?.reason === 'blocked_policy'),
  );
  const held = (await attemptsOf(app, waiting.id)).at(-1);
  expect(held?.bounce?.explanation).toContain('suspended for this workspace');
  receiver.script.onRcpt = () => undefined;

  // Neither its test mode nor other workspaces are affected.
  expect((await send(app, app.testKey)).status).toBe(202);
  const others = await app.newKey({ workspaceId: otherWorkspace.id, mode: 'live' });
  expect((await send(app, others, { subject: 'From another workspace' })).status).toBe(202);
  await receiver.untilMessages(1);
  expect(receiver.messages[0]?.raw.toString()).toContain('From another workspace');
  expect(receiver.messages).toHaveLength(1);

  const listed = await command(app, 'list');
  expect(listed.stdout).toMatch(new RegExp(`${workspace} .* suspended +\\S.* ${REASON}`));
  expect((await command(app, 'resume', workspace)).code).toBe(0);
  await until(async () => (await send(app, app.liveKey)).status === 202);
  expect((await tryNow()).status).toBe(200);
  await until(async () => (await attemptsOf(app, waiting.id)).at(-1)?.outcome === 'delivered');
});

test('SMTP submission is rejected with the reason', async () => {
  await using app = await startApp({ env: { SUBMISSION_PORT: '0' } });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  const [workspace] = await app.app.workspaces.list();
  await app.app.workspaces.suspend(workspace as NonNullable<typeof workspace>, REASON);
  const port = app.app.submission.port as number;
  using client = await SubmissionClient.connectAndLogIn(port, app.liveKey);
  const data = 'From: hello@example.org\r\nTo: a@example.com\r\nSubject: Hi\r\n\r\nHello';
  const { code, text } = await client.send({ to: ['a@example.com'], data });
  expect(code).toBe(550);
  expect(text).toContain(REASON);
});

test('members see the reason, and the owner cannot create another workspace', async () => {
  await using app = await startApp();
  const { visitor: owner } = await member(app, 'owner');
  const make = () => owner.call('POST', '/workspaces', { body: { name: 'Another' } });
  const found = (await app.app.workspaces.list()).find(({ id }) => id === app.workspaceId);
  const workspace = await app.app.workspaces.suspend(found as NonNullable<typeof found>, REASON);
  const suspended = { since: expect.stringMatching(/Z$/), reason: REASON };
  expect((await owner.call('GET', '/me')).json.workspaces).toMatchObject([{ suspended }]);
  expect((await owner.call('GET', '/workspaces')).json.data).toMatchObject([{ suspended }]);
  expect((await make()).json).toMatchObject({ status: 403, code: 'workspace_suspended' });
  await app.app.workspaces.resume(workspace);
  expect((await owner.call('GET', '/me')).json.workspaces).toMatchObject([{ suspended: null }]);
  expect((await make()).status).toBe(201);
});

test.each([
  [['suspend', 'Nobody', '--reason', 'x'], 2, 'Workspace "Nobody" not found'],
  [['suspend', 'Test'], 2, '--reason'],
  [['suspend', 'Test', '--reason', ' '], 2, '--reason must have 1 to 500 printable characters.'],
  [['resume', 'Nobody'], 2, 'Workspace "Nobody" not found'],
])('%j is rejected and changes nothing', async (args, code, message) => {
  await using app = await startApp();
  const result = await command(app, ...args);
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(message);
  const [workspace] = await app.app.workspaces.list();
  expect(workspace?.suspension).toBeNull();
});
