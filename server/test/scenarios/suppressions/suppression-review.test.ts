import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startApp, validMessage } from '../../harness/app.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

const LEFT = '550 This colleague has left the company';

/**
 * A rule of the operator suppresses an address, in the delivery thread too; the suppression shows
 * its evidence; and when the rule is gone, the review finds and removes it.
 */
test('suppressions show their rule, and a review removes those that it would not make', async () => {
  await using folder = await createTempDir();
  const file = path.join(folder.path, 'rules.json');
  const rule = {
    id: 'operator.leaver',
    reason: 'mailbox_disabled',
    text: ['has left the company'],
    source: 'the mail servers of example.net',
    examples: [LEFT],
  };
  await writeFile(file, JSON.stringify({ rules: [rule] }));
  await using receiver = await startSmtpReceiver({
    onRcpt: (address) => (address.includes('left') ? LEFT : '550 5.1.1 No such user'),
  });
  await using dns = await startDnsServer({
    'example.net': { MX: ['10 mx.example.test'] },
    'mx.example.test': { A: ['127.0.0.1'] },
  });
  await using app = await startApp({
    env: {
      DNS_SERVERS: dns.address,
      MX_PORT: String(receiver.port),
      DELIVERY_THREAD: 'on',
      BOUNCE_RULES_FILE: file,
    },
  });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  for (const email of ['left@example.net', 'unknown@example.net']) {
    const body = validMessage({ to: { email } });
    await app.call('POST', '/transactional/send', { key: app.liveKey, body });
  }
  const list = async () => {
    const { json } = await app.call('GET', '/suppressions', { key: app.liveKey });
    return json.data.toSorted((a: { email: string }, b: { email: string }) =>
      a.email < b.email ? -1 : 1,
    );
  };
  await until(async () => (await list()).length === 2);
  expect(await list()).toMatchObject([
    {
      email: 'left@example.net',
      evidence: { rule: 'operator.leaver', stage: 'rcpt', smtp: { code: 550 } },
    },
    { email: 'unknown@example.net', evidence: { stage: 'rcpt', smtp: { enhanced: '5.1.1' } } },
  ]);

  // Without the operator's file.
  const review = async (...args: string[]) => {
    const command = ['suppressions', 'review', '--json', ...args];
    const result = await runPostrider(command, { env: databaseEnv(app.database) });
    return JSON.parse(result.stdout);
  };
  const finding = {
    email: 'left@example.net',
    mode: 'live',
    rule: 'operator.leaver',
    current: { rule: null, reason: 'unknown' },
  };
  expect(await review()).toMatchObject({ data: [finding], found: 1, removed: 0 });
  expect(await list()).toHaveLength(2);
  expect(await review('--remove')).toMatchObject({ data: [finding], removed: 1 });
  expect(await list()).toMatchObject([{ email: 'unknown@example.net' }]);
  const { rows } = await app.database.pool.query(
    `select data->'suppression'->>'email' as email from events where type = 'suppression.deleted'`,
  );
  expect(rows).toEqual([{ email: 'left@example.net' }]);
});

test('the server does not start with an invalid rule, and names the rule and the field', async () => {
  await using folder = await createTempDir();
  const file = path.join(folder.path, 'rules.json');
  await writeFile(file, JSON.stringify({ rules: [{ id: 'operator.x', reason: 'left' }] }));
  await expect(startApp({ env: { BOUNCE_RULES_FILE: file } })).rejects.toThrow(
    /^BOUNCE_RULES_FILE: Rule "operator.x": reason must be one of/,
  );
  await writeFile(file, '{');
  await expect(startApp({ env: { BOUNCE_RULES_FILE: file } })).rejects.toThrow(
    /^BOUNCE_RULES_FILE: .*JSON/,
  );
});
