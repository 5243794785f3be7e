import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startApp } from '../../harness/app.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase } from '../../harness/database/database.ts';

/**
 * API keys that are created, rotated and revoked at the command line apply immediately on a running
 * server, and the commands work without a server too. Real processes and a real server share one
 * database.
 */

it('creates, rotates and revokes keys of a running server', async () => {
  await using app = await startApp();
  const env = databaseEnv(app.database);
  const run = async (...args: string[]) => {
    const ran = await runPostrider([...args, '--json'], { env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(ran.stdout);
  };
  const statusWith = async (token: string): Promise<number> =>
    (await app.call('GET', '/limits', { key: token })).status;

  const made = await run(
    'keys',
    'create',
    '--mode',
    'test',
    '--scopes',
    'read:api_keys,read:messages',
    '--name',
    'Shop',
    '--expires',
    '90d',
    '--allowed-ips',
    '127.0.0.0/8',
  );
  expect(made).toMatchObject({ name: 'Shop', mode: 'test', allowed_ips: ['127.0.0.0/8'] });
  const seen = await app.call('GET', `/api-keys/${made.id}`, { key: made.token });
  expect(seen.json).toEqual({ ...made, token: undefined });
  const lifeMs = Date.parse(made.expires_at) - Date.parse(made.created_at);
  expect(Math.round(lifeMs / 86_400_000)).toBe(90);

  const rotated = await run('keys', 'rotate', made.id, '--grace', '1h');
  expect(rotated.token).not.toBe(made.token);
  expect([await statusWith(made.token), await statusWith(rotated.token)]).toEqual([200, 200]);

  const long = await runPostrider(['keys', 'rotate', made.id, '--grace', '5w'], { env });
  expect(long).toMatchObject({ code: 2, stdout: '' });
  expect(long.stderr).toBe('--grace: The grace period can be at most 30 days.\n');
  expect(await statusWith(rotated.token)).toBe(200);

  const listed = await run('keys', 'list');
  const found = listed.data.find((key: { id: string }) => key.id === made.id);
  expect(found).toMatchObject({ token_hint: rotated.token_hint });
  expect(JSON.stringify(listed)).not.toContain(rotated.token);

  const revoked = await run('keys', 'revoke', made.id);
  expect(revoked.revoked_at).not.toBeNull();
  await expect.poll(() => statusWith(rotated.token)).toBe(401);
});

it('escapes control characters in key names', async () => {
  await using app = await startApp();
  const name = 'a\u001b[2J\u009b31m\nkey_01 live active';
  const made = await app.call('POST', '/api-keys', { body: { name, scopes: ['read:messages'] } });
  expect(made.status).toBe(201);
  const env = databaseEnv(app.database);
  const { stdout } = await runPostrider(['keys', 'list'], { env });
  expect(stdout).toContain('a\ufffd[2J\ufffd31m\ufffdkey_01 live active\n');
  const revoked = await runPostrider(['keys', 'revoke', made.json.id], { env });
  expect(revoked.stdout).toContain('"a\ufffd[2J\ufffd31m\n');
});

it.runIf(existsSync('/dev/full'))(
  'exits with an error when its output cannot be written',
  async () => {
    const lost = await runPostrider(['version'], { stdoutFile: '/dev/full' });
    expect(lost.code).toBe(1);
    expect(lost.stderr).toMatch(/^Writing the output failed: ENOSPC/);
  },
);

it('works before any server has run, and keeps workspaces separate', async () => {
  await using database = await createTestDatabase({ empty: true });
  const env = databaseEnv(database);
  const run = (...args: string[]) => runPostrider(args, { env });

  const first = await run('keys', 'create', '--mode', 'live', '--scopes', 'all', '--json');
  expect(first.code).toBe(0);
  expect((await run('workspaces', 'create', 'Second', '--json')).code).toBe(0);
  const { data: workspaces } = JSON.parse((await run('workspaces', 'list', '--json')).stdout);
  expect(workspaces.map((one: { name: string }) => one.name)).toEqual(['Default', 'Second']);

  const again = await run('workspaces', 'create', 'Second');
  expect(again).toMatchObject({ code: 2, stdout: '' });
  expect(again.stderr).toContain('Workspace "Second" already exists.');

  const empty = await run('keys', 'list', '--workspace', 'Second', '--json');
  expect(JSON.parse(empty.stdout)).toEqual({ data: [], next_cursor: null });
  const inSecond = ['keys', 'revoke', JSON.parse(first.stdout).id, '--workspace', 'Second'];
  expect((await run(...inSecond)).stderr).toMatch(/^API key .* not found/);
  const inNone = await run('keys', 'list', '--workspace', 'Third');
  expect(inNone).toMatchObject({ code: 2 });
  expect(inNone.stderr).toContain('Workspace "Third" not found');

  const bad = await run(
    'keys',
    'create',
    '--mode',
    'live',
    '--scopes',
    'all',
    '--allowed-domains',
    'a b',
    '--expires',
    '2020-01-01T00:00:00Z',
  );
  expect(bad.code).toBe(2);
  expect(bad.stderr).toMatch(/--allowed-domains: .+\n {2}--expires: /);
});
