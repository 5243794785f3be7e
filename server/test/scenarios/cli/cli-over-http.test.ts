import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import {
  type CommandResult,
  databaseEnv,
  runPostrider,
  startPostrider,
} from '../../harness/cli-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { publishRecords } from '../../harness/smtp/publish-dns-records.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * The command line works with nothing but the URL of a server and an API key, as on a laptop and in
 * CI: real processes without a database call a real server.
 */

let app: TestApp;
let dns: Awaited<ReturnType<typeof startDnsServer>>;
let scratch: Awaited<ReturnType<typeof createTempDir>>;

beforeAll(async () => {
  dns = await startDnsServer();
  app = await startApp({ env: { DNS_SERVERS: dns.address } });
  scratch = await createTempDir();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
  await scratch[Symbol.asyncDispose]();
});

function apiEnv(apiKey: string): Record<string, string> {
  return { POSTRIDER_URL: app.url, POSTRIDER_API_KEY: apiKey };
}

const run = (args: string[], apiKey = app.liveKey): Promise<CommandResult> =>
  runPostrider(args, { env: apiEnv(apiKey) });

async function json(args: string[], { apiKey = app.liveKey, code = 0 } = {}) {
  const ran = await run([...args, '--json'], apiKey);
  expect(ran).toMatchObject({ code, stderr: '' });
  return JSON.parse(ran.stdout);
}

test('login checks the key, stores it for its owner only, and is used until logout', async () => {
  const home = { XDG_CONFIG_HOME: path.join(scratch.path, 'config') };
  const file = path.join(home.XDG_CONFIG_HOME, 'postrider/login.json');
  const command = (args: string[], env = {}, input = '') =>
    runPostrider(args, { env: { ...home, ...env }, input });

  const { host } = new URL(app.url);
  const proxy = http.createServer((_, response) => response.end('<h1>Welcome</h1>'));
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const [wrong, none, nowhere, noTls, notOurs] = await Promise.all([
    command(['login', app.url], {}, `${app.testKey.slice(0, -1)}_\n`),
    command(['login', app.url], {}, 'secret'),
    command(['login', 'http://127.0.0.1:9'], {}, app.testKey),
    command(['login', `https://${host}`], {}, app.testKey),
    command(['login', proxyUrl], {}, app.testKey),
  ]);
  expect(wrong).toMatchObject({ code: 1, stdout: '' });
  expect(wrong.stderr).toMatch(/→ .+\nRequest req_/);
  expect(none).toMatchObject({ code: 2, stdout: '' });
  expect(nowhere).toMatchObject({ code: 1, stdout: '' });
  expect(nowhere.stderr).toMatch(/^http:\/\/127\.0\.0\.1:9 does not respond: .+\n$/);
  expect(noTls.stderr).toMatch(/^https:\S+ does not respond: .+ begin the URL with http:\/\/\.\n$/);
  expect(notOurs.stderr).toContain(`→ Check that ${proxyUrl} is the URL of Postrider`);
  proxy.close();
  await expect(stat(file)).rejects.toThrow('ENOENT');

  const done = await command(['login', `${app.url}/`], {}, `${app.testKey}\n`);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toContain('Workspace: Test (wsp_');
  expect(done.stdout).not.toContain(app.testKey);
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  // The environment is more specific than the login, a database too.
  const database = databaseEnv(app.database);
  const both = { ...database, ...apiEnv(app.testKey) };
  const workspace = ['keys', 'list', '--workspace', 'Test'];
  const [who, listed, other, local, refused, forced] = await Promise.all([
    command(['whoami', '--json']),
    command(['keys', 'list']),
    command(['whoami', '--json'], apiEnv(app.liveKey)),
    command(['whoami', '--json'], database),
    command(workspace, both),
    command([...workspace, '--local'], both),
  ]);
  expect(JSON.parse(who.stdout)).toMatchObject({
    target: 'api',
    url: app.url,
    source: 'login',
    key: { mode: 'test', workspace: { name: 'Test' } },
  });
  expect(listed.stdout).toContain('A key');
  expect(JSON.parse(other.stdout)).toMatchObject({ source: 'environment', key: { mode: 'live' } });
  expect(JSON.parse(local.stdout)).toMatchObject({ target: 'database' });
  expect(refused.stderr).toContain('--workspace applies to a database');
  expect(forced).toMatchObject({ code: 0, stderr: '' });

  expect((await command(['logout'])).stdout).toBe(`Logged out: deleted ${file}.\n`);
  const out = await command(['keys', 'list'], { DATA_DIR: scratch.path });
  expect(out.stderr).toContain('To use a running server, run "postrider login"');
});

