import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** Accessibility and layout checks for pages. */

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs all axe rules once, and the contrast rule in every theme and mode that has colors of its own. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  // Takes longer than most rules.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  const all = await run(page, '{}');
  const contrastOnly = "{ runOnly: ['color-contrast'] }";
  const states = [['dark', 'test']];
  if (await page.evaluate(STYLES_DEPEND_ON_MODE)) states.push(['dark', 'live'], ['light', 'live']);
  for (const [theme, mode] of states) {
    await page.evaluate(`Object.assign(document.documentElement.dataset, {
      theme: '${theme}', mode: '${mode}',
    })`);
    all.push(
      ...(await run(page, contrastOnly)).map((violation) => `${theme} ${mode}: ${violation}`),
    );
  }
  return all;
}

/** Otherwise test and live mode have the same colors, and checking both would take twice as long. */
const STYLES_DEPEND_ON_MODE = `[...document.styleSheets].some(({ cssRules }) =>
  [...cssRules].some(({ cssText }) => cssText.includes('data-mode')))`;

function run(page: Page, options: string): Promise<string[]> {
  return page.evaluate(`axe
    .run(document, { resultTypes: ['violations'], iframes: false, preload: false, ...${options} })
    .then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html, any }) =>
        id + ': ' + html.slice(0, 160) + ' ' + (any[0]?.message ?? ''))))`);
}

/** Scroll containers and dialogs whose content is wider than they are. */
export function overflows(page: Page): Promise<string[]> {
  return page.evaluate(`[document.documentElement, ...document.querySelectorAll('[data-scroller], dialog[open]')]
    .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.tagName + ' ' + box.scrollWidth + ' in ' + box.clientWidth)`);
}

/** Expects that a text is not cut off, and inside the window. */
export async function expectFullyVisible(text: Locator): Promise<void> {
  await text.waitFor();
  expect(await text.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(1);
  const box = await text.boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(0);
  const { width = 0 } = text.page().viewportSize() ?? {};
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
}

/** The window widths of a desktop, a tablet and a phone. */
export const WIDTHS = [1440, 1024, 390];

/** Expects that nothing is wider than its window at any of the usual widths. */
export async function expectToFit(page: Page): Promise<void> {
  const before = page.viewportSize();
  // A page in the background may render no frames, and then charts never learn of their new width.
  await page.bringToFront();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    // Charts resize a moment later.
    await expect.poll(async () => [width, await overflows(page)]).toEqual([width, []]);
  }
  if (before) await page.setViewportSize(before);
}
