import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser.ts';
import { overflows } from '../harness/browser-checks.ts';

/**
 * Goal: a developer finds out in seconds why a mail did not arrive: what happened in plain words,
 * what the receiver said, and what to do now.
 * Method: the simulator plays the receivers, in test mode.
 */
const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();

browserSuite('a message that did not arrive', (suite) => {
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

  test('is found by its status, says why, shows the conversation, and can be tried again', async () => {
    await send('bounced+one@simulator.test', 'To nobody');
    await send('delivered@simulator.test', 'To somebody');
    const page = await suite.openAs('developer');
    await page.goto('/app/messages');
    await page.getByRole('link', { name: 'To somebody' }).waitFor();
    await page.getByLabel('Status').selectOption('bounced');
    await page.waitForURL(/status=bounced/);
    await page.getByRole('link', { name: 'To somebody' }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: 'To nobody' }).click();

    const why = page.getByRole('alert');
    await why.getByText('The mailbox does not exist. Check the address').waitFor();
    await why.getByText('550 5.1.1 The mailbox does not exist').waitFor();
    await why.getByText('Addresses of the simulator are never put there').waitFor();
    await page.getByRole('tab', { name: 'Attempts' }).click();
    await page.getByText('RCPT TO:<bounced+one@simulator.test>').waitFor();
    await page.getByRole('button', { name: 'Try again now' }).click();
    await page.getByText('It is tried again now.').waitFor();
    await page.getByText('Attempt 2').waitFor();
  });

  test('of a real address leads to the suppression list, where it can be taken off', async () => {
    const { status } = await suite.app().call('POST', '/suppressions', {
      body: { email: 'gone@example.com', reason: 'hard_bounce' },
    });
    expect(status).toBe(201);
    const page = await messagePage('gone@example.com', 'To a suppressed address');
    await page.getByText(/gone@example\.com was not written to/).waitFor();
    await page.getByRole('link', { name: 'suppression list' }).click();
    await page.waitForURL(/suppressions\?q=gone%40example\.com/);
    await page
      .getByRole('row', { name: /gone@example\.com/ })
      .getByRole('button')
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('row', { name: /gone@example\.com/ }).waitFor({ state: 'detached' });
  });

  test('tells apart a full mailbox, a rule of the receiver, and a sender it cannot verify', async () => {
    const cases = [
      ['mailbox-full', 'The mailbox is full. Try again after the recipient has freed up space.'],
      ['blocked', "The receiver's policy does not allow this message."],
      ['smtp-550-5.7.26', "Check the domain's SPF, DKIM and DMARC records"],
    ] as const;
    for (const [part] of cases) await send(`${part}@simulator.test`, `By ${part}`);
    const page = await suite.openAs('developer');
    await page.goto('/app/messages');
    for (const [part, words] of cases) {
      await page.getByRole('link', { name: `By ${part}` }).click();
      await page.getByRole('alert').getByText(words).waitFor();
      await page.goBack();
    }
  });

  test('is explained in the list already, for whom the search was for', async () => {
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
    await page.getByText('It arrived in the test inbox, for delivered@simulator.test').waitFor();
  });

  test('is found in the other mode too', async () => {
    await send('delivered+there@simulator.test', 'Sent in test mode');
    const page = await suite.openAs('developer', { mode: 'live' });
    await page.goto('/app/messages?q=delivered%2Bthere');
    await page.getByText('what fits them was sent in test mode').waitFor();
    await page.getByRole('button', { name: 'Look in test mode' }).click();
    await page.getByRole('link', { name: 'Sent in test mode' }).waitFor();
    await page.goto('/app/messages?q=never-sent');
    await page.getByText('A message is found from the moment').waitFor();
    expect(await page.getByRole('button', { name: /^Look in/ }).count()).toBe(0);
  });

  test.each([
    ['delivered', {}, 'It arrived in the test inbox'],
    ['complained', {}, 'complained@simulator.test has it, and called it spam'],
    ['delivered', { scheduled_at: IN_AN_HOUR }, 'Then it leaves by itself'],
    ['defer-99', { ttl_seconds: 1 }, ', for 1 second, the time to live that it was sent with'],
    ['defer-99', {}, 'If nobody takes it, it ends as expired after 3 days.'],
  ])('%s@ with %j: where it is stands first', async (part, more, words) => {
    const body = validMessage({ to: { email: `${part}@simulator.test` }, ...more });
    const { json } = await suite.app().call('POST', '/transactional/send', { body });
    const page = await suite.openAs('developer');
    await page.goto(`/app/messages/${json.id}`);
    await page.getByText(words).waitFor();
  });

  test('with a long subject and address stays inside a phone, and in four lines', async () => {
    const subject = `Order ${'W'.repeat(300)} the end`;
    const to = `${'long.local.part.'.repeat(3)}x@${'subdomain-of-a-long-name.'.repeat(5)}example.com`;
    const page = await messagePage(to, subject);
    await page.getByText('It arrived in the test inbox').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await overflows(page)).toEqual([]);
    const inside = `[...document.querySelectorAll('main [role=status], main aside section')]
      .every((box) => box.getBoundingClientRect().right <= 390 && box.scrollWidth <= box.clientWidth)`;
    expect(await page.evaluate(inside)).toBe(true);
    const heading = await page.getByRole('heading', { level: 1 }).boundingBox();
    expect(heading?.height).toBeLessThan(130);
    await page.getByRole('definition').filter({ hasText: 'the end' }).waitFor();
  });

  test('for long: the reason is told once, and no try that is over is announced', async () => {
    const page = await messagePage('defer-2@simulator.test', 'Later and later');
    await page.getByText('It arrived in the test inbox').waitFor();
    expect(await page.getByText('Not taken yet').count()).toBe(2);
    expect(await page.getByText('asks unknown senders to retry').count()).toBe(1);
    expect(await page.getByText('Next try').count()).toBe(0);
  });

  test('yet: says when the next try is, and turns to delivered without a reload', async () => {
    const page = await messagePage('deferred@simulator.test', 'Later');
    await page.getByText('Not taken yet').first().waitFor();
    await page.getByText('Delivered', { exact: true }).waitFor();
    expect(await page.getByText('Not taken yet').count()).toBe(2);
  });
});