test('templates are pulled, compared and pushed as with the database', async () => {
  const variables = [{ name: 'name', example: 'Jane', secret: true }];
  const template = { key: 'welcome', subject: 'Hi ${name}', html: '<p>{{ name }}</p>', variables };
  await app.call('POST', '/templates', { body: template });
  await app.call('POST', '/partials', { body: { key: 'footer', html: '<p>F</p>' } });
  const [remote, local] = ['remote', 'local'].map((name) => path.join(scratch.path, name));
  expect((await json(['templates', 'pull', remote as string])).written).toContain(
    'welcome/html.liquid',
  );
  const direct = await runPostrider(['templates', 'pull', local as string], {
    env: databaseEnv(app.database),
  });
  expect(direct.code).toBe(0);
  for (const file of [
    'welcome/template.json',
    'welcome/html.liquid',
    'partials/footer/html.liquid',
  ]) {
    const texts = [remote, local].map((folder) =>
      readFile(path.join(folder as string, file), 'utf8'),
    );
    const [one, two] = await Promise.all(texts);
    expect(one).toBe(two);
  }
  const folder = remote as string;
  const same = await json(['templates', 'push', folder]);
  expect(same.map(({ draft }: { draft: string }) => draft)).toEqual(['unchanged', 'unchanged']);
  expect(await json(['templates', 'diff', folder])).toEqual([]);

  await mkdir(path.join(folder, 'fresh'));
  await writeFile(path.join(folder, 'fresh/subject.txt'), 'Fresh');
  await writeFile(path.join(folder, 'fresh/html.liquid'), '<p>{% render "footer" %}{{ x </p>');
  const broken = await run(['templates', 'push', folder, '--publish']);
  expect(broken).toMatchObject({ code: 2, stdout: '' });
  expect(broken.stderr).toMatch(/fresh\/html\.liquid \(line 1, column \d+\): /);
  expect((await app.call('GET', '/templates/fresh')).status).toBe(404);

  await writeFile(path.join(folder, 'fresh/html.liquid'), '<p>{% render "footer" %}</p>');
  const differs = await json(['templates', 'diff', folder], { code: 1 });
  expect(differs).toContainEqual(expect.objectContaining({ state: 'only_local' }));
  const byTestKey = await run(['templates', 'push', folder, '--publish'], app.testKey);
  expect(byTestKey).toMatchObject({ code: 2, stdout: '' });
  expect(byTestKey.stderr).toContain('it requires a live key');
  const published = await json(['templates', 'push', folder, '--publish', '--note', 'from CI']);
  expect(published).toMatchObject([
    { key: 'fresh', draft: 'created', published_version: 1 },
    { key: 'footer', draft: 'unchanged', published_version: 1 },
    { key: 'welcome', draft: 'unchanged', published_version: 1 },
  ]);
  const { subject: _, html: __, ...envelope } = validMessage();
  const body = { ...envelope, template_key: 'fresh' };
  const sent = await app.call('POST', '/transactional/dry-run', { body });
  expect(sent.json.html).toContain('<p>F</p>');
});

test('messages are sent and followed', async () => {
  const { next_cursor: cursor } = (await app.call('GET', '/events?order=asc&cursor=latest')).json;
  const fields = ['--from', 'a@example.org', '--subject', 'Hello', '--text', 'Hi'];
  const send = ['send', '--to', 'cli@example.com', ...fields];
  const [{ id }, invalid, wrongMode, dry] = await Promise.all([
    json(send, { apiKey: app.testKey }),
    run(['send', '--to', 'nobody', ...fields], app.testKey),
    run([...send, '--mode', 'live'], app.testKey),
    json([...send, '--dry-run'], { apiKey: app.testKey }),
  ]);
  expect(invalid).toMatchObject({ code: 2, stdout: '' });
  expect(invalid.stderr).toMatch(/--to: The address has no @\.\n→ .+\nRequest req_\w+\n$/);
  expect(wrongMode.stderr).toContain('--mode is live, but the API key is a test key.');
  expect(dry).toMatchObject({ text: 'Hi' });

  const tail = await run(
    ['events', 'tail', '--cursor', cursor, '--type', 'message.*', '--limit', '2', '--json'],
    app.testKey,
  );
  const events = tail.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events).toMatchObject([
    { type: 'message.accepted', data: { message_id: id } },
    { type: 'message.delivered', data: { recipient: 'cli@example.com' } },
  ]);

  const [listed, shown, missing] = await Promise.all([
    run(['messages', 'list', '--recipient', 'cli@example.com'], app.testKey),
    run(['messages', 'show', id, '--attempts'], app.testKey),
    run(['messages', 'show', 'msg_1', '--json'], app.testKey),
  ]);
  expect(listed.stdout).toMatch(
    new RegExp(
      `^ID +STATUS +CREATED +TO +SUBJECT\\n${id} +delivered .+ cli@example\\.com +Hello\\n$`,
    ),
  );
  expect(shown.stdout).toContain('cli@example.com: delivered');
  expect(shown.stdout).toContain('Attempt 1 for cli@example.com');
  expect(missing).toMatchObject({ code: 2, stdout: '' });
  expect(JSON.parse(missing.stderr)).toMatchObject({ status: 404, code: 'not_found' });
});

