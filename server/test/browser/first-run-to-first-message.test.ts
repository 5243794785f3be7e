import { execFile } from 'node:child_process';
import { parseEnv, promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';
import { createPerson } from '../harness/dashboard-session.ts';
import { SubmissionClient } from '../harness/submission-client.ts';

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

      await page.getByRole('link', { name: 'API reference' }).click();
      await page.getByRole('heading', { name: 'Postrider API' }).waitFor();
      await page.getByRole('link', { name: 'Dashboard' }).click();

      await page.getByRole('link', { name: 'API keys' }).click();
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Web shop');
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      const token = (await page.getByTestId('token').textContent()) ?? '';
      expect(token).toMatch(/^pr_test_/);
      const curl = (await page.getByRole('region', { name: 'curl example' }).textContent()) ?? '';
      expect(curl).toContain(token);
      await page.getByRole('button', { name: 'Done' }).click();
      await expect.poll(() => page.content()).not.toContain(token);

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
      await page.getByRole('button', { name: 'SMTP', exact: true }).click();
      const shown = (await page.getByRole('region', { name: 'SMTP example' }).textContent()) ?? '';
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

function emailPreview(page: Page) {
  return page.frameLocator('iframe[title="Email preview"]');
}
