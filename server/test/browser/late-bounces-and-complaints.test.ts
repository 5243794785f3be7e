import { afterAll, expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser.ts';
import { complaint, dsn, connectAndGreet } from '../harness/return-path-setup.ts';
import { startSmtpReceiver } from '../harness/smtp-receiver.ts';

/**
 * Goal: whoever looks at a message sees that it came back, from whom and why, as it happens; and a
 * complaint reads as what it is.
 * Method: live mail to a scripted relay; reports over a raw socket to the return path it saw.
 */
const relay = await startSmtpReceiver();
afterAll(() => relay.close());

browserSuite(
  'a message that was delivered',
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
      using client = await connectAndGreet(suite.app().app.returnPath.place?.port ?? 0);
      expect((await client.send({ from: '', to: [to], data })).code).toBe(250);
    }

    test('and bounced later says so without a reload, with who refused it and why', async () => {
      const { id, returnPath } = await delivered('jane@example.com');
      const page = await suite.openAs('developer', { mode: 'live' });
      await page.goto(`/app/messages/${id}`);
      await page.getByText('took it', { exact: false }).waitFor();
      await page.getByText('has taken it for jane@example.com').waitFor();
      await report(returnPath, dsn());
      await page.getByText('Bounced later').waitFor();
      await page
        .getByText(
          'mx1.example.test sent it back because mailbox7.example.test refused it. The mailbox',
        )
        .waitFor();
      const why = page.getByRole('alert');
      await why.getByText('The mailbox does not exist. Check the address').waitFor();
      await why.getByText('550 5.1.1 <jane@example.com>: User unknown').waitFor();
      await page.getByRole('link', { name: 'suppression list' }).click();
      await page.getByRole('row', { name: /jane@example\.com/ }).waitFor();
    });

    test('and complained of stays delivered, and tells what follows', async () => {
      const { id, returnPath } = await delivered('joe@example.com');
      const page = await suite.openAs('developer', { mode: 'live' });
      await page.goto(`/app/messages/${id}`);
      await page.getByText('took it', { exact: false }).waitFor();
      await report(returnPath, complaint());
      await page.getByText('Complaint', { exact: true }).waitFor();
      await page.getByText('The address is suppressed from now on.').waitFor();
      // The answer to the delivery stands with the delivery alone.
      expect(await page.getByText(/^250 2\.0\.0/).count()).toBe(1);
    });
  },
  {
    env: {
      DELIVERY_ROUTE: `smtp://127.0.0.1:${relay.port}`,
      RETURN_PATH_PORT: '0',
    },
  },
);
