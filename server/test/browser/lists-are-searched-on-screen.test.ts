import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';
import { makePerson } from '../harness/visitor.ts';

/**
 * Goal: in a long list somebody types a few words and sees what has them; the address says what was
 * looked for, and an empty result says so and leads back.
 */
browserSuite('long lists', (suite) => {
  const search = (page: Page) => page.locator('[data-search]');

  test('templates are found while typing, in every kind, and by a shared address', async () => {
    for (let n = 0; n < 60; n++) {
      const key = `notice-${n}`;
      const body = { key, name: `Notice ${n}`, subject: `About ${n}`, html: '<p>-</p>' };
      await suite.app().call('POST', '/templates', { body });
    }
    await suite.app().call('POST', '/partials', { body: { key: 'legal-57', html: '<p>-</p>' } });
    const page = await suite.openAs('developer');
    await page.goto('/app/templates');
    // The oldest stand on the second page.
    await page.getByRole('link', { name: 'Notice 59' }).waitFor();
    await search(page).fill('ABOUT 57');
    await page.getByRole('link', { name: 'Notice 57' }).waitFor();
    await page.getByRole('link', { name: 'Notice 59' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('q')).toBe('ABOUT 57');

    await search(page).fill('nowhere');
    await page.getByRole('heading', { name: 'No template with “nowhere”' }).waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByRole('link', { name: 'Notice 59' }).waitFor();
    expect(await search(page).inputValue()).toBe('');

    await page.goto('/app/templates?q=notice-7');
    await page.getByRole('link', { name: 'Notice 7' }).waitFor();
    expect(await page.getByRole('table').getByRole('link').count()).toBe(1);
    await page.goto('/app/templates?q=l-57');
    await page.getByRole('link', { name: 'Partials' }).click();
    await page.getByRole('link', { name: 'legal-57' }).waitFor();
    expect(await search(page).inputValue()).toBe('l-57');
  });

  test('members beyond the first page are seen and found', async () => {
    for (let n = 0; n < 60; n++) {
      await makePerson(suite.app(), `colleague${n}.@crew.example`, 'viewer');
    }
    const page = await suite.openAs('owner');
    await page.goto('/app/team');
    await page.getByText('colleague59.@').waitFor();
    await search(page).fill('colleague3.');
    await page.getByText('colleague3.@').waitFor();
    await page.getByText('colleague59.@').waitFor({ state: 'detached' });
    await search(page).fill('nobody');
    await page.getByRole('heading', { name: 'No member with “nobody”' }).waitFor();
  });

  test('keys and domains have the same field', async () => {
    await suite.app().call('POST', '/api-keys', { body: { name: 'Night report' } });
    const page = await suite.openAs('owner');
    await page.goto('/app/api-keys?q=night');
    await page.getByText('Night report').waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await search(page).fill('noon');
    await page.getByRole('heading', { name: 'No key with “noon”' }).waitFor();
    await page.goto('/app/domains?q=shop');
    await page.getByRole('heading', { name: 'No domain with “shop”' }).waitFor();
  });
});
