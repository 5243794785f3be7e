import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';
import { createPerson, member } from '../harness/browser/dashboard-session.ts';
import { beforeFirst } from '../harness/browser/requests.ts';

/**
 * Goal: when a user's role changes, or the user is removed, while a page is open, the page says so,
 * hides what is no longer allowed, and keeps unsaved text.
 * Method: the role changes while the draft is being saved, because any request may notice it.
 */
browserSuite('role changes on an open page', (suite) => {
  async function change(personId: string, role: 'viewer' | null): Promise<void> {
    const { visitor } = await member(suite.app(), 'owner', `owner-of-${personId}@shop.example`);
    const path = `/members/${personId}`;
    const answer = role
      ? await visitor.call('PATCH', path, { body: { role } })
      : await visitor.call('DELETE', path);
    expect(answer.status).toBeLessThan(300);
  }

  const html = (page: Page) => page.getByRole('textbox', { name: 'HTML' });

  async function openTemplate(key: string): Promise<{ page: Page; personId: string }> {
    const body = { key, name: 'Notice', subject: 'A notice', html: '<p>One</p>' };
    await suite.app().call('POST', '/templates', { body });
    const person = await createPerson(suite.app(), `${key}@shop.example`, 'developer');
    const page = await suite.openFor(person, { width: 1440 });
    await page.goto(`/app/templates/template/${key}`);
    await html(page).waitFor();
    return { page, personId: person.publicId };
  }

  async function write(page: Page, text: string): Promise<void> {
    await html(page).click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText(text);
  }

  test('in the template editor, the text stays and the buttons disappear', async () => {
    const { page, personId } = await openTemplate('demoted');
    await beforeFirst(page, 'PATCH', '**/templates/demoted', () => change(personId, 'viewer'));
    await write(page, '<p>Unsaved text</p>');
    await page.getByText('Your role in Test is now viewer.').waitFor();
    await page
      .getByRole('alert')
      .getByText(/viewer/)
      .waitFor();
    await page.getByRole('button', { name: 'Publish' }).waitFor({ state: 'detached' });
    expect(await html(page).textContent()).toBe('<p>Unsaved text</p>');
    await page.getByRole('link', { name: 'Contacts' }).click();
    const leave = page.getByRole('dialog', { name: 'Discard unsaved changes?' });
    await leave.getByRole('button', { name: 'Keep editing' }).click();
    expect(await html(page).textContent()).toBe('<p>Unsaved text</p>');
  });

  test('an open form stays open and shows the reason', async () => {
    const person = await createPerson(suite.app(), 'form@shop.example', 'developer');
    const page = await suite.openFor(person);
    await page.goto('/app/contacts?new=true');
    await page.getByLabel('Email').fill('jane@example.com');
    await page.getByLabel('First name').fill('Carefully typed');
    await change(person.publicId, 'viewer');
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await page.getByText('Your role in Test is now viewer.').waitFor();
    await page
      .getByRole('dialog')
      .getByRole('alert')
      .getByText(/viewer/)
      .waitFor();
    expect(await page.getByLabel('First name').inputValue()).toBe('Carefully typed');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.getByRole('button', { name: 'Add' }).count()).toBe(0);
  });

  test('after removal from the workspace, the page stays until the user leaves', async () => {
    const { page, personId } = await openTemplate('removed');
    await beforeFirst(page, 'PATCH', '**/templates/removed', () => change(personId, null));
    await write(page, '<p>Unsaved text</p>');
    await page.getByText('You are no longer a member of Test.').waitFor();
    expect(await html(page).textContent()).toBe('<p>Unsaved text</p>');
    await page.getByRole('button', { name: 'Leave page' }).click();
    const leave = page.getByRole('dialog', { name: 'Discard unsaved changes?' });
    await leave.getByRole('button', { name: 'Keep editing' }).click();
    expect(await html(page).textContent()).toBe('<p>Unsaved text</p>');
    await page.getByRole('button', { name: 'Leave page' }).click();
    await leave.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('heading', { name: 'No workspace' }).waitFor();
  });

  test('leaving the workspace takes effect at once', async () => {
    const person = await createPerson(suite.app(), 'leaver@shop.example', 'developer');
    const page = await suite.openFor(person);
    await page.goto('/app/team');
    await page.getByRole('button', { name: 'Leave workspace' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'No workspace' }).waitFor();
  });
});
