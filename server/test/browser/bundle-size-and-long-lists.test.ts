import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';

/**
 * Goal: the dashboard loads quickly and stays fast with long lists.
 * Method: transferred bytes and the number of DOM elements, as measured by the browser.
 */

const MAX_FIRST_LOAD_BYTES = 300_000;
/** Browsers load six files at a time over HTTP/1.1. */
const MAX_FIRST_SCRIPTS = 36;
const MESSAGES = 3_000;
const BATCH = 500;
const MAX_ELEMENTS = 2_500;
/** Scrolling to the end fetches a hundred pages. */
const SCROLL_TIMEOUT_MS = 180_000;

browserSuite('dashboard performance', (suite) => {
  test('loads less than 300 KB at first: scripts, styles and the font, without the editor', async () => {
    const page = await suite.openAs('owner');
    const files = watchFiles(page);
    await page.goto('/app');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await expect.poll(() => [...files.keys()].join()).toContain('/docs/inter.woff2');
    const first = await total(files);
    expect(first).toBeGreaterThan(50_000);
    expect(first).toBeLessThan(MAX_FIRST_LOAD_BYTES);
    const scripts = [...files.keys()].filter((url) => url.endsWith('.js'));
    expect(scripts.length).toBeLessThan(MAX_FIRST_SCRIPTS);
    await page.goto('/app/messages');
    await page.getByRole('heading', { name: 'Messages', exact: true }).waitFor();
    expect(await total(files)).toBeLessThan(MAX_FIRST_LOAD_BYTES);
    console.log(`First load: ${Math.round(first / 1000)} KB.`);
  });

  test('shows three thousand messages with a limited number of elements', {
    timeout: 300_000,
  }, async () => {
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    for (let sent = 0; sent < MESSAGES; sent += BATCH) {
      const messages = Array.from({ length: BATCH }, (_, index) =>
        validMessage({ subject: `Message ${sent + index + 1}`, scheduled_at }),
      );
      const answer = await suite.app().call('POST', '/transactional/batch', { body: { messages } });
      expect(answer.status).toBe(202);
    }
    const page = await suite.openAs('owner');
    await page.goto('/app/messages');
    await page.getByRole('link', { name: 'Message 3000', exact: true }).waitFor();
    const oldest = page.getByRole('link', { name: 'Message 1', exact: true });
    let most = 0;
    const count = async () => {
      most = Math.max(most, await page.evaluate<number>("document.querySelectorAll('*').length"));
    };
    await expect
      .poll(
        async () => {
          await page.evaluate(TO_THE_END);
          await count();
          return oldest.count();
        },
        { timeout: SCROLL_TIMEOUT_MS, interval: 20 },
      )
      .toBe(1);
    expect(
      await page.evaluate<number>("document.querySelectorAll('li[aria-setsize]').length"),
    ).toBeLessThan(80);
    expect(most).toBeLessThan(MAX_ELEMENTS);
    await page.evaluate("document.querySelector('main').scrollTo(0, 0)");
    await page.getByRole('link', { name: 'Message 3000', exact: true }).waitFor();
  });
});

const FILES = ['document', 'script', 'stylesheet', 'font', 'image'];

/** File sizes by URL, as transferred; cached files count as nothing. */
function watchFiles(page: Page): Map<string, Promise<number>> {
  const files = new Map<string, Promise<number>>();
  page.on('requestfinished', (request) => {
    if (!FILES.includes(request.resourceType())) return;
    const size = request.sizes().then(({ responseBodySize }) => responseBodySize);
    if (!files.has(request.url())) files.set(request.url(), size);
  });
  return files;
}

async function total(files: Map<string, Promise<number>>): Promise<number> {
  return (await Promise.all(files.values())).reduce((sum, size) => sum + size, 0);
}

const TO_THE_END =
  "document.querySelector('main').scrollTo(0, document.querySelector('main').scrollHeight)";
