import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { accessibilityViolations, expectToFit } from '../harness/browser/checks.ts';
import { createPerson, PASSWORD, signInAs } from '../harness/browser/dashboard-session.ts';

/**
 * Goal: the pages before sign-in can be used with a keyboard, a screen reader and a password manager,
 * and say what to do next when a link no longer works.
 */

const lines: string[] = [];
const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });

/** The links in the log, where they are while no domain can send. */
const resetLinks = () => lines.join('').match(/\/app\/reset-password#[\w-]{43}/g) ?? [];

const focused = (page: Page) => page.locator(':focus');

browserSuite(
  'account forms',
  (suite) => {
    test('a password reset: focus, a visible password, and a second link in the same tab', async () => {
      const { email } = await createPerson(suite.app(), 'jane@forms.example', 'owner');
      const page = await suite.open({ width: 390 });
      await page.goto('/app/reset-password#used');
      await page.getByLabel('New password').fill('short');
      await page.getByRole('button', { name: 'Change password' }).click();
      // The server checks the link first.
      await page.getByRole('alert').getByText('This link was used').waitFor();
      await page.getByRole('link', { name: 'Request a new link' }).click();
      await page.getByLabel('Email').fill(email);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Check your inbox' }).waitFor();
      await expect.poll(() => focused(page).textContent()).toBe('Check your inbox');
      await expect.poll(resetLinks).toHaveLength(1);

      // Only the fragment of the address changes.
      await page.goto(resetLinks()[0] as string);
      const password = page.getByLabel('New password');
      await password.fill('short');
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText('Use at least 10 characters.').waitFor();
      await expect.poll(() => focused(page).getAttribute('autocomplete')).toBe('new-password');
      await password.fill(PASSWORD);
      await page.getByRole('button', { name: 'Show password' }).click();
      expect(await password.getAttribute('type')).toBe('text');
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Hide password' }).click();
      expect(await password.getAttribute('type')).toBe('password');
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByRole('heading', { name: 'Password changed' }).waitFor();
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Password').fill('a wrong guess');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText('Try again, or reset your password.').waitFor();
      await expect.poll(() => focused(page).textContent()).toBe('Sign in');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
      // The history has no sign-in page, which would ask for the password again.
      await page.goBack();
      await page.getByRole('heading', { name: 'Set a new password' }).waitFor();
    });

    test('an invitation with long names fits a phone and shows the address to password managers', async () => {
      const owner = await createPerson(suite.app(), 'owner@forms.example', 'owner');
      const visitor = await signInAs(suite.app(), owner);
      const name = 'Rechtsschutzversicherungsgesellschaften-Donaudampfschifffahrt';
      await visitor.call('PATCH', `/workspaces/${visitor.workspace}`, { body: { name } });
      const email = `${'x'.repeat(60)}@${'d'.repeat(60)}.${'e'.repeat(60)}.example.com`;
      const invited = await visitor.call('POST', '/invitations', {
        body: { email, role: 'viewer' },
      });
      const page = await suite.open();
      await page.goto(`/app/invitation${new URL(invited.json.link).hash}`);
      await page.getByRole('heading', { name: `Join ${name}` }).waitFor();
      expect(await page.getByLabel('Email').inputValue()).toBe(email);
      expect(await page.getByLabel('Email').getAttribute('autocomplete')).toBe('username');
      await expectToFit(page);
      expect(await accessibilityViolations(page)).toEqual([]);
    });

    test('a sign-in that expired while waiting for the code starts over', async () => {
      const page = await suite.open();
      await page.route('**/api/v1/session', (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ json: { me: null, challenge: createHash('md5').digest('hex') } })
          : route.continue(),
      );
      await page.goto('/app/sign-in');
      for (const leave of ['Back', 'Start over']) {
        await page.getByLabel('Email').fill('jane@forms.example');
        await page.getByLabel('Password').fill(PASSWORD);
        await page.keyboard.press('Enter');
        await page.getByLabel('Code').fill('123456');
        if (leave === 'Start over') {
          await page.keyboard.press('Enter');
          await page.getByText('Start again with your password.').waitFor();
          await expect.poll(() => focused(page).textContent()).toBe('Start over');
        }
        await page.getByRole('button', { name: leave }).click();
      }
      await page.getByLabel('Password').waitFor();
    });

    test('without the setup link, another machine shows where to find it', async () => {
      const page = await suite.open();
      await page.route('**/api/v1/setup', (route) =>
        route.fulfill({ json: { needed: true, link_required: true } }),
      );
      await page.goto('/app/setup');
      await page.getByRole('heading', { name: 'Open the setup link' }).waitFor();
      expect(await page.getByRole('button', { name: 'Create account' }).count()).toBe(0);
      // Pasted into the same tab.
      await page.goto('/app/setup#a-link');
      await page.getByRole('button', { name: 'Create account' }).waitFor();
    });
  },
  { log },
);
