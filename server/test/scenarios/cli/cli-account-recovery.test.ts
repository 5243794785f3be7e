import { expect, test } from 'vitest';
import { codeAt } from '../../../src/accounts/people/totp.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { fromBase32 } from '../../harness/base32.ts';
import { member, PASSWORD, SessionClient } from '../../harness/browser/dashboard-session.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';

/**
 * Operators can restore access at the command line for users who forgot their password and cannot get
 * email, or lost their second factor and recovery codes.
 */
const NEW = 'kettle rain ladders';
const EMAIL = 'owner@people.example';

async function people(app: TestApp, ...args: string[]) {
  const env = { ...databaseEnv(app.database), BASE_URL: 'https://mail.example.com' };
  const result = await runPostrider(['people', ...args, '--json'], { env });
  return { ...result, json: result.stdout === '' ? undefined : JSON.parse(result.stdout) };
}

test('reset-password prints a link that works once', async () => {
  await using app = await startApp();
  const { person } = await member(app, 'owner');
  const listed = await people(app, 'list');
  expect(listed.json.data).toMatchObject([
    {
      email: EMAIL,
      totp_enabled: false,
      workspaces: [{ workspace: 'Test', role: 'owner' }],
    },
  ]);
  expect(listed.stdout).not.toContain(person.passwordHash);
  const { json } = await people(app, 'reset-password', EMAIL.toUpperCase());
  const token = /^https:\/\/mail\.example\.com\/app\/reset-password#([\w-]{43})$/.exec(json.link);
  const body = { token: token?.[1], password: NEW };
  const complete = () => new SessionClient(app).call('POST', '/password-resets/complete', { body });
  expect((await complete()).status).toBe(204);
  expect((await complete()).status).toBe(422);
  expect((await new SessionClient(app).signIn(EMAIL)).status).toBe(401);
  expect((await new SessionClient(app).signIn(EMAIL, NEW)).status).toBe(200);
});

test('remove-second-factor lets a user sign in with the password only', async () => {
  await using app = await startApp();
  const { visitor } = await member(app, 'owner');
  const { json } = await visitor.call('POST', '/me/totp', { body: { password: PASSWORD } });
  const code = codeAt(fromBase32(json.secret), Date.now());
  const confirmed = await visitor.call('POST', '/me/totp/confirm', { body: { code } });
  expect(confirmed.status).toBe(200);
  expect((await new SessionClient(app).signIn(EMAIL)).json).toMatchObject({ me: null });
  expect((await people(app, 'remove-second-factor', EMAIL)).code).toBe(0);
  expect((await new SessionClient(app).signIn(EMAIL)).json).toMatchObject({ me: { email: EMAIL } });
  const again = await people(app, 'remove-second-factor', EMAIL);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('not enabled')]);
});

test.each(['reset-password', 'remove-second-factor'])(
  '%s: an unknown address is reported',
  async (command) => {
    await using app = await startApp();
    const result = await people(app, command, 'nobody@people.example');
    expect([result.code, result.stdout]).toEqual([2, '']);
    expect(result.stderr).toContain('No user with email');
  },
);
