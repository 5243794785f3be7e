import { expect, test } from 'vitest';
import { sqlTime } from '../../src/storage/row-types.ts';
import { browserSuite } from '../harness/browser.ts';

/** What a person sees first: what needs them, what is still to set up, and how sending goes. */
browserSuite('the overview', (suite) => {
  const send = (email: string) =>
    suite.app().call('POST', '/transactional/send', {
      body: {
        to: { email },
        from: { email: 'hello@shop.example' },
        subject: 'Hello',
        html: '<p>Hello</p>',
      },
    });

  test('the steps to the first message, and figures that follow what happens', async () => {
    const page = await suite.openAs('owner');
    await page.goto('/app');
    await page.getByText('Nothing needs you.').waitFor();
    await page.getByText('1 of 5 done').waitFor();
    await page.getByRole('region', { name: 'curl example' }).waitFor();
    await page.getByText('Nothing in this time').first().waitFor();
    await send('delivered@simulator.test');
    await send('bounced@simulator.test');
    await page.getByText('2 of 5 done').waitFor();
    await page.getByText('The mailbox does not exist').waitFor();
    await page.getByRole('button', { name: 'Hour' }).click();
    await page.waitForURL(/range=hour$/);
    await page.getByRole('figure', { name: /^In the last hour: 1 delivered, 1 bounced/ }).waitFor();
    await page.getByRole('button', { name: 'Table' }).first().click();
    const table = page.getByRole('region', { name: 'What became of it, table' });
    await table.getByRole('columnheader', { name: 'Delivered' }).waitFor();
    expect(await table.getByRole('row').count()).toBe(61);
    const cells = await table.getByRole('cell').allTextContents();
    expect(cells.reduce((sum, cell) => sum + Number(cell), 0)).toBe(2);
    await page.getByRole('link', { name: 'See them' }).click();
    await page.waitForURL('**/app/messages?status=bounced');
    expect(suite.troubles()).toEqual([]);
  });

  test('problems come first, each with the way to where it is mended', async () => {
    const { database, workspaceId } = suite.app();
    const made = await suite.app().call('POST', '/webhooks', {
      body: { url: 'https://hooks.example/mail' },
    });
    await database.pool.query(
      `update webhooks set enabled = false, disabled_at = $1, disabled_reason = 'gone'`,
      [sqlTime(Date.now())],
    );
    await database.pool.query(
      `insert into alarms values ($1, 'test', 'bounce_rate', 'shop.example', $2)`,
      [workspaceId, sqlTime(Date.now())],
    );
    const page = await suite.openAs('owner');
    await page.goto('/app');
    await page
      .getByRole('link', { name: 'Too much of what shop.example sends bounces.' })
      .waitFor();
    await page.getByRole('link', { name: 'The endpoint at hooks.example is off' }).click();
    await page.waitForURL(`**/app/webhooks/${made.json.id}`);
    await page.getByText(/This endpoint is off. It answered 410/).waitFor();
    expect(suite.troubles()).toEqual([]);
  });
});
