import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';

/** Streams on screen: their defaults, who subscribes, and pages that show one stream only. */
browserSuite(
  'streams on screen',
  (suite) => {
    const key = 'weekly-digest';
    const createStream = () =>
      suite.app().call('POST', '/streams', {
        body: { key, name: 'Weekly digest', purpose: 'subscription' },
      });
    const save = (page: Page) =>
      page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();

    test('defaults of a stream are set and shown', async () => {
      await createStream();
      const page = await suite.openAs('owner', { mode: 'live' });
      await page.goto('/app/streams');
      const row = page.getByRole('row', { name: /Weekly digest/ });
      await row.getByText('None').waitFor();
      await row.getByRole('button', { name: 'Edit Weekly digest' }).click();
      await page.getByLabel('Default sender').fill('digest@shop.example');
      await page.getByLabel('Sender’s display name').fill('The Shop');
      await page.getByLabel('Route').selectOption('bulk');
      await page.getByLabel('Recipients per minute').fill('600');
      await page.getByLabel('Keep content (days)').fill('7');
      await save(page);
      await row.getByText('From digest@shop.example').waitFor();
      await row.getByText('Content kept for 7 days').waitFor();
      expect((await suite.app().call('GET', `/streams/${key}`)).json).toMatchObject({
        from: { email: 'digest@shop.example', name: 'The Shop' },
        route: 'bulk',
        messages_per_minute: 600,
        content_retention_days: 7,
      });
    });

    test('a contact shows its subscriptions with time and source, and changes them', async () => {
      await createStream();
      const email = 'jane@example.com';
      const subscriptions = { [key]: 'subscribed' };
      await suite.app().call('PUT', `/contacts/${email}`, { body: { subscriptions } });
      const page = await suite.openAs('owner');
      await page.goto(`/app/contacts?open=${email}`);
      const status = page.getByLabel('Subscription: Weekly digest');
      await page.getByText(/^Since .*, by API$/).waitFor();
      await status.selectOption('Unsubscribed');
      await save(page);
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.goto(`/app/contacts?open=${email}`);
      await page.getByText(/^Since .*, in the dashboard$/).waitFor();
      expect(await status.inputValue()).toBe('unsubscribed');
      const suppressed = await suite.app().call('GET', `/suppressions?email=${email}`);
      expect(suppressed.json.data).toMatchObject([{ stream: key, reason: 'unsubscribe' }]);

      await suite.app().call('POST', '/suppressions', {
        body: { email, stream: key, reason: 'complaint' },
      });
      await status.selectOption('Subscribed');
      await save(page);
      await page.getByText(/Delete that suppression first/).waitFor();
    });

    test('a webhook is limited to a stream', async () => {
      await createStream();
      const url = 'http://127.0.0.1:8080/hook';
      const { json } = await suite.app().call('POST', '/webhooks', { body: { url } });
      const page = await suite.openAs('owner');
      await page.goto(`/app/webhooks/${json.id}`);
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Edit' }).click();
      await page.getByText('Only some streams').click();
      await page.getByLabel('Weekly digest').check();
      await save(page);
      await page.getByText(key, { exact: true }).waitFor();
      const read = await suite.app().call('GET', `/webhooks/${json.id}`);
      expect(read.json.streams).toEqual([key]);
    });

    test('statistics and events of one stream', async () => {
      await createStream();
      const send = (stream: string, email: string) =>
        suite.app().call('POST', '/transactional/send', {
          body: validMessage({ stream, to: { email } }),
        });
      await send('transactional', 'delivered@simulator.test');
      await send(key, 'bounced@simulator.test');
      const page = await suite.openAs('owner');
      await page.goto('/app?range=hour');
      await page.getByRole('figure', { name: /1 delivered, 1 bounced/ }).waitFor();
      await page.getByLabel('Stream', { exact: true }).selectOption('Weekly digest');
      await page.getByRole('figure', { name: /: 0 delivered, 1 bounced/ }).waitFor();
      await page.getByRole('link', { name: 'Mailbox does not exist' }).click();
      await page.waitForURL(/\/messages\?.*stream=weekly-digest/);

      await page.goto('/app/events');
      const accepted = page.getByRole('listitem').filter({ hasText: 'message.accepted' });
      await expect.poll(() => accepted.count()).toBe(2);
      await page.getByLabel('Stream', { exact: true }).selectOption('Weekly digest');
      await expect.poll(() => accepted.count()).toBe(1);
    });
  },
  { env: { STREAM_ROUTES: 'bulk=smtp://127.0.0.1:9', WEBHOOK_ALLOW_PRIVATE: 'true' } },
);
