import { expect, test } from 'vitest';
import { OperatorKeys } from '../../src/accounts/operator-keys.ts';
import { decodeId } from '../../src/lib/ids.ts';
import { systemClock } from '../../src/lib/time/clock.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { accessibilityViolations, expectToFit } from '../harness/browser/checks.ts';
import { createPerson, PASSWORD } from '../harness/browser/dashboard-session.ts';

/** The operator creates, limits, suspends and deletes a workspace on screen, with an operator key only. */
browserSuite('operator area', (suite) => {
  test('a workspace from its creation to its deletion', async () => {
    const { pool } = suite.app().app.storage;
    const keys = new OperatorKeys({ pool, clock: systemClock });
    const { token } = await keys.create({ name: 'Console' });
    const check = async () => {
      expect(await accessibilityViolations(page)).toEqual([]);
      await expectToFit(page);
    };

    const addMembers = async (url: string) => {
      const workspaceId = decodeId('wsp', new URL(url).pathname.split('/').at(-1) ?? '');
      for (const name of ['First', 'Second']) {
        const email = `${name.toLowerCase()}@customer.example`;
        await createPerson(suite.app(), email, 'owner', workspaceId);
        await pool.query('update people set name = $2 where email = $1', [email, name]);
      }
    };

    // A session, even of an owner, is not enough.
    const page = await suite.openAs('owner');
    await page.goto('/app/operator');
    await page.getByLabel('Operator key').fill('pr_operator_wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('This is not a valid operator key').waitFor();
    await check();
    suite.takeErrors();
    await page.getByLabel('Operator key').fill(token);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('No delivery is late.').waitFor();
    await page.getByRole('table', { name: 'Workspaces' }).waitFor();
    await check();

    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create workspace' }).click();
    await dialog.getByLabel('Name').fill('Customer 1');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'Customer 1' }).waitFor();
    await page.getByText('No members yet.').waitFor();

    await page.getByRole('button', { name: 'Edit quotas' }).click();
    await page.getByLabel('Messages per day').fill('1000');
    await check();
    await page.getByRole('button', { name: 'Save' }).click();
    const usage = page.getByRole('table', { name: 'Usage' });
    await usage.getByText('1,000').waitFor();

    await page.getByRole('button', { name: 'Edit thresholds' }).click();
    await dialog.getByLabel('Pause at bounces of (%)').fill('7.5');
    await check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Paused at 7.5%').waitFor();
    await page.getByRole('button', { name: 'Rename' }).click();
    await dialog.getByLabel('Name').fill('Customer 2');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { name: 'Customer 2' }).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    expect(file.suggestedFilename()).toMatch(/^wsp_\w+\.ndjson$/);

    await page.getByRole('button', { name: 'Create API key' }).click();
    await dialog.getByLabel('Name').fill('First key');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    expect(await page.getByTestId('token').textContent()).toMatch(/^pr_live_/);
    await check();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByLabel('Email').fill('first@customer.example');
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByText('Share this link').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();

    await page.getByText('Not on probation.').waitFor();
    await page.getByRole('button', { name: 'Put on probation' }).click();
    await dialog.getByLabel('Last day').fill('2199-12-31');
    await check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('50 live messages per hour.').waitFor();
    // The thresholds that were set stay.
    await page.getByText('Paused at 7.5%').waitFor();
    await page.getByRole('button', { name: 'Change end' }).click();
    expect(await dialog.getByLabel('Last day').inputValue()).toBe('2199-12-31');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'End probation' }).click();
    await dialog.getByRole('button', { name: 'End probation' }).click();
    await page.getByText('Not on probation.').waitFor();

    await addMembers(page.url());
    await page.reload();
    await page.getByRole('button', { name: 'Remove Second' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('second@customer.example').waitFor({ state: 'detached' });
    await page.getByText('first@customer.example').waitFor();

    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByLabel('Reason').fill('Unpaid invoice');
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('Unpaid invoice').waitFor();
    await check();
    await page.getByRole('link', { name: 'Workspaces' }).first().click();
    await page.getByLabel('Suspended only').check();
    await page.getByRole('link', { name: 'Customer 2' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Active', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Delete workspace' }).click();
    await dialog.getByRole('textbox').fill('Customer 2');
    await dialog.getByRole('button', { name: 'Delete workspace' }).click();
    await page.getByText('Being deleted').waitFor();

    await page.getByRole('link', { name: 'Queue' }).click();
    await page.getByText('The queue is empty').waitFor();
    await check();
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByText('Suspended the workspace').waitFor();
    await check();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Operator key').waitFor();
    await page.reload();
    await page.getByLabel('Operator key').waitFor();
    expect(suite.takeErrors()).toEqual([]);
  });

  test('an instance owner creates and revokes operator keys', async () => {
    const { pool } = suite.app().app.storage;
    const page = await suite.openAs('owner');
    const check = async () => {
      expect(await accessibilityViolations(page)).toEqual([]);
      await expectToFit(page);
    };
    await page.goto('/app/operator/keys');
    await page.getByText('Only instance owners can manage operator keys').waitFor();
    await check();
    await pool.query(`update people set is_instance_owner = true where email = $1`, [
      'owner@shop.example',
    ]);
    // The way of someone who has no key yet.
    await page.goto('/app/operator');
    await page.getByRole('link', { name: 'on screen' }).click();
    await page.getByRole('button', { name: 'Create operator key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Billing');
    await dialog.getByLabel('Allowed IP addresses').fill('127.0.0.0/8, nowhere');
    await dialog.getByLabel('Your password').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('Use an IP address or a CIDR range').waitFor();
    await check();
    await dialog.getByLabel('Allowed IP addresses').fill('127.0.0.0/8, ::1');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const token = await page.getByTestId('token').textContent();
    expect(token).toMatch(/^pr_operator_/);
    await check();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('table', { name: 'Operator keys' }).getByText('Billing').waitFor();
    await check();
    await page.getByRole('link', { name: 'Workspaces' }).click();
    await page.getByLabel('Operator key').fill(token ?? '');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('table', { name: 'Workspaces' }).waitFor();
    await page.getByRole('link', { name: 'Operator keys' }).click();
    await page.getByRole('button', { name: 'Revoke Billing' }).click();
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    suite.takeErrors();
    await page.getByRole('link', { name: 'Queue' }).click();
    await page.getByText('This operator key was revoked.').first().waitFor();
    suite.takeErrors();
  });
});
