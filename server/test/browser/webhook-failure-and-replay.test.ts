import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';
import {
  startWebhookReceiver,
  type WebhookReceiver,
} from '../harness/webhooks/webhook-receiver.ts';

/** The life of a webhook endpoint: created, tested, failing with a reason, fixed, and replayed. */
browserSuite(
  'webhook pages',
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
      const created = await suite.app().call('POST', '/webhooks', { body });
      return created.json.id;
    }

    test('a new endpoint has a secret that verifies the test event', async () => {
      await using receiver = await startWebhookReceiver();
      const page = await suite.openAs('developer');
      await page.goto('/app/webhooks');
      await page.getByText('No test endpoints yet').waitFor();
      await page.getByRole('button', { name: 'Add endpoint' }).first().click();
      await page.getByLabel('URL').fill(receiver.url);
      await page.getByText('Selected events').click();
      await page.getByRole('button', { name: 'message.*', exact: true }).click();
      await page.getByRole('button', { name: 'message.bounced' }).click();
      await page.getByRole('button', { name: 'suppression.*' }).click();
      await page.getByText('Custom headers').click();
      await page.getByRole('button', { name: 'Add header' }).click();
      await page.getByLabel('Header name').fill('X-Gateway');
      await page.getByLabel('Value of X-Gateway').fill('open sesame');
      await page.getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click();
      const secret = (await page.getByTestId('token').textContent()) ?? '';
      await page.getByRole('button', { name: 'Done' }).click();

      await page.getByRole('heading', { name: 'Deliveries', exact: true }).waitFor();
      await expect.poll(() => page.content()).not.toContain(secret);
      await page.getByRole('button', { name: 'Send test' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Event type').selectOption('message.complained');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText(/^Your endpoint responded with 204/).waitFor();
      const [sample] = receiver.received;
      if (!sample) throw new Error('nothing was received');
      expect(sample.headers['x-gateway']).toBe('open sesame');
      const event = new Webhook(secret).verify(sample.body, sample.headers);
      expect(event).toMatchObject({ type: 'message.complained' });

      const listed = await suite.app().call('GET', '/webhooks');
      expect(listed.json.data[0].events.sort()).toEqual(['message.bounced', 'suppression.*']);
      expect(suite.takeErrors()).toEqual([]);
    });

    test('an endpoint in the format of another provider shows what its receiver needs', async () => {
      await using receiver = await startWebhookReceiver();
      const page = await suite.openAs('developer');
      await page.goto('/app/webhooks?new=true');
      await page.getByLabel('URL').fill(receiver.url);
      await page.getByLabel('Format').selectOption('SendGrid');
      await page.getByText(/verification key of the signed event webhook/).waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click();
      await page.getByText('In the receiver for SendGrid').waitFor();
      const { public_key: key } = (await suite.app().call('GET', '/webhooks')).json.data[0];
      await page.getByRole('dialog').getByText(key).waitFor();
      await page.getByRole('button', { name: 'Done' }).click();

      await page.getByText('SendGrid', { exact: true }).waitFor();
      await page.getByText(key).waitFor();
      await page.getByRole('button', { name: 'Send test' }).click();
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByText(/^Your endpoint responded with 204/).waitFor();
      expect(receiver.received[0]?.headers).toHaveProperty(
        'x-twilio-email-event-webhook-signature',
      );
      expect(suite.takeErrors()).toEqual([]);
    });

    test('a failed delivery shows the reason, and can be replayed after the fix', async () => {
      await using receiver = await startWebhookReceiver({
        answer: () => ({ status: 500, body: 'out of order' }),
      });
      const id = await endpointOf(receiver);
      const page = await suite.openAs('developer');
      await page.goto(`/app/webhooks/${id}`);
      await page.getByText('No deliveries yet').waitFor();
      const message = await send('jane@example.com');
      await page.getByText('Retrying', { exact: true }).first().waitFor();
      await page.goto(`/app/messages/${message.json.id}`);
      await page.getByRole('tab', { name: 'Webhooks' }).click();
      await page.getByRole('link', { name: receiver.url }).click();
      await page.getByText(/500/).first().waitFor();
      await page
        .getByRole('region', { name: 'Response body' })
        .first()
        .getByText('out of order')
        .waitFor();

      receiver.answer = () => ({ status: 200, body: '{"thanks":true}' });
      await page.getByRole('button', { name: 'Send again' }).click();
      const replay = page.waitForResponse('**/replay');
      await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
      // The next automatic attempt would succeed too.
      expect(await (await replay).json()).toMatchObject({ replayed: 1 });
      await page.getByText('succeeded').first().waitFor();
      await page.getByText('"thanks": true').first().waitFor();
      expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1);
      expect(suite.takeErrors()).toEqual([]);
    });

    test('a disabled endpoint shows the reason, and can replay missed events', async () => {
      await using receiver = await startWebhookReceiver({ answer: () => ({ status: 410 }) });
      const id = await endpointOf(receiver);
      const page = await suite.openAs('developer');
      await page.goto(`/app/webhooks/${id}`);
      await page.getByText('No deliveries yet').waitFor();
      await send('first@example.com');
      await page.getByText(/This endpoint is disabled. It responded with 410/).waitFor();
      receiver.answer = () => ({ status: 204 });
      await send('missed@example.com');
      await page.getByRole('button', { name: 'Enable endpoint' }).click();
      await page.getByRole('heading', { name: 'Replay missed events?' }).waitFor();
      await page.getByRole('button', { name: 'Replay range' }).click();
      await page.getByRole('listitem').getByText('succeeded').first().waitFor();
      await expect
        .poll(() => receiver.received.map(({ body }) => body).join(' '))
        .toContain('missed@example.com');
      expect(suite.takeErrors()).toEqual([]);
    });

    test('a viewer can see endpoints but not change them', async () => {
      await using receiver = await startWebhookReceiver();
      const id = await endpointOf(receiver);
      const page = await suite.openAs('viewer');
      await page.goto(`/app/webhooks/${id}`);
      await page.getByRole('heading', { name: 'Deliveries', exact: true }).waitFor();
      expect(await page.getByRole('button', { name: 'Send test' }).count()).toBe(0);
      await page.goto('/app/webhooks?new=true');
      await page.getByRole('table', { name: 'Webhook endpoints' }).waitFor();
      expect(await page.getByRole('dialog').count()).toBe(0);
    });
  },
  { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
);
