import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';
import { startDnsServer } from '../harness/smtp/dns-server.ts';
import { type ListedRecord, publishRecords } from '../harness/smtp/publish-dns-records.ts';

/**
 * Goal: a user can set up a sending domain with nothing but the information on the page.
 * Method: the records are read from the page and entered into a scripted DNS server, first with a
 * mistake.
 */

const dns = await startDnsServer();
afterAll(() => dns[Symbol.asyncDispose]());

type Shown = Pick<ListedRecord, 'type' | 'name' | 'value'>;

browserSuite(
  'domain setup',
  (suite) => {
    /** A new name for each test, because published records stay in the DNS server. */
    let domains = 0;
    const newName = (): string => {
      domains += 1;
      return `shop${domains}.test`;
    };

    async function domainPage(): Promise<{ page: Page; name: string }> {
      const name = newName();
      const { call, liveKey } = suite.app();
      const { json } = await call('POST', '/domains', { key: liveKey, body: { name } });
      publishRecords(dns, json.records);
      const checked = await call('POST', `/domains/${json.id}/verify`, { key: liveKey });
      expect(checked.json.status).toBe('verified');
      const page = await suite.openAs('owner');
      await page.goto(`/app/domains/${json.id}`);
      await page.getByRole('heading', { name }).waitFor();
      return { page, name };
    }

    test('a domain is added, published with a mistake, corrected, and verified', async () => {
      const name = newName();
      const page = await suite.openAs('owner');
      await page.goto('/app/domains');
      await page.getByRole('heading', { name: 'No sending domains yet' }).waitFor();
      await page.getByRole('button', { name: 'Add domain' }).first().click();
      await page.getByRole('textbox', { name: 'Domain' }).fill('not a domain');
      await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
      await page
        .getByRole('textbox', { name: 'Domain' })
        .and(page.locator('[aria-invalid=true]'))
        .waitFor();
      await page.getByRole('textbox', { name: 'Domain' }).fill('gmail.com');
      await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
      await page.getByText(/can only be sent by its mailbox provider/).waitFor();
      await page.getByRole('textbox', { name: 'Domain' }).fill(`https://www.${name}/shop`);
      await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
      await page.getByRole('heading', { name }).waitFor();
      await page.getByText(/^Add 5 DNS records|^5 records missing/).waitFor();

      const records = await shownRecords(page);
      expect(records).toHaveLength(8);
      const [mx] = records.filter(({ type }) => type === 'MX');
      await publishShown(records.filter((record) => record !== mx));
      dns.set(mx?.name as string, 'MX', ['10 mail.elsewhere.test']);
      await page.getByRole('button', { name: /^Check (now|again)$/ }).click();
      await page.getByText('1 record wrong').waitFor();
      await page.getByText(/^Correct the records below/).waitFor();
      const table = page.getByRole('table', { name: 'DNS records' });
      await expect.poll(() => table.getByRole('row', { name: /Wrong$/ }).count()).toBe(1);
      await table.getByText(/^10 mail\.elsewhere\.test$/).waitFor();
      expect(await page.getByText('Found', { exact: true }).count()).toBeGreaterThanOrEqual(7);

      await publishShown([mx as Shown]);
      await page.getByRole('button', { name: 'Check again' }).click();
      await page.getByText(`${name} verified.`).waitFor();
      await page.getByText('Verified', { exact: true }).waitFor();
      expect(await page.getByText('missing').count()).toBe(0);
      await page.getByRole('link', { name: 'Domains' }).first().click();
      await page.getByRole('row', { name: `${name} Verified 5 of 5` }).waitFor();
    });

    test('records fit the DNS provider, and can be copied or downloaded together', async () => {
      const { page, name } = await domainPage();
      const names = async () => (await shownRecords(page)).map((record) => record.name);
      expect(await names()).toContain(`bounce.${name}`);
      const relative = page.getByLabel('My DNS provider appends the domain automatically');
      await relative.check();
      await expect.poll(names).toContain('bounce');
      expect((await names()).filter((one) => one.endsWith(name))).toEqual([]);

      dns.set(name, 'NS', ['ns51.domaincontrol.com', 'ns52.domaincontrol.com']);
      await page.reload();
      await page.getByText(`The DNS of ${name} is managed at GoDaddy.`).waitFor();
      expect(await relative.isChecked()).toBe(true);
      expect(await names()).toContain('bounce');

      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Zone file' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(`${name}.zone`);
      const file = await text(await download.createReadStream());
      expect(file).toContain(`bounce.${name}. 3600 IN MX 10 mail.postrider.test.\n`);
      expect(file.trim().split('\n')).toHaveLength(8);

      await page.setViewportSize({ width: 390, height: 800 });
      const cards = page.getByRole('list', { name: 'DNS records' }).getByRole('listitem');
      await expect.poll(() => cards.count()).toBe(8);
      await page.setViewportSize({ width: 1280, height: 800 });
    });

    test('rotating DKIM keys shows new records to publish', async () => {
      const { page } = await domainPage();
      const before = await shownRecords(page);
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Rotate DKIM keys' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate keys' }).click();
      await page.getByText('DKIM keys rotated.').waitFor();
      const known = new Set(before.map(({ name }) => name));
      await expect
        .poll(async () => (await shownRecords(page)).filter(({ name }) => !known.has(name)).length)
        .toBeGreaterThan(0);
    });
  },
  {
    env: {
      DNS_SERVERS: dns.address,
      HELO_NAME: 'mail.postrider.test',
      SPF_MECHANISM: 'include:spf.postrider.test',
    },
  },
);

async function shownRecords(page: Page): Promise<Shown[]> {
  const rows = page.getByRole('table', { name: 'DNS records' }).getByRole('row');
  await rows.nth(1).waitFor();
  const cells = await rows.evaluateAll((all) =>
    all.map((row) => {
      const texts = [...row.querySelectorAll('td')].map(
        (cell) => (cell.querySelector('[title]') ?? cell).textContent ?? '',
      );
      return texts.length === 6 ? texts : [];
    }),
  );
  return cells
    .filter(([type]) => type !== undefined)
    .map(([type, name = '', value = '', priority = '']) => ({
      type: type as Shown['type'],
      name,
      value: type === 'MX' ? `${priority} ${value}` : value,
    }));
}

async function publishShown(records: readonly Shown[]): Promise<void> {
  publishRecords(dns, records as ListedRecord[]);
}
