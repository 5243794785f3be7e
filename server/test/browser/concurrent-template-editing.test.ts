import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';

/**
 * Goal: two people in one template at the same moment lose nothing to each other without a word.
 * What goes together is joined; where both wrote, who comes second keeps their words and chooses.
 * Method: one in a real browser, the other by the API, where every moment can be hit.
 */
browserSuite('two people in one template', (suite) => {
  async function openTemplate(key: string): Promise<Page> {
    const body = { key, name: 'Letter', subject: 'A letter', html: '<p>One</p>' };
    expect((await suite.app().call('POST', '/templates', { body })).status).toBe(201);
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto(`/app/templates/template/${key}`);
    await html(page).waitFor();
    return page;
  }

  const html = (page: Page) => page.getByRole('textbox', { name: 'HTML' });
  const clash = (page: Page) => page.getByText(/Changed meanwhile by/);
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

  async function openClash(key: string): Promise<Page> {
    const page = await openTemplate(key);
    await writeElsewhere(key, { html: '<p>Theirs</p>' });
    await write(page, '<p>Mine</p>');
    await clash(page).waitFor();
    return page;
  }

  test('the second is told who was faster, and keeps the words on screen', async () => {
    const page = await openClash('told');
    await page.getByText('Changed meanwhile by an API key').waitFor();
    await page.getByText('Both wrote the HTML.').waitFor();
    expect(await html(page).textContent()).toBe('<p>Mine</p>');
    expect((await stored('told')).html).toBe('<p>Theirs</p>');
    await page.getByRole('button', { name: 'Look at theirs' }).click();
    await page.getByRole('dialog').getByText('<p>Theirs</p>').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    // Writing on changes nothing of it, and neither does leaving.
    await html(page).click();
    await page.keyboard.insertText('more');
    await page.getByRole('link', { name: 'Contacts' }).click();
    const leave = page.getByRole('dialog', { name: 'Leave what is not saved?' });
    await leave.getByRole('button', { name: 'Stay' }).click();
    expect((await stored('told')).html).toBe('<p>Theirs</p>');
  });

  test('the second overwrites on purpose', async () => {
    const page = await openClash('overwritten');
    await page.getByRole('button', { name: 'Overwrite theirs with mine' }).click();
    await saved(page);
    await clash(page).waitFor({ state: 'detached' });
    expect((await stored('overwritten')).html).toBe('<p>Mine</p>');
  });

  test('the second takes the words of the first, and goes on from them', async () => {
    const page = await openClash('taken');
    await page.getByRole('button', { name: 'Load theirs, drop mine' }).click();
    await expect.poll(() => html(page).textContent()).toBe('<p>Theirs</p>');
    await saved(page);
    await html(page).click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.insertText('<p>And mine</p>');
    await expect
      .poll(async () => (await stored('taken')).html)
      .toBe('<p>Theirs</p><p>And mine</p>');
  });

  test('who writes in different fields does not even notice', async () => {
    const page = await openTemplate('apart');
    await writeElsewhere('apart', { subject: 'Their subject' });
    await write(page, '<p>Mine</p>');
    await expect.poll(async () => (await stored('apart')).html).toBe('<p>Mine</p>');
    expect((await stored('apart')).subject).toBe('Their subject');
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Subject' }).inputValue())
      .toBe('Their subject');
    await saved(page);
    expect(await clash(page).count()).toBe(0);
  });

  test('what came meanwhile is not published unseen', async () => {
    const page = await openTemplate('published');
    await page.getByRole('button', { name: 'Publish' }).click();
    await writeElsewhere('published', { html: '<p>Not ready</p>' });
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.getByText('Changed meanwhile by an API key').waitFor();
    expect((await stored('published')).published_version).toBe(null);
    await expect.poll(() => html(page).textContent()).toBe('<p>Not ready</p>');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 1 is published.').waitFor();
  });
});
