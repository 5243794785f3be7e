import { execFile, spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv, promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { ROOT } from '../../../scripts/project-files.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { createPerson } from '../harness/browser/dashboard-session.ts';
import { startDnsServer } from '../harness/smtp/dns-server.ts';
import { publishRecords } from '../harness/smtp/publish-dns-records.ts';
import { SubmissionClient } from '../harness/smtp/submission-client.ts';
import { createTempDir } from '../harness/temp-dir.ts';

/**
 * The first ten minutes with Postrider: create the account and an API key, paste the shown curl
 * command into a shell, and see the message appear without reloading the page.
 */
browserSuite(
  'first run',
  (suite) => {
    test('create an account and a key, run its curl command, and see the message', async () => {
      const page = await suite.open();
      await page.goto('/app');
      await page.getByRole('heading', { name: 'Welcome' }).waitFor();
      await page.getByLabel('Your name').fill('Ada Lovelace');
      await page.getByLabel('Email').fill('ada@shop.example');
      await page.getByLabel('Password').fill('short');
      await page.getByLabel('Workspace').fill('Shop');
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByText('Use at least 10 characters').waitFor();
      expect(await page.getByText(/at least 10 characters/i).count()).toBe(1);
      await page.getByLabel('Password').fill('tulip freight oboe');
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
      await page.getByRole('button', { name: 'Send test email' }).click();
      await page.waitForURL(/test-inbox\?id=msg_/);
      await page.getByRole('heading', { name: 'Hello Ada Lovelace' }).waitFor();
      await emailPreview(page).getByText('this is your first message').waitFor();
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByText('2 of 5 done').waitFor();

      await page.getByRole('link', { name: 'Documentation' }).click();
      await page.getByRole('heading', { name: 'Postrider documentation' }).waitFor();
      await page.getByRole('link', { name: 'Dashboard', exact: true }).click();

      await page.getByRole('link', { name: 'API keys' }).click();
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Web shop');
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      const token = (await page.getByTestId('token').textContent()) ?? '';
      expect(token).toMatch(/^pr_test_/);
      const curl = await shownCode(page.getByRole('dialog'), 'curl example');
      expect(curl).toContain(token);
      await page.getByRole('button', { name: 'Done' }).click();
      await expect.poll(() => page.getByText(token, { exact: true }).count()).toBe(0);
      expect(await shownCode(page, 'curl example')).toBe(curl);

      await page.getByRole('link', { name: 'Messages' }).click();
      await page.getByRole('heading', { name: 'Messages', exact: true }).waitFor();
      const { stdout } = await promisify(execFile)('sh', ['-c', curl]);
      expect(JSON.parse(stdout)).toMatchObject({ status: 'queued', mode: 'test' });
      await page.getByRole('link', { name: 'Hello Jane' }).click();
      await page.getByRole('tabpanel').getByText('Delivered', { exact: true }).waitFor();
      await page.getByRole('tab', { name: 'Content' }).click();
      await emailPreview(page).getByText('Welcome, Jane!').waitFor();
    });

    test('a second visitor cannot create another owner', async () => {
      await createPerson(suite.app(), 'first@shop.example', 'owner');
      const page = await suite.open();
      await page.goto('/app/setup');
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    });

    test('the SMTP settings shown with a new key work', async () => {
      const page = await suite.openAs('developer', { mode: 'test' });
      await page.goto('/app/api-keys');
      await page.getByRole('button', { name: 'Create key' }).first().click();
      await page.getByLabel('Name', { exact: true }).fill('Printer');
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      const token = (await page.getByTestId('token').textContent()) ?? '';
      const shown = await chosenCode(page.getByRole('dialog'), 'SMTP');
      await page.getByRole('button', { name: 'Done' }).click();
      const settings = parseEnv(shown);
      expect(settings).toMatchObject({ SMTP_USER: 'postrider', SMTP_PASSWORD: token });

      const { SMTP_PORT, SMTP_PASSWORD = '', SMTP_HOST } = settings;
      using mailer = await SubmissionClient.connectAndLogIn(
        Number(SMTP_PORT),
        SMTP_PASSWORD,
        SMTP_HOST,
      );
      const head = 'From: hello@example.org\r\nTo: jane@example.com\r\nSubject: By SMTP\r\n';
      const reply = await mailer.send({ to: ['jane@example.com'], data: `${head}\r\nHello` });
      expect(reply.code).toBe(250);
      await page.goto('/app/messages');
      await page.getByRole('link', { name: 'By SMTP' }).first().waitFor();
    });
  },
  { env: { SUBMISSION_PORT: '0' } },
);

const dns = await startDnsServer();
afterAll(() => dns[Symbol.asyncDispose]());

browserSuite(
  'examples on screen',
  (suite) => {
    test('every example of an empty workspace works when pasted into a shell', async () => {
      const page = await suite.openAs('owner', { mode: 'test' });
      await page.goto('/app/settings');
      await page.getByRole('button', { name: 'Workspace Test. Switch' }).click();
      await page.getByRole('menuitem', { name: 'New workspace' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('Empty');
      await page.getByRole('button', { name: 'Create workspace' }).click();
      await page.getByRole('button', { name: 'Workspace Empty. Switch' }).waitFor();
      const open = async (name: string): Promise<void> => {
        await page.getByRole('navigation').getByRole('link', { name }).click();
        await page.getByRole('heading', { name, exact: true }).waitFor();
      };
      const examples = new Map<string, string>();
      for (const [name, label] of [
        ['Events', 'example'],
        ['API keys', 'curl example'],
      ] as const) {
        await open(name);
        examples.set(name, await shownCode(page, label));
      }
      await open('Messages');
      await page.getByRole('button', { name: 'Use a new test key' }).click();
      for (const [name, label] of PAGES) {
        await open(name);
        examples.set(name, await shownCode(page, label, /Bearer pr_test_\w{8}/));
      }
      const [key = ''] = examples.get('Messages')?.match(/pr_test_\w+/) ?? [];
      const pasted = [...examples].map(([name, code]) => [name, code.replace('pr_test_…', key)]);
      const [[, stream = ''] = [], ...others] = pasted;
      using events = follow(stream);
      await expect.poll(() => events.output()).toContain('retry:');
      for (const [name, code = ''] of others) {
        expect([name, await inShell(code)]).toEqual([name, 'ok']);
      }
      await expect.poll(() => events.output()).toContain('message.accepted');
    });

    test('the examples of a restricted live key use the domain that it may send from', async () => {
      const { call, liveKey } = suite.app();
      for (const name of ['aardvark.test', 'shop.test', 'unverified.test']) {
        const { json } = await call('POST', '/domains', { key: liveKey, body: { name } });
        if (name === 'unverified.test') continue;
        publishRecords(dns, json.records);
        const checked = await call('POST', `/domains/${json.id}/verify`, { key: liveKey });
        expect(checked.json.status).toBe('verified');
      }
      for (const [allowed, sender] of [
        ['', /@(aardvark|shop).test/],
        ['shop.test', /@shop.test/],
      ] as const) {
        const page = await suite.openAs('owner', { mode: 'live' });
        await page.goto('/app/api-keys?new=true');
        await page.getByLabel('Name', { exact: true }).fill('Web shop');
        await page.getByText('Restrictions').last().click();
        await page.getByLabel('Sender domains').fill(allowed);
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: 'Create key' }).click();
        const token = (await page.getByTestId('token').textContent()) ?? '';
        expect(await inShell(await shownCode(dialog, 'curl example', sender))).toBe('ok');
        expect(await inNode(await chosenCode(dialog, 'Node', sender))).toMatch(/^202 /);
        expect(await inNode(await chosenCode(dialog, 'Mailgun', sender))).toContain('Queued');
        await page.getByRole('button', { name: 'Done' }).click();
        await expect.poll(() => page.content()).not.toContain(token);
      }
    });

    test('every client library sends with the lines that are shown with a new key', async () => {
      const { call, testKey } = suite.app();
      const page = await suite.openAs('developer', { mode: 'test' });
      await page.goto('/app/api-keys?new=true');
      await page.getByLabel('Name', { exact: true }).fill('Web shop');
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      const token = (await page.getByTestId('token').textContent()) ?? '';
      const examples = new Map<string, string>();
      for (const name of ['SDK', 'Node', ...CLIENTS]) {
        examples.set(name, await chosenCode(dialog, name, new RegExp(token)));
      }
      expect(await chosenCode(dialog, 'Amazon SES', /PRTEST…/)).not.toContain(token);
      await dialog.getByRole('button', { name: 'Create SES credentials' }).click();
      examples.set('Amazon SES', await shownCode(dialog, 'Amazon SES example', /PRTEST\w/));
      for (const [name, code] of examples) {
        const output = await inNode(code);
        expect([name, output]).toEqual([name, expect.stringMatching(/msg_|@/)]);
      }
      const python = await chosenCode(dialog, 'Python', new RegExp(token));
      if (await hasPython())
        expect((await run('python3', ['-c', python])).stdout).toContain('msg_');
      const found = await call('GET', '/messages?limit=100', { key: testKey });
      const subjects = found.json.data.map(({ subject }: { subject: string }) => subject);
      expect(subjects.filter((one: string) => one === 'Hello from Postrider')).toHaveLength(5);

      await page.getByRole('button', { name: 'Done' }).click();
      for (const [name, code] of examples) expect(await chosenCode(page, name, /pr_/)).toBe(code);
    });

    test('the settings shown with new SES credentials work', async () => {
      const page = await suite.openAs('developer', { mode: 'test' });
      await page.goto('/app/api-keys');
      await page
        .getByRole('button', { name: /^Actions for/ })
        .first()
        .click();
      await page.getByRole('menuitem', { name: 'SES credentials' }).click();
      await page.getByRole('button', { name: 'Create credentials' }).click();
      const settings = parseEnv(await shownCode(page, 'AWS settings', /AWS_/));
      await page.getByRole('button', { name: 'Done' }).click();
      const account = `import { GetAccountCommand, SESv2Client } from '@aws-sdk/client-sesv2';
        console.log((await new SESv2Client().send(new GetAccountCommand())).SendingEnabled);`;
      expect(await inNode(account, settings)).toBe('true\n');
    });
  },
  { env: { DNS_SERVERS: dns.address, HELO_NAME: 'mail.sender.test' } },
);

const PAGES = [
  ['Overview', 'curl example'],
  ['Messages', 'curl example'],
  ['Test inbox', 'curl example'],
  ['Templates', 'example'],
  ['Contacts', 'example'],
  ['Suppressions', 'example'],
  ['Webhooks', 'example'],
] as const;

function hasPython(): Promise<boolean> {
  return run('python3', ['-c', 'pass']).then(
    () => true,
    () => false,
  );
}

/** Clients that send the key itself. */
const CLIENTS = ['Resend', 'Postmark', 'SendGrid', 'Mailgun'];

/** The code of an example after its button is clicked, once it matches. */
async function chosenCode(within: Page | Locator, name: string, text = /./): Promise<string> {
  await within.getByRole('button', { name, exact: true }).click();
  return shownCode(within, `${name} example`, text);
}

/** The code of the example with this label, once it matches. */
async function shownCode(within: Page | Locator, label: string, text = /curl/): Promise<string> {
  const block = within.getByRole('region', { name: label, exact: true });
  await block.filter({ hasText: text }).waitFor();
  return (await block.textContent()) ?? '';
}

const run = promisify(execFile);

/** Makes curl fail on an HTTP error. */
const STRICT_CURL = 'curl() { command curl -sS --fail-with-body "$@"; }';

/** Runs the commands; 'ok', or what they printed if one fails. */
async function inShell(code: string): Promise<string> {
  return run('bash', ['-ec', `${STRICT_CURL}\n${code}`]).then(
    () => 'ok',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
}

/**
 * Runs a program in a folder where the client libraries are installed, ours from its source, and
 * returns what it prints.
 */
async function inNode(code: string, env: NodeJS.Dict<string> = {}): Promise<string> {
  await using folder = await createTempDir();
  const packages = path.join(folder.path, 'node_modules');
  await mkdir(path.join(packages, 'postrider-client'), { recursive: true });
  for (const name of ['resend', 'postmark', '@sendgrid', 'mailgun.js', '@aws-sdk']) {
    await symlink(path.join(ROOT, 'node_modules', name), path.join(packages, name));
  }
  const own = path.join(packages, 'postrider-client');
  await writeFile(path.join(own, 'package.json'), '{"type":"module","exports":"./index.ts"}');
  await symlink(path.join(ROOT, 'sdk/src/index.ts'), path.join(own, 'index.ts'));
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], {
    cwd: folder.path,
    env: { ...process.env, ...env },
  });
  return stdout;
}

/** Runs a command that prints until it is stopped. */
function follow(code: string): Disposable & { output: () => string } {
  const child = spawn('bash', ['-c', `exec ${code}`], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  return { output: () => text, [Symbol.dispose]: () => child.kill() };
}

function emailPreview(page: Page) {
  return page.frameLocator('iframe[title="Email preview"]');
}
