import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { createPerson, member } from '../harness/browser/dashboard-session.ts';

/**
 * Goal: long lists can be searched while typing; the search is part of the URL, and an empty result
 * says so and offers to clear the search. Filters can be saved, and rows changed together.
 */
browserSuite('list search', (suite) => {
  const search = (page: Page) => page.locator('[data-search]');

  test('templates are found while typing, in every kind, and by a shared URL', async () => {
    for (let n = 0; n < 60; n++) {
      const key = `notice-${n}`;
      const body = { key, name: `Notice ${n}`, subject: `About ${n}`, html: '<p>-</p>' };
      await suite.app().call('POST', '/templates', { body });
    }
    await suite.app().call('POST', '/partials', { body: { key: 'legal-57', html: '<p>-</p>' } });
    const page = await suite.openAs('developer');
    await page.goto('/app/templates');
    // The oldest are on the second page.
    await page.getByRole('link', { name: 'Notice 59' }).waitFor();
    await search(page).fill('ABOUT 57');
    await page.getByRole('link', { name: 'Notice 57' }).waitFor();
    await page.getByRole('link', { name: 'Notice 59' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('q')).toBe('ABOUT 57');

    await search(page).fill('nowhere');
    await page.getByRole('heading', { name: 'No template matching “nowhere”' }).waitFor();
    await page.getByRole('button', { name: 'Clear search' }).click();
    await page.getByRole('link', { name: 'Notice 59' }).waitFor();
    await expect.poll(() => search(page).inputValue()).toBe('');

    await page.goto('/app/templates?q=notice-7');
    await page.getByRole('link', { name: 'Notice 7' }).waitFor();
    await expect.poll(() => page.getByRole('table').getByRole('link').count()).toBe(1);
    await page.goto('/app/templates?q=l-57');
    await page.getByRole('link', { name: 'Partials' }).click();
    await page.getByRole('link', { name: 'legal-57' }).waitFor();
    await expect.poll(() => search(page).inputValue()).toBe('l-57');
  });

  test('members beyond the first page are listed and found', async () => {
    for (let n = 0; n < 60; n++) {
      await createPerson(suite.app(), `colleague${n}.@crew.example`, 'viewer');
    }
    const page = await suite.openAs('owner');
    await page.goto('/app/team');
    await page.getByText('colleague59.@').waitFor();
    await search(page).fill('colleague3.');
    await page.getByText('colleague3.@').waitFor();
    await page.getByText('colleague59.@').waitFor({ state: 'detached' });
    await search(page).fill('unknown');
    await page.getByRole('heading', { name: 'No member matching “unknown”' }).waitFor();
  });

  test('select options and names are not limited to the first hundred', async () => {
    const { call } = suite.app();
    const { visitor } = await member(suite.app(), 'developer', 'ada@crew.example');
    await call('POST', '/layouts', { body: { key: 'oldest', html: '{{ content }}' } });
    await visitor.call('POST', '/templates', { body: { key: 'old', subject: '-', html: '-' } });
    await visitor.call('POST', '/templates/old/publish', { body: {} });
    await Promise.all(
      Array.from({ length: 101 }, async (_, n) => {
        await call('POST', '/layouts', { body: { key: `layout-${n}`, html: '{{ content }}' } });
        await createPerson(suite.app(), `newer${n}@crew.example`, 'viewer');
      }),
    );
    const page = await suite.openAs('owner', { width: 1440 });
    await page.goto('/app/templates/template/old');
    await page.getByLabel('Layout').selectOption('oldest');
    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByText('by ada', { exact: false }).waitFor();
  });

  test('a late response does not replace a newer search', async () => {
    for (const key of ['slow-one', 'quick-one']) {
      await suite.app().call('POST', '/templates', { body: { key, subject: '-', html: '-' } });
      const body = validMessage({ subject: `About ${key}`, to: { email: `${key}@example.com` } });
      await suite.app().call('POST', '/transactional/send', { body });
      await suite.app().call('POST', '/contacts', { body: { email: `${key}@example.com` } });
    }
    for (const list of ['templates', 'messages', 'contacts']) {
      const page = await suite.openAs('developer', { mode: 'test' });
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      await page.route(`**/api/v1/${list}?*q=slow*`, async (route) => {
        await held;
        await route.continue();
      });
      await page.goto(`/app/${list}`);
      const row = (text: string) => page.getByRole('link', { name: text }).first();
      await row('quick-one').waitFor();
      const requested = page.waitForRequest(`**/api/v1/${list}?*q=slow*`);
      const answered = page.waitForResponse(`**/api/v1/${list}?*q=slow*`);
      await search(page).fill('slow-one');
      await requested;
      await search(page).fill('quick-one');
      await row('slow-one').waitFor({ state: 'detached' });
      release();
      await (await answered).finished();
      await row('quick-one').waitFor();
      expect(await row('slow-one').count()).toBe(0);
    }
  });

  test('messages are filtered by time, and the filter is saved under a name', async () => {
    await suite.app().call('POST', '/transactional/send', { body: validMessage() });
    const page = await suite.openAs('developer', { mode: 'test', width: 1440 });
    await page.goto('/app/messages');
    await page.getByRole('button', { name: 'Time: Any time' }).click();
    await page.getByLabel('From').fill('2026-03-01T10:00');
    await page.getByLabel('To', { exact: true }).fill('2026-03-01T09:00');
    await page.getByText('Must be after the start.').waitFor();
    await page.getByLabel('To', { exact: true }).fill('2026-03-02T09:00');
    await page.getByRole('button', { name: 'Apply range' }).click();
    await page.getByText('No messages match these filters').waitFor();
    const { searchParams } = new URL(page.url());
    const utc = await page.evaluate<string>("new Date('2026-03-01T10:00').toISOString()");
    expect(searchParams.get('after')).toBe(utc);
    await page.getByRole('button', { name: 'Saved', exact: true }).click();
    await page.getByLabel('Save current filters as').fill('First of March');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: /^Time: Mar 1/ }).click();
    await page.getByRole('button', { name: 'Last hour' }).click();
    await page.getByRole('link', { name: 'Hello' }).first().waitFor();
    expect(new URL(page.url()).search).toBe('?since=1h');

    await page.reload();
    await page.getByRole('button', { name: 'Saved', exact: true }).click();
    await page.getByRole('button', { name: 'First of March', exact: true }).click();
    await page.getByText('No messages match these filters').waitFor();
    expect(new URL(page.url()).searchParams.get('after')).toBe(utc);
    await page.getByRole('button', { name: 'Saved', exact: true }).click();
    await page.getByRole('button', { name: 'Delete First of March' }).click();
    await page.getByRole('list', { name: 'Saved filters' }).waitFor({ state: 'detached' });
  });

  test('selected messages are cancelled and selected suppressions removed', async () => {
    const { call } = suite.app();
    const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
    const messages = Array.from({ length: 5 }, (_, n) =>
      validMessage({ subject: `Later ${n}`, tags: ['bulk'], scheduled_at }),
    );
    await call('POST', '/transactional/batch', { body: { messages } });
    for (const name of ['one', 'two', 'three']) {
      await call('POST', '/suppressions', { body: { email: `bulk.${name}@example.com` } });
    }
    const page = await suite.openAs('developer', { mode: 'test', width: 1440 });
    await page.goto('/app/messages?tag=bulk');
    await page.getByText('5 messages').waitFor();
    await page.getByRole('checkbox', { name: 'Select Later 1' }).check();
    await page.getByRole('checkbox', { name: 'Select Later 3' }).click({ modifiers: ['Shift'] });
    await page.getByText('3 selected').waitFor();
    const actions = page.getByRole('toolbar', { name: 'Selected rows' });
    expect(await actions.getByRole('button', { name: 'Retry' }).isDisabled()).toBe(true);
    await actions.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 3 messages' }).click();
    await page.getByText('3 messages cancelled.').waitFor();
    await actions.waitFor({ state: 'detached' });
    const cancelled = await call('GET', '/messages?tag=bulk&status=cancelled');
    expect(cancelled.json.data.map(({ subject }: { subject: string }) => subject).sort()).toEqual([
      'Later 1',
      'Later 2',
      'Later 3',
    ]);

    await page.goto('/app/suppressions?q=bulk.');
    await page.getByText('3 suppressions').waitFor();
    await page.getByRole('checkbox', { name: 'Select all loaded rows' }).check();
    await page.getByRole('checkbox', { name: 'Select bulk.two@example.com' }).uncheck();
    await actions.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove 2 suppressions' }).click();
    await page.getByText('2 suppressions removed.').waitFor();
    await page.getByText('1 suppression', { exact: true }).waitFor();
    const kept = await call('GET', '/suppressions?q=bulk.');
    expect(kept.json.data.map(({ email }: { email: string }) => email)).toEqual([
      'bulk.two@example.com',
    ]);
  });

  test('invalid entries of a list of suppressions are named, also after the text changed', async () => {
    const page = await suite.openAs('developer');
    await page.goto('/app/suppressions?new=true');
    const dialog = page.getByRole('dialog');
    const text = dialog.getByLabel('Addresses or domains');
    await text.fill('jane@@example.com\nlocalhost');
    await dialog.getByRole('button', { name: 'Add 2' }).click();
    await dialog.getByText('2 invalid entries. Nothing was added.').waitFor();
    const lines = dialog.getByRole('alert').getByRole('listitem');
    expect(await lines.allTextContents()).toEqual([
      'jane@@example.com The address has more than one @.',
      'localhost The domain has no dot: a full name such as example.com is required.',
    ]);
    await text.fill('localhost\nlines.one@example.com\nlines.two@example.com');
    expect(await lines.first().textContent()).toContain('jane@@example.com');
    await dialog.getByRole('button', { name: 'Add 3' }).click();
    await dialog.getByText('1 invalid entry. 2 others were added.').waitFor();
    expect(await lines.first().textContent()).toContain('localhost The domain has no dot');
  });

  test('keys and domains can be searched too', async () => {
    await suite.app().call('POST', '/api-keys', { body: { name: 'Night report' } });
    const page = await suite.openAs('owner');
    await page.goto('/app/api-keys?q=night');
    await page.getByText('Night report').waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    await search(page).fill('noon');
    await page.getByRole('heading', { name: 'No key matching “noon”' }).waitFor();
    await page.goto('/app/domains?q=shop');
    await page.getByRole('heading', { name: 'No domain matching “shop”' }).waitFor();
  });
});
