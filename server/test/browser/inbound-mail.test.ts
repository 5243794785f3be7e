import { buffer } from 'node:stream/consumers';
import type { Download, Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { encodeId } from '../../src/lib/ids.ts';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { accessibilityViolations, expectToFit } from '../harness/browser/checks.ts';
import { startDnsServer } from '../harness/smtp/dns-server.ts';
import { publishRecords } from '../harness/smtp/publish-dns-records.ts';
import { SubmissionClient } from '../harness/smtp/submission-client.ts';

/**
 * Goal: a user can set up receiving, see mail as it arrives, judge its sender, read, download and
 * delete it, and try all of it in test mode.
 * Method: mail arrives over SMTP, with the records of domains and senders in a scripted DNS server.
 */

const dns = await startDnsServer({
  'other.test': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  '_dmarc.other.test': { TXT: ['v=DMARC1; p=none'] },
  'bank.test': { TXT: ['v=spf1 -all'] },
  '_dmarc.bank.test': { TXT: ['v=DMARC1; p=reject'] },
});
afterAll(() => dns[Symbol.asyncDispose]());

/** A red pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

browserSuite(
  'inbound mail',
  (suite) => {
    let domains = 0;

    /** A new name for each test, because published records stay in the DNS server. */
    async function addDomain(): Promise<{ id: string; name: string }> {
      domains += 1;
      const name = `reply${domains}.test`;
      const { call, liveKey: key } = suite.app();
      const added = await call('POST', '/domains', { key, body: { name } });
      expect(added.status).toBe(201);
      publishRecords(dns, added.json.records);
      return { id: added.json.id, name };
    }

    async function addReceivingDomain() {
      const { call, liveKey: key } = suite.app();
      const domain = await addDomain();
      await call('POST', `/domains/${domain.id}/verify`, { key });
      const body = { receiving: true };
      expect((await call('PATCH', `/domains/${domain.id}`, { key, body })).status).toBe(200);
      return domain;
    }

    async function deliver(from: string, to: string, lines: readonly string[]): Promise<void> {
      const port = suite.app().app.returnPath.address?.port ?? 0;
      using client = await SubmissionClient.connect(port);
      await client.reply();
      await client.command('EHLO mx.other.test');
      const reply = await client.send({ from, to: [to], data: `${lines.join('\r\n')}\r\n` });
      expect([reply.code, reply.text]).toEqual([250, reply.text]);
    }

    const rows = (page: Page) => page.getByRole('list', { name: 'Inbound messages' });

    test('receiving is turned on, and mail appears as it arrives', async () => {
      const { id, name } = await addDomain();
      const page = await suite.openAs('owner', { mode: 'live' });
      await page.goto(`/app/domains/${id}`);
      const turnOn = page.getByRole('button', { name: 'Turn on receiving' });
      await page.getByText('as soon as the domain is verified').waitFor();
      expect(await turnOn.isDisabled()).toBe(true);
      await page.getByRole('button', { name: /^Check (now|again)$/ }).click();
      await page.getByText(`${name} verified.`).waitFor();
      await turnOn.click();
      await page.getByText('Receiving turned on.').waitFor();
      const record = page
        .getByRole('table', { name: 'DNS records' })
        .getByRole('row')
        .filter({ hasText: 'MX' })
        .last();
      await expect
        .poll(() => record.textContent())
        .toMatch(/mail\.postrider\.test.*10.*Not checked/);
      dns.set(name, 'MX', ['10 mail.postrider.test']);
      await page.getByRole('button', { name: 'Check again' }).click();
      await expect.poll(() => record.textContent()).toMatch(/Found$/);
      expect(await accessibilityViolations(page)).toEqual([]);
      await expectToFit(page);

      await page.getByRole('link', { name: 'Inbound', exact: true }).click();
      await page.getByText(`Send an email to any address at ${name}`).waitFor();
      await deliver('jane@other.test', `support@${name}`, [
        'From: Jane Doe <jane@other.test>',
        `To: support@${name}`,
        'Subject: Where is my order?',
        '',
        'It should have arrived on Friday.',
      ]);
      const row = rows(page).getByRole('listitem');
      await row.filter({ hasText: 'Where is my order?' }).waitFor();
      expect(await row.textContent()).toContain('Jane Doe jane@other.test');
      expect(await row.getByRole('img').count()).toBe(0);
      await row.getByRole('link').click();
      await page.getByText('It should have arrived on Friday.').waitFor();
      await page.getByText('The sender’s address belongs to other.test').waitFor();
      expect(suite.takeErrors()).toEqual([]);
    });

    test('a forged sender is marked, and everything in a mail can be downloaded', async () => {
      const { name } = await addReceivingDomain();
      await deliver('robber@other.test', `ceo@${name}`, [
        'From: Your bank <service@bank.test>',
        `To: ceo@${name}`,
        'Subject: Confirm your account',
        'MIME-Version: 1.0',
        'Content-Type: multipart/related; boundary=b',
        '',
        '--b',
        'Content-Type: text/html',
        '',
        '<p>Confirm here.</p><img src="cid:logo" alt="logo">',
        '--b',
        'Content-Type: image/png; name=logo.png',
        'Content-Transfer-Encoding: base64',
        'Content-Disposition: inline; filename=logo.png',
        'Content-ID: <logo>',
        '',
        PNG,
        '--b--',
      ]);
      const page = await suite.openAs('owner', { mode: 'live' });
      await page.goto('/app/inbound');
      const row = rows(page).getByRole('listitem').filter({ hasText: 'Confirm your account' });
      await row.getByRole('img', { name: 'The sender may be forged' }).waitFor();
      await row.getByRole('img', { name: 'Has attachments' }).waitFor();
      await row.getByRole('link').click();
      await page.getByText('The sender’s address may be forged').waitFor();
      await page.getByText('which asks receivers to reject it.').first().waitFor();

      const image = page.frameLocator('iframe[title="Email preview"]').getByAltText('logo');
      await expect.poll(() => image.evaluate((one) => one.naturalWidth)).toBe(1);
      await page.getByRole('tab', { name: 'Attachments (1)' }).click();
      const file = await downloadBy(page, () =>
        page.getByRole('button', { name: 'Download logo.png' }).click(),
      );
      expect(file.suggestedFilename()).toBe('logo.png');
      expect((await contentOf(file)).toString('base64')).toBe(PNG);
      const mail = await downloadBy(page, async () => {
        await page.getByRole('button', { name: 'More actions' }).click();
        await page.getByRole('menuitem', { name: 'Download .eml' }).click();
      });
      expect(mail.suggestedFilename()).toMatch(/^inm_.*\.eml$/);
      expect((await contentOf(mail)).toString()).toContain('Subject: Confirm your account\r\n');
      expect(await accessibilityViolations(page)).toEqual([]);
      await expectToFit(page);

      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete message' }).click();
      await page.getByText('Message deleted.').waitFor();
      await page.getByRole('heading', { name: 'Inbound', exact: true }).waitFor();
      await row.waitFor({ state: 'detached' });
      expect(suite.takeErrors()).toEqual([]);
    });

    test('receiving is refused while another workspace receives the mail', async () => {
      const { id, name } = await addDomain();
      const { app, call, liveKey: key, newKey } = suite.app();
      await call('POST', `/domains/${id}/verify`, { key });
      const rival = await app.workspaces.create('Rival');
      const rivalKey = await newKey({ mode: 'live', workspaceId: rival.id });
      const theirs = encodeId('dom', (await app.domains.trust(rival.id, { name })).id);
      const body = { receiving: true };
      const taken = await call('PATCH', `/domains/${theirs}`, { key: rivalKey, body });
      expect(taken.status).toBe(200);
      const page = await suite.openAs('owner', { mode: 'live' });
      await page.goto(`/app/domains/${id}`);
      await page.getByRole('button', { name: 'Turn on receiving' }).click();
      await page
        .getByRole('alert')
        .filter({ hasText: 'Another workspace of this server receives the mail' })
        .waitFor();
      expect(await page.getByText('Rival').count()).toBe(0);
      suite.takeErrors();
    });

    test('in test mode, a message and a reply are simulated', async () => {
      const { name } = await addDomain();
      const sent = await suite.app().call('POST', '/transactional/send', {
        body: validMessage({ subject: 'Your order', from: { email: `shop@${name}` } }),
      });
      const page = await suite.openAs('developer');
      await page.goto('/app/inbound');
      await page.getByRole('heading', { name: 'No simulated messages yet' }).waitFor();
      await page.getByRole('button', { name: 'Simulate' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('From').fill('jane@example.com');
      await dialog.getByLabel('To').fill('support@elsewhere.example');
      await dialog.getByLabel('Subject').fill('A question');
      await dialog.getByLabel('Text').fill('Do you deliver on Sundays?');
      await dialog.getByRole('button', { name: 'Simulate' }).click();
      await dialog.getByText('The workspace has no domain elsewhere.example.').waitFor();
      await dialog.getByLabel('To').fill(`support@${name}`);
      await dialog.getByRole('button', { name: 'Simulate' }).click();
      await rows(page).getByRole('link', { name: 'A question' }).click();
      await page.getByText('Do you deliver on Sundays?').waitFor();
      await page.getByText('Not checked, because this message was simulated').waitFor();

      await page.goto(`/app/messages/${sent.json.id}`);
      await page.getByText('No replies received.').waitFor();
      await page.getByRole('button', { name: 'Simulate reply' }).click();
      expect(await dialog.getByLabel('Subject').inputValue()).toBe('Re: Your order');
      await dialog.getByRole('button', { name: 'Simulate' }).click();
      await page.getByRole('list', { name: 'Replies' }).getByRole('link').click();
      await page.getByRole('heading', { name: 'Re: Your order' }).waitFor();
      await page.getByRole('link', { name: 'Reply to Your order' }).click();
      await page.waitForURL(`**/app/messages/${sent.json.id}`);
      // A refused request is reported by the browser.
      expect(suite.takeErrors().filter((error) => !error.includes('422'))).toEqual([]);
    });

    test('messages are searched, filtered, and found by their id', async () => {
      const { name } = await addDomain();
      const ids: string[] = [];
      for (const n of [1, 2, 3]) {
        const { json } = await suite.app().call('POST', '/inbound-messages/simulate', {
          body: {
            from: { email: `sender${n}@example.com` },
            to: { email: `box${n}@${name}` },
            subject: `Parcel ${n}`,
            text: 'Hello',
          },
        });
        ids.push(json.id);
      }
      const page = await suite.openAs('owner');
      await page.goto('/app/inbound');
      await rows(page).getByRole('link', { name: 'Parcel 1' }).waitFor();
      await page.locator('[data-search]').fill('parcel 2');
      await rows(page).getByRole('link', { name: 'Parcel 1' }).waitFor({ state: 'detached' });
      await rows(page).getByRole('link', { name: 'Parcel 2' }).waitFor();

      await page.goto('/app/inbound');
      await page.getByRole('button', { name: 'Filters' }).click();
      await page.getByLabel('Recipient').fill(`box3@${name}`);
      await page.getByRole('button', { name: 'Apply' }).click();
      await rows(page).getByRole('link', { name: 'Parcel 1' }).waitFor({ state: 'detached' });
      expect(await rows(page).getByRole('listitem').count()).toBe(1);
      await page.getByRole('button', { name: `Recipient: box3@${name}` }).click();
      await rows(page).getByRole('link', { name: 'Parcel 1' }).waitFor();

      await page.keyboard.press('ControlOrMeta+K');
      await page.getByRole('combobox', { name: /command/ }).fill(ids[1] ?? '');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Parcel 2' }).waitFor();
      await page.goto('/app/events?type=inbound_message.received');
      const event = page.getByRole('list', { name: 'Events' }).getByRole('listitem').first();
      await event.getByRole('button').first().click();
      await event.getByRole('link', { name: 'View inbound message' }).click();
      await page.getByRole('heading', { name: 'Parcel 3' }).waitFor();
    });

    test('a viewer can read but neither simulate nor delete', async () => {
      const { name } = await addDomain();
      const { json } = await suite.app().call('POST', '/inbound-messages/simulate', {
        body: {
          from: { email: 'jane@example.com' },
          to: { email: `box@${name}` },
          subject: 'Read only',
          text: 'Hello',
        },
      });
      const page = await suite.openAs('viewer');
      await page.goto('/app/inbound?new=true');
      await rows(page).getByRole('link', { name: 'Read only' }).waitFor();
      expect(await page.getByRole('button', { name: 'Simulate' }).count()).toBe(0);
      expect(await page.getByRole('dialog').count()).toBe(0);
      await page.goto(`/app/inbound/${json.id}`);
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Download .eml' }).waitFor();
      expect(await page.getByRole('menuitem', { name: 'Delete' }).count()).toBe(0);
    });
  },
  {
    env: {
      DNS_SERVERS: dns.address,
      HELO_NAME: 'mail.postrider.test',
      RETURN_PATH_PORT: '0',
    },
  },
);

async function downloadBy(page: Page, act: () => Promise<void>): Promise<Download> {
  const [download] = await Promise.all([page.waitForEvent('download'), act()]);
  return download;
}

async function contentOf(download: Download): Promise<Buffer> {
  return buffer(await download.createReadStream());
}
