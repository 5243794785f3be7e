import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';
import { accessibilityViolations, overflows } from '../harness/browser/checks.ts';

/**
 * Goal: the documentation at /docs and the dashboard share fonts, colors and the selected theme, and
 * link to each other; the documentation is accessible, fits every window, and can be searched.
 * Method: computed styles; axe; a phone-sized window; a keyboard, and a browser without scripts.
 */
browserSuite('docs and dashboard', (suite) => {
  const look = (page: Page) => page.evaluate<Look>(LOOK);

  test('share fonts and colors, and link to each other', async () => {
    const page = await suite.openAs('owner', { mode: 'live' });
    await page.goto('/app');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    const dashboard = await look(page);
    await page.getByRole('link', { name: 'Documentation' }).click();
    await page.getByRole('heading', { name: 'Postrider documentation' }).waitFor();
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

  test.each(['/docs', '/docs/webhooks', '/docs/api/team', '/docs/errors/validation-failed'])(
    '%s is accessible and fits a phone',
    async (path) => {
      const page = await suite.open();
      await page.goto(path);
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await overflows(page)).toEqual([]);
      await page.getByText('Contents', { exact: true }).click();
      await page.getByRole('navigation', { name: 'Contents' }).waitFor();
    },
  );

  test('pages fit a phone and a small window', async () => {
    const page = await suite.open();
    await page.goto('/docs');
    const paths = await page.evaluate<string[]>(
      `[...document.querySelectorAll('nav a')].map((link) => link.getAttribute('href'))`,
    );
    expect(paths.length).toBeGreaterThan(25);
    // The pages of resources are all made the same way.
    const isOneOfMany = (path: string): boolean => /\/api\/(?!sending|event-types)/.test(path);
    for (const path of ['/docs', ...paths.filter((path) => !isOneOfMany(path))]) {
      await page.goto(path);
      for (const width of [390, 1024]) {
        await page.setViewportSize({ width, height: 800 });
        expect([path, width, await overflows(page)]).toEqual([path, width, []]);
      }
    }
  });

  test('the search finds what the user types, by keyboard and without scripts', async () => {
    const page = await suite.open();
    await page.goto('/docs');
    await page.keyboard.press('/');
    await page.keyboard.type('webhook signature');
    await page.getByRole('option', { name: /Verify signatures/ }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/docs\/webhooks#verify-signatures$/);
    await page.keyboard.press('/');
    await page.keyboard.type('xyzzy');
    await page.getByText('No results').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor();

    const plain = await suite.open({ scripts: false });
    await plain.goto('/docs');
    await plain.getByRole('searchbox').fill('webhook signature');
    await plain.getByRole('searchbox').press('Enter');
    await plain.getByRole('link', { name: 'Verify signatures' }).click();
    await plain.getByRole('heading', { level: 2, name: 'Verify signatures' }).waitFor();
    await plain.goto('/docs/api/sending');
    await plain.getByText('Python', { exact: true }).first().click();
    expect(await plain.getByText('import requests').first().isVisible()).toBe(true);
  });

  test('code can be copied, and the language stays selected', async () => {
    const page = await suite.open();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.clock.install();
    await page.goto('/docs/api/sending');
    await page.getByText('TypeScript', { exact: true }).first().click();
    // The result is shown only briefly.
    await page.clock.pauseAt(Date.now() + 10_000);
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toContain('await postrider.send({');
    await page.goto('/docs/api/messages');
    expect(await page.getByText('await postrider.request(').first().isVisible()).toBe(true);
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
