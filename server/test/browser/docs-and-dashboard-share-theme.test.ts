import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';
import { accessibilityViolations, overflows } from '../harness/browser-checks.ts';

/**
 * Goal: the API reference at /docs and the dashboard share fonts, colors and the selected theme, and
 * link to each other; the reference is accessible.
 * Method: computed styles; axe; a phone-sized window.
 */
browserSuite('docs and dashboard', (suite) => {
  const look = (page: Page) => page.evaluate<Look>(LOOK);

  test('share fonts and colors, and link to each other', async () => {
    const page = await suite.openAs('owner', { mode: 'live' });
    await page.goto('/app');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    const dashboard = await look(page);
    await page.getByRole('link', { name: 'API reference' }).click();
    await page.getByRole('heading', { name: 'Postrider API' }).waitFor();
    const reference = await look(page);
    expect(reference.styles).toEqual(dashboard.styles);
    // The dashboard build rewrites colors, which may change them by rounding.
    const differences = reference.colors.map((part, at) =>
      Math.abs(part - (dashboard.colors[at] ?? 0)),
    );
    expect(Math.max(...differences)).toBeLessThanOrEqual(2);
    await page.getByRole('link', { name: 'Dashboard', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  });

  test('the theme selected in one applies to the other at once', async () => {
    const dashboard = await suite.openAs('owner', { mode: 'live', dark: true });
    await dashboard.goto('/app');
    await dashboard.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    const reference = await dashboard.context().newPage();
    await reference.goto('/docs');
    const theme = (page: Page) => page.evaluate('document.documentElement.dataset.theme');
    expect([await theme(dashboard), await theme(reference)]).toEqual(['dark', 'dark']);
    await reference.getByRole('button', { name: 'Light' }).click();
    expect(await theme(reference)).toBe('light');
    await expect.poll(() => theme(dashboard)).toBe('light');
    await dashboard.getByRole('button', { name: /Your account/ }).click();
    await dashboard.getByRole('menuitem', { name: 'Dark' }).click();
    await expect.poll(() => theme(reference)).toBe('dark');
    await reference.reload();
    expect(await theme(reference)).toBe('dark');
    expect(await reference.getByRole('button', { name: 'Dark' }).getAttribute('aria-pressed')).toBe(
      'true',
    );
    await reference.getByRole('button', { name: 'System' }).click();
    await dashboard.reload();
    expect(await theme(dashboard)).toBe('dark');
    await reference.close();
  });

  test.each([
    '/docs/errors',
    '/docs/errors/validation-failed',
    '/docs/errors/no-such-code',
    '/docs',
  ])('%s is accessible and fits a phone', async (path) => {
    const page = await suite.open();
    await page.goto(path);
    await page.evaluate(SHORTEN);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await overflows(page)).toEqual([]);
    await page.getByText('Contents', { exact: true }).click();
    await page.getByRole('navigation', { name: 'Contents' }).waitFor();
  });
});

interface Look {
  styles: string[];
  colors: number[];
}

const LOOK = `(() => {
  const body = getComputedStyle(document.body);
  const root = getComputedStyle(document.documentElement);
  const brush = document.createElement('canvas').getContext('2d');
  const seen = (color) => {
    brush.fillStyle = color;
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data];
  };
  return {
    styles: [
      body.fontFamily,
      document.documentElement.dataset.theme,
      document.querySelector('link[rel=icon]').href,
    ],
    colors: [
      body.color,
      root.getPropertyValue('--accent'),
      root.getPropertyValue('--canvas'),
      getComputedStyle(document.querySelector('main')).backgroundColor,
    ].flatMap(seen),
  };
})()`;

/** Removes most operations, which look alike, because axe takes minutes for a hundred of them. */
const SHORTEN = `for (const one of [...document.querySelectorAll('.operation, nav li')].slice(40)) {
  if (!one.matches('.operation:nth-of-type(16n)')) one.remove();
}`;
