import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';
import { startDnsServer } from '../harness/dns-server.ts';
import { type ListedRecord, publishRecords } from '../harness/publish-dns-records.ts';

/**
 * Goal: whoever owns a domain gets it to send with nothing but what the page tells.
 * Method: the records are read off the page and entered into a scripted DNS, first with a slip.
 */

const dns = await startDnsServer();
afterAll(() => dns[Symbol.asyncDispose]());

type Shown = Pick<ListedRecord, 'type' | 'name' | 'value'>;

browserSuite(
  'a domain',
  (suite) => {
    /** Another one each time: what was published for the last is still in the DNS. */
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
      const looked = await call('POST', `/domains/${json.id}/verify`, { key: liveKey });
      expect(looked.json.status).toBe('verified');
      const page = await suite.openAs('owner');
      await page.goto(`/app/domains/${json.id}`);
      await page.getByRole('heading', { name }).waitFor();
      return { page, name };
    }

    test('is added, published with a slip, mended, and turns green', async () => {
      const name = newName();
      const page = await suite.openAs('owner');
      await page.goto('/app/domains');
      await page.getByRole('heading', { name: 'No sending domain yet' }).waitFor();
      await page.getByRole('button', { name: 'Add domain' }).first().click();
      await page.getByRole('textbox', { name: 'Domain' }).fill('not a domain');
      await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
      await page
        .getByRole('textbox', { name: 'Domain' })
        .and(page.locator('[aria-invalid=true]'))
        .waitFor();
      await page.getByRole('textbox', { name: 'Domain' }).fill(name);
      await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
      await page.getByRole('heading', { name }).waitFor();
      await page.getByText('5 records are still to be found').waitFor();

      const records = await shownRecords(page);
      expect(records).toHaveLength(8);
      const [mx] = records.filter(({ type }) => type === 'MX');
      await publishShown(records.filter((record) => record !== mx));
      dns.set(mx?.name as string, 'MX', ['10 mail.elsewhere.test']);
      await page.getByRole('button', { name: 'Check again' }).click();
      await page.getByText('One record is still to be found').waitFor();
      const wrong = page.getByRole('listitem').filter({ hasText: 'Wrong' });
      await expect.poll(() => wrong.allTextContents()).toHaveLength(1);
      expect(await wrong.textContent()).toContain('mail.elsewhere.test');
      expect(await page.getByText('Found', { exact: true }).count()).toBeGreaterThanOrEqual(7);

      await publishShown([mx as Shown]);
      await page.getByRole('button', { name: 'Check again' }).click();
      await page.getByText(`${name} is verified.`).waitFor();
      await page.getByText('verified', { exact: true }).waitFor();
      expect(await page.getByText('still to be found').count()).toBe(0);
      await page.getByRole('link', { name: 'Domains' }).first().click();
      await page.getByRole('row', { name: `${name} verified 5 of 5` }).waitFor();
    });

    test('shows names without itself to those whose DNS panel adds it', async () => {
      const { page, name } = await domainPage();
      const names = async () => (await shownRecords(page)).map((record) => record.name);
      expect(await names()).toContain(`bounce.${name}`);
      await page.getByLabel('My DNS panel adds the domain by itself').check();
      await expect.poll(names).toContain('bounce');
      expect((await names()).filter((one) => one.endsWith(name))).toEqual([]);
    });

    test('gets new keys that must be published before they sign', async () => {
      const { page } = await domainPage();
      const before = await shownRecords(page);
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Rotate DKIM keys' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate keys' }).click();
      await page.getByText('The keys are rotated.').waitFor();
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
  const cards = page
    .getByRole('listitem')
    .filter({ has: page.getByText('Value', { exact: true }) });
  await cards.first().waitFor();
  return cards.evaluateAll((items) =>
    items.map((item) => {
      const of = (label: string) =>
        [...item.querySelectorAll('dt')].find((term) => term.textContent === label)
          ?.nextElementSibling?.textContent ?? '';
      const type = [...item.querySelectorAll('span')]
        .map(({ textContent }) => textContent)
        .find((text) => text === 'TXT' || text === 'MX' || text === 'CNAME');
      return { type: type as Shown['type'], name: of('Name'), value: of('Value') };
    }),
  );
}

async function publishShown(records: readonly Shown[]): Promise<void> {
  publishRecords(dns, records as ListedRecord[]);
}
