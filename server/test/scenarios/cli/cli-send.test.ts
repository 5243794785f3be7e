import { expect, it } from 'vitest';
import { startApp } from '../../harness/app.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase } from '../../harness/database/database.ts';

/**
 * `send` accepts and rejects the same requests as the API and needs no server: its messages are
 * delivered when one runs. Real processes and a real server share one database.
 */

it('is delivered by a running server and by one that starts later', async () => {
  await using database = await createTestDatabase();
  const env = databaseEnv(database);
  const before = await runPostrider(
    [
      'send',
      '--to',
      'before@example.com',
      '--from',
      'a@example.org',
      '--subject',
      'Hi ${n}',
      '--html',
      '<p>{{ n }}</p>',
      '--variables',
      '{"n":"Jane"}',
      '--json',
    ],
    { env },
  );
  expect(before.stderr).toBe('');
  const accepted = JSON.parse(before.stdout);
  expect(accepted).toMatchObject({ status: 'queued', mode: 'test' });

  await using app = await startApp({ database });
  const wait = async (to: string) =>
    (await app.call('GET', `/test/inbox/wait?to=${to}&timeout=20`)).json.message;
  expect(await wait('before@example.com')).toMatchObject({ id: accepted.id, subject: 'Hi Jane' });

  const request = {
    to: { email: 'after@example.com' },
    subject: 'Later',
    html: '<p>x</p>',
    tags: ['cli'],
  };
  const after = await runPostrider(['send', '--file', '-', '--from', 'a@example.org'], {
    env,
    input: JSON.stringify(request),
  });
  expect(after.stdout).toMatch(
    /^Accepted as msg_\w+ \(queued\)\.\n {2}after@example\.com: queued\n$/,
  );
  expect(await wait('after@example.com')).toMatchObject({ subject: 'Later', tags: ['cli'] });
});

it('rejects what the API rejects, and stores nothing on a dry run', async () => {
  await using app = await startApp();
  const env = databaseEnv(app.database);
  const send = (...args: string[]) =>
    runPostrider(['send', '--from', 'a@example.org', '--subject', 'S', ...args], { env });

  const shape = await send('--to', 'nobody', '--html', '<p>x</p>');
  expect(shape.code).toBe(2);
  expect(shape.stderr).toBe('--to: The address has no @.\n');
  const template = await runPostrider(
    ['send', '--from', 'a@example.org', '--to', 'a@example.com', '--template', 'none'],
    { env },
  );
  expect(template.stderr).toMatch(/^--template: There is no template "none"\.\n→ .*\n$/);
  const textAlone = await send('--to', 'a@example.com', '--text', 'Hi', '--dry-run', '--json');
  expect(JSON.parse(textAlone.stdout)).toMatchObject({ text: 'Hi' });
  const missing = await send('--to', 'a@example.com', '--html', '<p>{{ name }}</p>', '--json');
  expect(missing).toMatchObject({ code: 2, stdout: '' });
  expect(JSON.parse(missing.stderr)).toMatchObject({ code: 'missing_variables' });
  const foreign = await send(
    '--to',
    'a@example.com',
    '--html',
    '<p>x</p>',
    '--mode',
    'live',
    '--json',
  );
  expect(JSON.parse(foreign.stderr)).toMatchObject({ code: 'domain_not_owned' });

  const dry = await send('--to', 'a@example.com', '--html', '<p>x</p>', '--dry-run', '--json');
  expect(JSON.parse(dry.stdout)).toMatchObject({ subject: 'S', html: '<p>x</p>' });
  expect((await app.call('GET', '/messages')).json.data).toEqual([]);
});
