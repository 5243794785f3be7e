import { expect, onTestFinished, test } from 'vitest';
import { LOCK_CLASS, LOCKS } from '../../src/db/lock-numbers.ts';
import { sqlTime } from '../../src/db/schema/row-types.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { overflows } from '../harness/browser/checks.ts';

/** The overview shows issues, the setup checklist, and sending statistics. */
browserSuite('overview page', (suite) => {
  const hello = (email: string) => ({
    to: { email },
    from: { email: 'hello@shop.example' },
    subject: 'Hello',
    html: '<p>Hello</p>',
  });
  const send = (email: string) =>
    suite.app().call('POST', '/transactional/send', { body: hello(email) });

  test('shows the setup steps, and statistics that update live', async () => {
    const page = await suite.openAs('owner');
    await page.goto('/app');
    await page.getByText('No issues').waitFor();
    await page.getByText('1 of 5 done').waitFor();
    await page.getByRole('region', { name: 'curl example' }).waitFor();
    await page.getByText('No data in this period').first().waitFor();
    await send('delivered@simulator.test');
    await send('bounced@simulator.test');
    await page.getByText('2 of 5 done').waitFor();
    await page.getByText('Mailbox does not exist').waitFor();
    await page.getByRole('button', { name: 'Hour' }).click();
    await page.waitForURL(/range=hour$/);
    await page.getByRole('figure', { name: /^In the last hour: 1 delivered, 1 bounced/ }).waitFor();
    await page.getByRole('button', { name: 'Table' }).first().click();
    const table = page.getByRole('region', { name: 'Delivery outcomes, table' });
    await table.getByRole('columnheader', { name: 'Delivered' }).waitFor();
    expect(await table.getByRole('row').count()).toBe(61);
    const cells = await table.getByRole('cell').allTextContents();
    expect(cells.reduce((sum, cell) => sum + Number(cell), 0)).toBe(2);
    await page.getByRole('link', { name: 'View messages' }).click();
    await page.waitForURL('**/app/messages?status=bounced&since=1h');
    await page.goBack();
    await page.getByRole('link', { name: 'Mailbox does not exist' }).click();
    await page.waitForURL('**/app/messages?status=bounced&reason=unknown_mailbox&since=1h');
    await page.getByRole('button', { name: 'Reason: Mailbox does not exist' }).waitFor();
    await page.getByRole('link', { name: 'Hello' }).waitFor();
    expect(suite.takeErrors()).toEqual([]);
  });

  test('statistics by group link to their messages', async () => {
    const tagged = (email: string, tag: string) =>
      suite.app().call('POST', '/transactional/send', {
        body: { ...hello(email), tags: [tag] },
      });
    await tagged('delivered@simulator.test', 'receipts');
    await tagged('bounced@simulator.test', 'receipts');
    await tagged('delivered@simulator.test', 'welcome');
    const page = await suite.openAs('owner');
    await page.goto('/app?range=week');
    const receipts = page
      .getByRole('table', { name: 'Statistics by tag' })
      .getByRole('row', { name: /^receipts / });
    await receipts.getByRole('cell', { name: '50%' }).first().waitFor();
    await page.getByRole('button', { name: 'Sender' }).click();
    await page.waitForURL(/by=domain/);
    const senders = page.getByRole('table', { name: 'Statistics by sender' });
    await senders.getByRole('row', { name: /^shop\.example .*100%/ }).waitFor();
    await senders.getByRole('link', { name: 'shop.example' }).click();
    await page.waitForURL('**/app/messages?domain=shop.example&since=7d');
    await page.getByRole('link', { name: 'Hello' }).first().waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Provider' }).click();
    await page
      .getByRole('table', { name: 'Statistics by provider' })
      .getByRole('link', { name: 'Other' })
      .click();
    await page.waitForURL('**/app/messages?receiver=other&since=7d');
    await page.getByRole('link', { name: 'Hello' }).first().waitFor();
    await page.getByRole('button', { name: 'Provider: Other' }).click();
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByLabel('Mailbox provider').fill('gmail.com');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('No messages match these filters').waitFor();
    await page.goto('/app?range=week&by=domain');
    await page.getByRole('button', { name: 'Template' }).click();
    await page.getByText('No messages from templates in this period.').waitFor();
    await page.getByRole('button', { name: 'Tag' }).click();
    await receipts.getByRole('link', { name: '50%' }).click();
    await page.waitForURL('**/app/messages?tag=receipts&since=7d&status=bounced');
    await page.getByRole('link', { name: 'Hello' }).first().waitFor();
    await page.goBack();
    await receipts.getByRole('link', { name: 'receipts' }).click();
    await page.waitForURL('**/app/messages?tag=receipts&since=7d');
    expect(suite.takeErrors()).toEqual([]);
  });

  test('issues come first, each with a link to fix it', async () => {
    const { database, workspaceId } = suite.app();
    // The periodic check would clear an alarm that nothing keeps raised, so this test holds its lock.
    const lock = await database.pool.connect();
    onTestFinished(() => lock.release(true));
    await lock.query('select pg_advisory_lock($1, $2)', [LOCK_CLASS, LOCKS.alarms]);
    const created = await suite.app().call('POST', '/webhooks', {
      body: { url: 'https://hooks.example/mail' },
    });
    await database.pool.query(
      `update webhooks set enabled = false, disabled_at = $1, disabled_reason = 'gone'`,
      [sqlTime(Date.now())],
    );
    await database.pool.query(`insert into alarms values ($1, 'test', 'queue_age', '', $2)`, [
      workspaceId,
      sqlTime(Date.now()),
    ]);
    const page = await suite.openAs('owner');
    await page.goto('/app');
    await page
      .getByRole('link', { name: 'Messages have been waiting in the queue for too long.' })
      .waitFor();
    await page.getByRole('link', { name: 'Webhook hooks.example is disabled' }).click();
    await page.waitForURL(`**/app/webhooks/${created.json.id}`);
    await page.getByText(/This endpoint is disabled. It responded with 410/).waitFor();
    expect(suite.takeErrors()).toEqual([]);
  });

  test('charts fit a narrower window before the browser reports their new size', async () => {
    const page = await suite.openAs('owner', { width: 1440, fresh: true });
    // Like a page in the background, which renders no frames for a while, and a page in print.
    await page.addInitScript(`globalThis.ResizeObserver = class extends ResizeObserver {
      constructor(report) {
        super((...changes) => globalThis.reportsNoSizes || report(...changes));
      }
    }`);
    await page.goto('/app');
    await page.locator('main figure svg').first().waitFor();
    await page.evaluate('globalThis.reportsNoSizes = true');
    for (const width of [1024, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect([width, await overflows(page)]).toEqual([width, []]);
    }
  });
});
