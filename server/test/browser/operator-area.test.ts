import { expect, test } from 'vitest';
import { OperatorKeys } from '../../src/accounts/operator-keys.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { browserSuite } from '../harness/browser.ts';
import { accessibilityViolations, overflows } from '../harness/browser-checks.ts';

/** The operator creates, limits, suspends and deletes a workspace on screen, with an operator key only. */
browserSuite('operator area', (suite) => {
  test('a workspace from its creation to its deletion', async () => {
    const { pool } = suite.app().app.storage;
    const keys = new OperatorKeys({ pool, clock: systemClock });
    const { token } = await keys.create({ name: 'Console' });
    const check = async () => {
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await overflows(page)).toEqual([]);
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
    await page.getByText('Paused at 7.5 %').waitFor();
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
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByLabel('Email').fill('first@customer.example');
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByText('Share this link').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();

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
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByText('Suspend workspace').waitFor();
    await check();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Operator key').waitFor();
    await page.reload();
    await page.getByLabel('Operator key').waitFor();
    expect(suite.takeErrors()).toEqual([]);
  });
});
