import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';
import { createPerson, member } from '../harness/dashboard-session.ts';

/**
 * Goal: whose role is changed, or who is removed, while a page is open is told so in words, sees what
 * is left to them, and loses nothing that they have written.
 */
browserSuite('a role that is taken away', (suite) => {
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
    const body = { key, name: 'Letter', subject: 'A letter', html: '<p>One</p>' };
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

  test('from who writes a template leaves the words, and takes the buttons', async () => {
    const { page, personId } = await openTemplate('demoted');
    await change(personId, 'viewer');
    await write(page, '<p>Many careful words</p>');
    await page.getByText('Your role in Test is viewer now.').waitFor();
    await page
      .getByRole('alert')
      .getByText(/viewer/)
      .waitFor();
    await page.getByRole('button', { name: 'Publish' }).waitFor({ state: 'detached' });
    expect(await html(page).textContent()).toBe('<p>Many careful words</p>');
    await page.getByRole('link', { name: 'Contacts' }).click();
    const leave = page.getByRole('dialog', { name: 'Leave what is not saved?' });
    await leave.getByRole('button', { name: 'Stay' }).click();
    expect(await html(page).textContent()).toBe('<p>Many careful words</p>');
  });

  test('from who fills in a form leaves it open, with the reason', async () => {
    const person = await createPerson(suite.app(), 'form@shop.example', 'developer');
    const page = await suite.openFor(person);
    await page.goto('/app/contacts?new=true');
    await page.getByLabel('E-mail').fill('jane@example.com');
    await page.getByLabel('First name').fill('Carefully typed');
    await change(person.publicId, 'viewer');
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await page.getByText('Your role in Test is viewer now.').waitFor();
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

  test('together with the workspace leaves the page until the person goes on', async () => {
    const { page, personId } = await openTemplate('removed');
    await change(personId, null);
    await write(page, '<p>Many careful words</p>');
    await page.getByText('You are no longer a member of Test.').waitFor();
    expect(await html(page).textContent()).toBe('<p>Many careful words</p>');
    await page.getByRole('button', { name: 'Go on' }).click();
    const leave = page.getByRole('dialog', { name: 'Leave what is not saved?' });
    await leave.getByRole('button', { name: 'Stay' }).click();
    expect(await html(page).textContent()).toBe('<p>Many careful words</p>');
    await page.getByRole('button', { name: 'Go on' }).click();
    await leave.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'No workspace' }).waitFor();
  });

  test('by leaving oneself leads on at once', async () => {
    const person = await createPerson(suite.app(), 'leaver@shop.example', 'developer');
    const page = await suite.openFor(person);
    await page.goto('/app/team');
    await page.getByRole('button', { name: 'Leave this workspace' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'No workspace' }).waitFor();
  });
});
