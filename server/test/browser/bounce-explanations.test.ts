import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { overflows } from '../harness/browser/checks.ts';

/**
 * Goal: a developer finds out in seconds why an email did not arrive: what happened, what the
 * receiving server replied, and what to do.
 * Method: the simulator acts as the receiving server, in test mode.
 */
const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();

browserSuite('bounce explanations', (suite) => {
  async function send(to: string, subject: string): Promise<string> {
    const body = validMessage({ to: { email: to }, subject });
    const { status, json } = await suite.app().call('POST', '/transactional/send', { body });
    expect(status).toBe(202);
    return json.id;
  }

  async function messagePage(to: string, subject: string): Promise<Page> {
    const id = await send(to, subject);
    const page = await suite.openAs('developer');
    await page.goto(`/app/messages/${id}`);
    return page;
  }

  test('a bounced message is found by status, shows the reason and the transcript, and can be retried', async () => {
    await send('bounced+one@simulator.test', 'To an unknown mailbox');
    await send('delivered@simulator.test', 'To a known mailbox');
    const page = await suite.openAs('developer');
    await page.goto('/app/messages');
    await page.getByRole('link', { name: 'To a known mailbox' }).waitFor();
    await page.getByLabel('Status').selectOption('bounced');
    await page.waitForURL(/status=bounced/);
    await page.getByRole('link', { name: 'To a known mailbox' }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: 'To an unknown mailbox' }).click();

    const why = page.getByRole('alert');
    await why.getByText('The mailbox does not exist. Check the address').waitFor();
    await why.getByText('550 5.1.1 The mailbox does not exist').waitFor();
    await why.getByText('Simulator addresses are never suppressed').waitFor();
    await page.getByRole('tab', { name: 'Attempts' }).click();
    await page.getByText('RCPT TO:<bounced+one@simulator.test>').waitFor();
    await page.getByRole('button', { name: 'Retry now' }).click();
    await page.getByText('Retrying now.').waitFor();
    await page.getByText('Attempt 2').waitFor();
  });

  test('a suppressed recipient links to the suppression list, where the address can be removed', async () => {
    const { status } = await suite.app().call('POST', '/suppressions', {
      body: { email: 'gone@example.com', reason: 'hard_bounce' },
    });
    expect(status).toBe(201);
    const page = await messagePage('gone@example.com', 'To a suppressed address');
    await page.getByText(/Not sent to gone@example\.com/).waitFor();
    await page.getByRole('link', { name: 'suppression list' }).click();
    await page.waitForURL(/suppressions\?q=gone%40example\.com/);
    await page
      .getByRole('row', { name: /gone@example\.com/ })
      .getByRole('button')
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('row', { name: /gone@example\.com/ }).waitFor({ state: 'detached' });
  });

  test('distinguishes a full mailbox, a policy block and failed authentication', async () => {
    const cases = [
      ['mailbox-full', 'The mailbox is full. Try again after the recipient has freed up space.'],
      ['blocked', "The receiver's policy does not allow this message."],
      ['smtp-550-5.7.26', "Check the domain's SPF, DKIM and DMARC records"],
    ] as const;
    for (const [part] of cases) await send(`${part}@simulator.test`, `By ${part}`);
    const page = await suite.openAs('developer');
    await page.goto('/app/messages');
    for (const [part, text] of cases) {
      await page.getByRole('link', { name: `By ${part}` }).click();
      await page.getByRole('alert').getByText(text).waitFor();
      await page.goBack();
    }
  });

  test('failed authentication leads to the records of the sender domain', async () => {
    const page = await messagePage('smtp-550-5.7.26@simulator.test', 'Not authenticated');
    await page.getByRole('link', { name: 'Add example.org as a sending domain' }).waitFor();
    const { call, liveKey } = suite.app();
    await call('POST', '/domains', { key: liveKey, body: { name: 'example.org' } });
    await page.reload();
    await page.getByRole('link', { name: 'Check the DNS records of example.org' }).click();
    await page.getByRole('heading', { name: 'example.org' }).waitFor();
  });

  test('the list explains the bounce of the recipient that matches the search', async () => {
    const body = validMessage({
      to: { email: 'delivered@simulator.test' },
      cc: [{ email: 'bounced+copy@simulator.test' }],
      subject: 'To two',
    });
    await suite.app().call('POST', '/transactional/send', { body });
    const page = await suite.openAs('developer');
    await page.goto('/app/messages');
    await page.getByLabel('Search subjects and addresses').fill('bounced+copy');
    const row = page.getByRole('listitem').filter({ hasText: 'To two' });
    await row.getByText('bounced+copy@simulator.test').waitFor();
    await row.getByText('The mailbox does not exist.').waitFor();
    await row.getByRole('link').click();
    await page.getByRole('alert').getByText('The mailbox does not exist. Check').waitFor();
    await page.getByText('Delivered to the test inbox for delivered@simulator.test').waitFor();
  });

  test('a search suggests the other mode if the message is there', async () => {
    await send('delivered+there@simulator.test', 'Sent in test mode');
    const page = await suite.openAs('developer', { mode: 'live' });
    await page.goto('/app/messages?q=delivered%2Bthere');
    await page.getByText('Matching messages exist in test mode.').waitFor();
    await page.getByRole('button', { name: 'Switch to test mode' }).click();
    await page.getByRole('link', { name: 'Sent in test mode' }).waitFor();
    await page.goto('/app/messages?q=never-sent');
    await page.getByText('Messages are searchable until').waitFor();
    expect(await page.getByRole('button', { name: /^Switch to/ }).count()).toBe(0);
  });

  test.each([
    ['delivered', {}, 'Delivered to the test inbox'],
    ['complained', {}, 'complained@simulator.test received it and marked it as spam'],
    ['delivered', { scheduled_at: IN_AN_HOUR }, 'Scheduled for'],
    ['defer-99', { ttl_seconds: 1 }, 'within 1 second, the time to live set for this message'],
    ['defer-99', {}, 'Expires after 3 days without delivery.'],
  ])('%s@ with %j: the summary shows where it is', async (part, more, text) => {
    const body = validMessage({ to: { email: `${part}@simulator.test` }, ...more });
    const { json } = await suite.app().call('POST', '/transactional/send', { body });
    const page = await suite.openAs('developer');
    await page.goto(`/app/messages/${json.id}`);
    await page.getByRole('main').getByText(text).first().waitFor();
  });

  test('a long subject and address fit a phone screen, with at most four lines', async () => {
    const subject = `Order ${'W'.repeat(300)} the end`;
    const to = `${'long.local.part.'.repeat(3)}x@${'subdomain-of-a-long-name.'.repeat(5)}example.com`;
    const page = await messagePage(to, subject);
    await page.getByText('Delivered to the test inbox').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await expect.poll(() => overflows(page)).toEqual([]);
    const inside = `[...document.querySelectorAll('main [role=status], main aside section')]
      .every((box) => box.getBoundingClientRect().right <= 390 && box.scrollWidth <= box.clientWidth)`;
    expect(await page.evaluate(inside)).toBe(true);
    const heading = await page.getByRole('heading', { level: 1 }).boundingBox();
    expect(heading?.height).toBeLessThan(130);
    await page.getByRole('definition').filter({ hasText: 'the end' }).waitFor();
  });

  test('a repeated deferral is explained once, and no past retry is announced', async () => {
    const page = await messagePage('defer-2@simulator.test', 'Later and later');
    await page.getByText('Delivered to the test inbox').waitFor();
    await expect.poll(() => page.getByText('Deferred, will retry').count()).toBe(2);
    expect(await page.getByText('asks unknown senders to retry').count()).toBe(1);
    expect(await page.getByText('Next retry').count()).toBe(0);
  });

  test('a deferred message becomes delivered without a reload', async () => {
    const page = await messagePage('deferred@simulator.test', 'Later');
    await page.getByText('Deferred, will retry').first().waitFor();
    await page.getByRole('tabpanel').getByText('Delivered', { exact: true }).waitFor();
    await expect.poll(() => page.getByText('Deferred, will retry').count()).toBe(2);
  });
});