test('events are forwarded to a local program, signed like webhooks', async () => {
  await using receiver = await startWebhookReceiver();
  const args = [
    'webhooks',
    'listen',
    receiver.url,
    '--type',
    'message.accepted',
    '--limit',
    '2',
    '--json',
  ];
  const listening = startPostrider(args, { env: apiEnv(app.testKey) });
  const { secret } = JSON.parse((await listening.nextLine()) ?? '');
  receiver.answer = () => ({ status: 500 });
  await app.call('POST', '/transactional/send', { body: validMessage() });
  const first = JSON.parse((await listening.nextLine()) ?? '');
  expect(first).toMatchObject({ type: 'message.accepted', status: 500 });
  receiver.answer = () => ({ status: 204 });
  await app.call('POST', '/transactional/send', { body: validMessage() });
  expect(JSON.parse((await listening.nextLine()) ?? '')).toMatchObject({ status: 204 });
  expect(await listening.ended).toBe(0);
  expect(receiver.received).toHaveLength(2);
  for (const { headers, body } of receiver.received) {
    const event = new Webhook(secret).verify(body, headers);
    expect(event).toMatchObject({ type: 'message.accepted', api_version: 'v1' });
  }
});

test('keys are created, rotated and revoked', async () => {
  const options = ['--mode', 'test', '--scopes', 'read:messages', '--name', 'CI'];
  const made = await json(['keys', 'create', ...options]);
  expect(made).toMatchObject({ name: 'CI', mode: 'test' });
  const rotated = await json(['keys', 'rotate', made.id, '--grace', '1h']);
  expect(rotated.token).not.toBe(made.token);
  expect((await json(['keys', 'revoke', made.id])).revoked_at).not.toBeNull();
  const [refused, { data: keys }] = await Promise.all([
    run(['keys', 'list'], rotated.token),
    json(['keys', 'list']),
  ]);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(keys).toContainEqual(expect.objectContaining({ id: made.id, name: 'CI' }));
});

test('a login continues with the new secret of its own key', async () => {
  const home = { XDG_CONFIG_HOME: path.join(scratch.path, 'rotated') };
  const command = (args: string[], input = '') => runPostrider(args, { env: home, input });
  const scopes = 'write:api_keys,read:api_keys';
  const options = ['--mode', 'test', '--scopes', scopes];
  const made = await json(['keys', 'create', ...options, '--name', 'Laptop']);
  const other = await json(['keys', 'create', ...options, '--name', 'Other']);
  expect((await command(['login', app.url], made.token)).code).toBe(0);
  const rotated = await command(['keys', 'rotate', made.id, '--grace', '0s']);
  expect(rotated).toMatchObject({ code: 0, stderr: '' });
  expect(rotated.stdout).toContain('The login uses the new secret from now on.');
  expect((await command(['keys', 'rotate', other.id])).stdout).not.toContain('login');
  const who = JSON.parse((await command(['whoami', '--json'])).stdout);
  expect(who).toMatchObject({ source: 'login', key: { id: made.id } });
});

test('domains are added and verified', async () => {
  const added = await json(['domains', 'add', 'Shop.test']);
  const [again, pending, other, trust] = await Promise.all([
    run(['domains', 'add', 'shop.test']),
    json(['domains', 'verify', 'SHOP.test'], { code: 1 }),
    run(['domains', 'verify', 'other.test']),
    run(['domains', 'add', 'ours.test', '--trust']),
  ]);
  expect(again.stderr).toContain('Run "postrider domains verify shop.test"');
  expect(pending).toMatchObject({ id: added.id, status: 'pending' });
  expect(other.stderr).toContain('has no domain other.test');
  expect(trust.stderr).toContain('--trust needs access to the database');
  publishRecords(dns, added.records);
  expect(await json(['domains', 'verify', added.id])).toMatchObject({ status: 'verified' });
  expect(await json(['domains', 'receive', 'shop.test'])).toMatchObject({ receiving: true });
  expect(await json(['domains', 'receive', added.id, '--stop'])).toMatchObject({
    receiving: false,
  });
  expect((await run(['domains', 'list'])).stdout).toMatch(/dom_\w+ +verified +.+ +shop\.test\n/);
});
