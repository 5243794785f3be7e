import { expect, test } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { browserSuite } from '../harness/browser.ts';
import { accessibilityViolations } from '../harness/browser-checks.ts';
import { createPerson, PASSWORD } from '../harness/dashboard-session.ts';

/** Goal: a user changes their sign-in address on screen, and its previous owner can undo it. */

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
  },
  { log },
);
