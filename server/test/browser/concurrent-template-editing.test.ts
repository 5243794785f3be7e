import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';
import { beforeFirst } from '../harness/browser/requests.ts';

/**
 * Goal: two people editing one template never silently overwrite each other. Edits to different
 * fields are merged; for the same field, the second user keeps their text and chooses.
 * Method: one user in a real browser, the other through the API, which allows exact timing.
 */
browserSuite('concurrent template editing', (suite) => {
  async function openTemplate(key: string): Promise<Page> {
    const body = { key, name: 'Notice', subject: 'A notice', html: '<p>One</p>' };
    expect((await suite.app().call('POST', '/templates', { body })).status).toBe(201);
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto(`/app/templates/template/${key}`);
    await html(page).waitFor();
    return page;
  }

  const html = (page: Page) => page.getByRole('textbox', { name: 'HTML' });
  const conflict = (page: Page) => page.getByText(/^Changed by/);
  const saved = (page: Page) =>
    page.getByRole('status').getByText('Saved', { exact: true }).waitFor();

  async function write(page: Page, text: string): Promise<void> {
    await html(page).click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText(text);
  }

  async function writeElsewhere(key: string, body: object): Promise<void> {
    expect((await suite.app().call('PATCH', `/templates/${key}`, { body })).status).toBe(200);
  }

  async function stored(key: string) {
    return (await suite.app().call('GET', `/templates/${key}`)).json;
  }

  async function openConflict(key: string): Promise<Page> {
    const page = await openTemplate(key);
    await beforeFirst(page, 'PATCH', `**/templates/${key}`, () =>
      writeElsewhere(key, { html: '<p>Theirs</p>' }),
    );
    await write(page, '<p>Mine</p>');
    await conflict(page).waitFor();
    return page;
  }

  test('the second user sees who saved first, and keeps their text', async () => {
    const page = await openConflict('shown');
    await page.getByText('Changed by an API key').waitFor();
    await page.getByText('You both edited the HTML.').waitFor();
    expect(await html(page).textContent()).toBe('<p>Mine</p>');
    expect((await stored('shown')).html).toBe('<p>Theirs</p>');
    await page.getByRole('button', { name: 'View theirs' }).click();
    await page.getByRole('dialog').getByText('<p>Theirs</p>').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    // Further typing or leaving does not save anything.
    await html(page).click();
    await page.keyboard.insertText('more');
    await page.getByRole('link', { name: 'Contacts' }).click();
    const leave = page.getByRole('dialog', { name: 'Discard unsaved changes?' });
    await leave.getByRole('button', { name: 'Keep editing' }).click();
    expect((await stored('shown')).html).toBe('<p>Theirs</p>');
  });

  test('the second user overwrites deliberately', async () => {
    const page = await openConflict('overwritten');
    await page.getByRole('button', { name: 'Overwrite with mine' }).click();
    await saved(page);
    await conflict(page).waitFor({ state: 'detached' });
    expect((await stored('overwritten')).html).toBe('<p>Mine</p>');
  });

  test('the second user loads the other version and continues from it', async () => {
    const page = await openConflict('taken');
    await page.getByRole('button', { name: 'Discard mine, load theirs' }).click();
    await expect.poll(() => html(page).textContent()).toBe('<p>Theirs</p>');
    await saved(page);
    await html(page).click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.insertText('<p>And mine</p>');
    await expect
      .poll(async () => (await stored('taken')).html)
      .toBe('<p>Theirs</p><p>And mine</p>');
  });

  test('edits to different fields are merged', async () => {
    const page = await openTemplate('apart');
    await writeElsewhere('apart', { subject: 'Their subject' });
    await write(page, '<p>Mine</p>');
    await expect.poll(async () => (await stored('apart')).html).toBe('<p>Mine</p>');
    expect((await stored('apart')).subject).toBe('Their subject');
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Subject' }).inputValue())
      .toBe('Their subject');
    await saved(page);
    expect(await conflict(page).count()).toBe(0);
  });

  test('unseen changes are not published', async () => {
    const page = await openTemplate('published');
    await beforeFirst(page, 'POST', '**/templates/published/publish', () =>
      writeElsewhere('published', { html: '<p>Not ready</p>' }),
    );
    await page.getByRole('button', { name: 'Publish' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.getByText('Changed by an API key').waitFor();
    expect((await stored('published')).published_version).toBe(null);
    await expect.poll(() => html(page).textContent()).toBe('<p>Not ready</p>');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 1 published.').waitFor();
  });
});
