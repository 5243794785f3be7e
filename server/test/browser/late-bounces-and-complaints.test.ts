import { afterAll, expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { complaint, connectAndGreet, dsn } from '../harness/smtp/return-path-setup.ts';
import { startSmtpReceiver } from '../harness/smtp/smtp-receiver.ts';

/**
 * Goal: the message page shows a bounce after delivery as it arrives, with its source and reason, and
 * shows complaints as complaints.
 * Method: live messages to a scripted relay; bounce reports over a raw socket to the return path.
 */
const relay = await startSmtpReceiver();
afterAll(() => relay.close());

browserSuite(
  'late bounces and complaints',
  (suite) => {
    async function delivered(to: string): Promise<{ id: string; returnPath: string }> {
      const app = suite.app();
      await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
      const before = relay.messages.length;
      const body = validMessage({ to: { email: to }, subject: `To ${to}` });
      const sent = await app.call('POST', '/transactional/send', { key: app.liveKey, body });
      expect(sent.status).toBe(202);
      await relay.untilMessages(before + 1);
      return { id: sent.json.id, returnPath: relay.messages[before]?.mailFrom ?? '' };
    }

    async function report(to: string, data: string): Promise<void> {
      using client = await connectAndGreet(suite.app().app.returnPath.address?.port ?? 0);
      expect((await client.send({ from: '', to: [to], data })).code).toBe(250);
    }

    test('a bounce after delivery appears without a reload, with its source and reason', async () => {
      const { id, returnPath } = await delivered('jane@example.com');
      const page = await suite.openAs('developer', { mode: 'live' });
      await page.goto(`/app/messages/${id}`);
      await page
        .getByRole('tabpanel')
        .getByText(/^Delivered to .+\.$/)
        .first()
        .waitFor();
      await page.getByText('Delivered to jane@example.com').waitFor();
      await report(returnPath, dsn());
      await page.getByText('Bounced after delivery').waitFor();
      await page
        .getByText(
          'returned by mx1.example.test because mailbox7.example.test rejected it. The mailbox',
        )
        .waitFor();
      const why = page.getByRole('alert');
      await why.getByText('The mailbox does not exist. Check the address').waitFor();
      await why.getByText('550 5.1.1 <jane@example.com>: User unknown').waitFor();
      await page.getByRole('link', { name: 'suppression list' }).click();
      await page.getByRole('row', { name: /jane@example\.com/ }).waitFor();
    });

    test('a complaint keeps the message delivered and suppresses the address', async () => {
      const { id, returnPath } = await delivered('joe@example.com');
      const page = await suite.openAs('developer', { mode: 'live' });
      await page.goto(`/app/messages/${id}`);
      await page
        .getByRole('tabpanel')
        .getByText(/^Delivered to .+\.$/)
        .first()
        .waitFor();
      await report(returnPath, complaint());
      await page.getByText('Spam complaint', { exact: true }).waitFor();
      await page.getByText('The address is now suppressed.').waitFor();
      // The SMTP reply is shown only with the delivery.
      expect(await page.getByText(/^250 2\.0\.0/).count()).toBe(1);
    });

    test('the list shows a complaint as it arrives, and finds it, on a phone too', async () => {
      const { returnPath } = await delivered('ann@example.com');
      await delivered('bob@example.com');
      for (const width of [1280, 390]) {
        const page = await suite.openAs('developer', { mode: 'live', width });
        await page.goto('/app/messages');
        const rows = page.getByRole('list', { name: 'Messages' }).getByRole('listitem');
        const row = rows.filter({ hasText: 'ann@example.com' });
        if (width === 1280) {
          await row.getByText('Delivered', { exact: true }).waitFor();
          await report(returnPath, complaint());
        }
        await row.getByText('Complained', { exact: true }).waitFor();
        await page.getByLabel('Status').selectOption('Complained');
        await rows.filter({ hasText: 'bob@example.com' }).waitFor({ state: 'detached' });
        await row.getByText('Complained', { exact: true }).waitFor();
        await row.getByRole('link').click();
        await page.getByText('received it and marked it as spam').waitFor();
        // Of the message and of its recipient.
        expect(await page.getByText('Complained', { exact: true }).count()).toBe(2);
      }
    });
  },
  {
    env: {
      DELIVERY_ROUTE: `smtp://127.0.0.1:${relay.port}`,
      RETURN_PATH_PORT: '0',
    },
  },
);
