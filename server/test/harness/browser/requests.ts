import type { Page } from 'playwright-core';

/**
 * Runs something between a page's first request of a kind and its arrival at the server. What changes
 * on the server then cannot reach the page before it has sent the request.
 */
export async function beforeFirst(
  page: Page,
  method: string,
  url: string,
  run: () => Promise<unknown>,
): Promise<void> {
  let isFirst = true;
  await page.route(url, async (route) => {
    if (isFirst && route.request().method() === method) {
      isFirst = false;
      await run();
    }
    await route.continue();
  });
}
