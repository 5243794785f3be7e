import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';
import { accessibilityViolations, overflows } from '../harness/browser-checks.ts';
import { createSampleData, type SampleData } from '../harness/browser-sample-data.ts';

/**
 * Goal: every page can be read and used by everybody, in both themes and both modes, holds still
 * while it loads, and fits a phone.
 * Method: axe on each page; the sum of layout shifts as the browser counts them; a narrow window.
 */

const SHIFTS = `globalThis.__shift = 0; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) __shift += entry.value;
}).observe({ type: 'layout-shift', buffered: true })`;

/** What a person does not see: less than a hundredth of the window, once. */
const SHIFT_MAX = 0.01;

interface Place {
  name: string;
  path: (shop: SampleData & { domainId: string; webhookId: string }) => string;
  /** What to do before looking. */
  open?: (page: Page) => Promise<unknown>;
}

const tab = (name: string) => (page: Page) => page.getByRole('tab', { name }).click();

const PLACES: Place[] = [
  { name: 'Overview', path: () => '/app' },
  { name: 'Messages', path: () => '/app/messages' },
  {
    name: 'Messages, more filters',
    path: () => '/app/messages',
    open: (page) => page.getByRole('button', { name: 'Filter' }).click(),
  },
  { name: 'Nowhere', path: () => '/app/nowhere' },
  { name: 'Message, why it bounced', path: ({ bouncedId }) => `/app/messages/${bouncedId}` },
  {
    name: 'Message, content',
    path: ({ deliveredId: arrivedId }) => `/app/messages/${arrivedId}`,
    open: tab('Content'),
  },
  {
    name: 'Message, attempts',
    path: ({ bouncedId }) => `/app/messages/${bouncedId}`,
    open: tab('Attempts'),
  },
  { name: 'Test inbox', path: ({ deliveredId: arrivedId }) => `/app/test-inbox?id=${arrivedId}` },
  { name: 'Templates', path: () => '/app/templates' },
  { name: 'Template', path: () => '/app/templates/template/order-shipped' },
  {
    name: 'Template, variables',
    path: () => '/app/templates/template/order-shipped',
    open: tab('Variables'),
  },
  { name: 'Contacts', path: () => '/app/contacts' },
  { name: 'Contact', path: () => '/app/contacts?open=ada@example.com' },
  { name: 'Domains', path: () => '/app/domains' },
  { name: 'Domain', path: ({ domainId }) => `/app/domains/${domainId}` },
  { name: 'Suppressions', path: () => '/app/suppressions' },
  { name: 'API keys', path: () => '/app/api-keys' },
  { name: 'New API key', path: () => '/app/api-keys?new=true' },
  { name: 'Webhooks', path: () => '/app/webhooks' },
  { name: 'Webhook', path: ({ webhookId }) => `/app/webhooks/${webhookId}` },
  { name: 'Events', path: () => '/app/events' },
  { name: 'Team', path: () => '/app/team' },
  { name: 'Settings', path: () => '/app/settings' },
  { name: 'Settings, limits', path: () => '/app/settings?tab=limits' },
  {
    name: 'Palette',
    path: () => '/app/suppressions',
    open: async (page) => {
      await page.keyboard.press('ControlOrMeta+K');
      await page.getByRole('combobox', { name: /command/ }).waitFor();
    },
  },
];

browserSuite(
  'every page',
  (suite) => {
    const filled = new WeakMap<object, ReturnType<typeof fill>>();

    async function fill() {
      const { call, liveKey } = suite.app();
      const shop = await createSampleData((method, path, body) => call(method, path, { body }));
      const domain = await call('POST', '/domains', {
        key: liveKey,
        body: { name: 'fernhill.example' },
      });
      const webhook = await call('POST', '/webhooks', {
        body: { url: 'http://127.0.0.1:9/hooks', events: ['message.*'] },
      });
      return { ...shop, domainId: domain.json.id, webhookId: webhook.json.id };
    }

    test.each(PLACES)('$name', async ({ path, open }) => {
      const app = suite.app();
      const filling = filled.get(app) ?? fill();
      filled.set(app, filling);
      const place = path(await filling);
      const page = await suite.openAs('owner');
      await page.addInitScript(SHIFTS);
      await page.goto(place);
      await settled(page);
      expect(await page.evaluate<number>('__shift')).toBeLessThan(SHIFT_MAX);
      await open?.(page);
      await settled(page);
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 800 });
      // Plots follow the window a moment later.
      await expect.poll(() => overflows(page)).toEqual([]);
    });

    test.each([
      { path: '/app/templates', column: 'Changed' },
      { path: '/app/contacts', column: 'Changed' },
    ])('a name without a blank leaves the columns of $path in sight', async ({ path, column }) => {
      const { call } = suite.app();
      const name = 'N'.repeat(150);
      // Made already when this is the second try: 409.
      await call('POST', '/templates', {
        body: { key: 'long-name', name, subject: 'x', html: 'x' },
      });
      await call('PUT', '/contacts/long@example.com', { body: { first_name: name } });
      const page = await suite.openAs('owner');
      await page.setViewportSize({ width: 1200, height: 800 });
      await page.goto(path);
      const cell = page.getByRole('cell', { name }).first();
      await cell.waitFor();
      expect(await cell.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
      const head = await page.getByRole('columnheader', { name: column }).boundingBox();
      expect((head?.x ?? 0) + (head?.width ?? 0)).toBeLessThanOrEqual(1200);
    });

    test.each([390, 820, 1440])('%d px wide, short words of tables stay whole', async (width) => {
      const app = suite.app();
      const filling = filled.get(app) ?? fill();
      filled.set(app, filling);
      await filling;
      const page = await suite.openAs('owner');
      await page.setViewportSize({ width, height: 800 });
      for (const path of ['suppressions', 'api-keys', 'contacts', 'domains', 'team']) {
        await page.goto(`/app/${path}`);
        await settled(page);
        expect([path, await page.evaluate(BROKEN_WORDS)]).toEqual([path, []]);
      }
    });

    test.each([
      '/app/templates',
      '/app/templates/template/order-shipped',
      '/app/contacts',
      '/app/domains',
    ])('on a phone the buttons of %s stand in the line of its title', async (path) => {
      const app = suite.app();
      const filling = filled.get(app) ?? fill();
      filled.set(app, filling);
      await filling;
      const page = await suite.openAs('owner');
      await page.setViewportSize({ width: 390, height: 800 });
      await page.goto(path);
      await settled(page);
      const head = page.locator('main header').first();
      const title = (await head.boundingBox())?.y ?? 0;
      const tops = await head
        .getByRole('button')
        .evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().top));
      expect(tops.length).toBeGreaterThan(0);
      for (const top of tops) expect(top - title).toBeLessThan(40);
    });

    test('Sign-in', async () => {
      const page = await suite.open();
      await page.goto('/app/sign-in');
      await settled(page);
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByRole('link', { name: 'Forgotten your password?' }).click();
      await page.getByRole('button', { name: 'Send the link' }).waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
    });
  },
  { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
);

async function settled(page: Page): Promise<void> {
  await page.locator('h1, dialog[open]').first().waitFor({ state: 'attached' });
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
}

/** Words of up to twenty letters in cells of tables that stand on two lines. */
const BROKEN_WORDS = `[...document.querySelectorAll('main td')].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    for (const { 0: word, index } of text.data.matchAll(/\\S{2,20}(?!\\S)/g)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1 && !/\\S/.test(text.data[index - 1] ?? ' ')) broken.push(word);
    }
  }
  return broken;
})`;
