import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';
import { type WebhookReceiver, startWebhookReceiver } from '../harness/webhook-receiver.ts';

/**
 * An endpoint as its owner lives with it: made, its secret taken along, tried out, seen to fail for a
 * reason, mended and sent what it missed.
 */
browserSuite(
  'webhooks on screen',
  (suite) => {
    const send = (email: string) =>
      suite.app().call('POST', '/transactional/send', {
        body: {
          to: { email },
          from: { email: 'hello@shop.example' },
          subject: 'Hello',
          html: '<p>Hello</p>',
        },
      });

    async function endpointOf(receiver: WebhookReceiver): Promise<string> {
      const body = { url: receiver.url, events: ['message.delivered'] };
      const made = await suite.app().call('POST', '/webhooks', { body });
      return made.json.id;
    }

    test('an endpoint is made with a secret that verifies the test event', async () => {
      await using receiver = await startWebhookReceiver();
      const page = await suite.openAs('developer');
      await page.goto('/app/webhooks');
      await page.getByText('No test endpoint yet').waitFor();
      await page.getByRole('button', { name: 'Add endpoint' }).first().click();
      await page.getByLabel('URL').fill(receiver.url);
      await page.getByText('Chosen ones').click();
      await page.getByRole('button', { name: 'message.*' }).click();
      await page.getByRole('button', { name: 'message.bounced' }).click();
      await page.getByRole('button', { name: 'suppression.*' }).click();
      await page.getByText('Extra headers').click();
      await page.getByRole('button', { name: 'Add a header' }).click();
      await page.getByLabel('Header name').fill('X-Gateway');
      await page.getByLabel('Value of X-Gateway').fill('open sesame');
      await page.getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click();
      const secret = (await page.getByTestId('token').textContent()) ?? '';
      await page.getByRole('button', { name: 'I have copied it' }).click();

      await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
      await expect.poll(() => page.content()).not.toContain(secret);
      await page.getByRole('button', { name: 'Send a test' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Type of event').selectOption('message.complained');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText(/^Received: it answered 204/).waitFor();
      const [sample] = receiver.received;
      if (!sample) throw new Error('nothing was received');
      expect(sample.headers['x-gateway']).toBe('open sesame');
      const event = new Webhook(secret).verify(sample.body, sample.headers);
      expect(event).toMatchObject({ type: 'message.complained' });

      const listed = await suite.app().call('GET', '/webhooks');
      expect(listed.json.data[0].events.sort()).toEqual(['message.bounced', 'suppression.*']);
      expect(suite.takeErrors()).toEqual([]);
    });

    test('a failure is told in plain words, and replayed once the receiver is mended', async () => {
      await using receiver = await startWebhookReceiver({
        answer: () => ({ status: 500, body: 'out of order' }),
      });
      const id = await endpointOf(receiver);
      const page = await suite.openAs('developer');
      await page.goto(`/app/webhooks/${id}`);
      await page.getByText('Nothing was sent yet').waitFor();
      const message = await send('jane@example.com');
      await page.getByText('retrying').waitFor();
      await page.goto(`/app/messages/${message.json.id}`);
      await page.getByRole('tab', { name: 'Webhooks' }).click();
      await page.getByRole('link', { name: receiver.url }).click();
      await page.getByText('The receiver answered 500.').first().waitFor();
      await page
        .getByRole('region', { name: 'answer' })
        .first()
        .getByText('out of order')
        .waitFor();

      receiver.answer = () => ({ status: 200, body: '{"thanks":true}' });
      await page.getByRole('button', { name: 'Send again' }).click();
      const replay = page.waitForResponse('**/replay');
      await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
      // The next try by itself would succeed too.
      expect(await (await replay).json()).toMatchObject({ replayed: 1 });
      await page.getByText('succeeded').first().waitFor();
      await page.getByText('"thanks": true').first().waitFor();
      expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1);
      expect(suite.takeErrors()).toEqual([]);
    });

    test('an endpoint that is gone says why, and gets what it missed when it is back', async () => {
      await using receiver = await startWebhookReceiver({ answer: () => ({ status: 410 }) });
      const id = await endpointOf(receiver);
      const page = await suite.openAs('developer');
      await page.goto(`/app/webhooks/${id}`);
      await page.getByText('Nothing was sent yet').waitFor();
      await send('first@example.com');
      await page.getByText(/This endpoint is off. It answered 410/).waitFor();
      receiver.answer = () => ({ status: 204 });
      await send('missed@example.com');
      await page.getByRole('button', { name: 'Switch it on' }).click();
      await page.getByRole('heading', { name: 'Send what it missed?' }).waitFor();
      await page.getByRole('button', { name: 'Replay the range' }).click();
      await page.getByRole('listitem').getByText('succeeded').first().waitFor();
      await expect
        .poll(() => receiver.received.map(({ body }) => body).join(' '), { timeout: 20_000 })
        .toContain('missed@example.com');
      expect(suite.takeErrors()).toEqual([]);
    });

    test('a viewer sees endpoints and changes none', async () => {
      await using receiver = await startWebhookReceiver();
      const id = await endpointOf(receiver);
      const page = await suite.openAs('viewer');
      await page.goto(`/app/webhooks/${id}`);
      await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
      expect(await page.getByRole('button', { name: 'Send a test' }).count()).toBe(0);
      await page.goto('/app/webhooks?new=true');
      await page.getByRole('table', { name: 'Webhook endpoints' }).waitFor();
      expect(await page.getByRole('dialog').count()).toBe(0);
    });
  },
  { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
);
