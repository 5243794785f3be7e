import { expect, test } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { accessibilityViolations } from '../harness/browser/checks.ts';
import { createPerson, PASSWORD } from '../harness/browser/dashboard-session.ts';

/**
 * Goal: on screen, a user changes their sign-in address and undoes it, and deletes and restores a
 * workspace and their account.
 */

const lines: string[] = [];
const log = createLog({ level: 'info', destination: { write: (line) => lines.push(line) } });

/** Without a sending domain, links are in the log. */
async function linkTo(path: string): Promise<string> {
  const find = () => new RegExp(`/app/${path}#[\\w-]{43}`).exec(lines.join(''))?.[0];
  await expect.poll(find).toBeTruthy();
  return find() as string;
}

browserSuite(
  'account changes',
  (suite) => {
    test('an address that is not verified is verified with a link to it', async () => {
      const app = suite.app();
      const person = await createPerson(app, 'ann@old.example', 'owner', app.workspaceId, false);
      const page = await suite.openFor(person);
      await page.goto('/app/settings');
      await page.getByText('Not verified yet.').waitFor();
      await page.getByRole('button', { name: 'Verify email' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Your password').fill(PASSWORD);
      expect(await accessibilityViolations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Send link' }).click();
      await dialog.getByText('We sent a link to ann@old.example').waitFor();
      await page.goto(await linkTo('confirm-email'));
      await page.getByRole('button', { name: 'Confirm address' }).click();
      await page.getByText('You now sign in with ann@old.example').waitFor();
      await page.goto('/app/settings');
      await page.getByRole('button', { name: 'Change email' }).waitFor();
      expect(await page.getByRole('button', { name: 'Verify email' }).count()).toBe(0);
      lines.length = 0;
    });

    test('the email address is changed, and the change is undone', async () => {
      const person = await createPerson(suite.app(), 'jane@old.example', 'owner');
      const page = await suite.openFor(person);
      await page.goto('/app/settings');
      await page.getByRole('button', { name: 'Change email' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('New email').fill('jane@new.example');
      await dialog.getByLabel('Your password').fill('a wrong guess');
      await dialog.getByRole('button', { name: 'Send link' }).click();
      await dialog.getByText('The password is wrong.').waitFor();
      await dialog.getByLabel('Your password').fill(PASSWORD);
      await dialog.getByRole('button', { name: 'Send link' }).click();
      await dialog.getByText('We sent a link to jane@new.example').waitFor();

      const other = await suite.open();
      await other.goto(await linkTo('confirm-email'));
      await other.getByLabel('Email').fill('jane@old.example');
      await other.getByLabel('Password').fill(PASSWORD);
      expect(await accessibilityViolations(other)).toEqual([]);
      await other.getByRole('button', { name: 'Sign in' }).click();
      await other.getByText('You now sign in with jane@new.example').waitFor();
      await other.getByRole('link', { name: 'Go to dashboard' }).click();
      await other.getByRole('heading', { name: 'Overview', exact: true }).waitFor();

      const undoing = await suite.open();
      await undoing.goto(await linkTo('undo-email-change'));
      await undoing.getByLabel('New password').fill('kettle rain ladders');
      expect(await accessibilityViolations(undoing)).toEqual([]);
      await undoing.getByRole('button', { name: 'Undo the change' }).click();
      await undoing.getByRole('link', { name: 'Sign in' }).click();
      await undoing.getByLabel('Email').fill('jane@old.example');
      await undoing.getByLabel('Password').fill('kettle rain ladders');
      await undoing.getByRole('button', { name: 'Sign in' }).click();
      await undoing.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    });

    test('a workspace and an account are exported, deleted and restored', async () => {
      const app = suite.app();
      const { id } = await app.app.workspaces.create('Second shop');
      const person = await createPerson(app, 'joe@second.example', 'owner', id);
      const page = await suite.openFor(person);
      await page.goto('/app/settings?tab=workspace');
      await page.getByRole('button', { name: 'Delete workspace' }).click();
      const dialog = page.getByRole('dialog');
      const download = page.waitForEvent('download');
      await dialog.getByRole('button', { name: 'Export live contacts' }).click();
      expect((await download).suggestedFilename()).toBe('contacts-live.ndjson');
      const confirm = dialog.getByRole('button', { name: 'Delete workspace' });
      expect(await confirm.isDisabled()).toBe(true);
      await dialog.getByLabel(/to confirm/).fill('Second shop');
      expect(await accessibilityViolations(page)).toEqual([]);
      await confirm.click();
      await page.getByText('This workspace will be deleted after').first().waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByRole('link', { name: 'Restore it in the settings' }).click();
      await page.getByRole('button', { name: 'Restore workspace' }).click();
      await page.getByText('Workspace restored.').waitFor();

      await page.goto('/app/settings');
      await page.getByRole('button', { name: 'Delete account' }).click();
      const account = page.waitForEvent('download');
      await dialog.getByRole('button', { name: 'Export your account' }).click();
      expect((await account).suggestedFilename()).toBe('account.json');
      await dialog.getByLabel('Your password').fill(PASSWORD);
      await dialog.getByRole('button', { name: 'Delete account' }).click();
      await dialog.getByText('You are the only owner of "Second shop".').waitFor();
      await createPerson(app, 'heir@second.example', 'owner', id);
      await dialog.getByRole('button', { name: 'Delete account' }).click();
      await page.getByText('Your account will be deleted after').waitFor();
      await page.getByLabel('Email').fill(person.email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('link', { name: 'Restore your account in the settings' }).click();
      await page.getByRole('button', { name: 'Restore account' }).click();
      await page.getByText('Account restored.').waitFor();
      await page.getByRole('button', { name: 'Delete account' }).waitFor();
    });
  },
  { log },
);
