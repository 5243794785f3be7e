import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';
import { createPerson, PASSWORD } from '../harness/browser/dashboard-session.ts';
import { beforeFirst } from '../harness/browser/requests.ts';

/**
 * Goal: when a session ends while the user types, signing in again restores everything.
 * Method: the session is ended on the server, and the page notices it in different ways.
 */
browserSuite('session expiry', (suite) => {
  async function writer(email: string): Promise<{ page: Page; end: () => Promise<void> }> {
    const person = await createPerson(suite.app(), email, 'developer');
    const page = await suite.openFor(person, { width: 1440 });
    return {
      page,
      end: () => suite.app().app.people.sessions.endAll(person),
    };
  }

  test('the template editor continues and saves what was typed', async () => {
    const made = await suite.app().call('POST', '/templates', {
      body: { key: 'notice', name: 'Notice', subject: 'A notice', html: '<p>One</p>' },
    });
    expect(made.status).toBe(201);
    const { page, end } = await writer('writer-1@shop.example');
    await page.goto('/app/templates/template/notice');
    const editor = page.getByRole('textbox', { name: 'HTML' });
    await beforeFirst(page, 'PATCH', '**/templates/notice', end);
    await editor.click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText('<p>Unsaved text</p>');
    await signInAgain(page);
    await page.getByRole('status').getByText('Saved', { exact: true }).waitFor();
    await expect.poll(() => editor.textContent()).toContain('Unsaved text');
    const { json } = await suite.app().call('GET', '/templates/notice');
    expect(json.html).toBe('<p>Unsaved text</p>');
  });

  test('a contact form keeps its input, also after the tab was in the background', async () => {
    const email = 'jane@example.com';
    const body = { email, first_name: 'Jane' };
    expect((await suite.app().call('POST', '/contacts', { body })).status).toBe(201);
    const { page, end } = await writer('writer-2@shop.example');
    await page.clock.install();
    await page.goto(`/app/contacts?open=${email}`);
    await page.getByLabel('Last name').fill('Carefully Typed');
    await end();
    await away(page);
    await signInAgain(page);
    expect(await page.getByLabel('Last name').inputValue()).toBe('Carefully Typed');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Contact saved.').waitFor();
    const { json } = await suite.app().call('GET', `/contacts/${email}`);
    expect(json.last_name).toBe('Carefully Typed');
  });

  test('the page notices at once and keeps its input', async () => {
    const { page, end } = await writer('writer-4@shop.example');
    const stream = page.waitForResponse('**/events/stream*');
    await page.goto('/app/contacts?new=true');
    await page.getByLabel('First name').fill('Half a na');
    expect((await stream).status()).toBe(200);
    await end();
    await signInAgain(page);
    expect(await page.getByLabel('First name').inputValue()).toBe('Half a na');
  });

  test('a wrong password is rejected, and another user cannot continue', async () => {
    const { page, end } = await writer('writer-3@shop.example');
    await page.goto('/app/settings');
    await page.getByRole('textbox', { name: 'Name' }).fill('Another name');
    await beforeFirst(page, 'PATCH', '**/api/v1/me', end);
    await page.getByRole('button', { name: 'Save' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.waitFor();
    await again.getByLabel('Password').fill('not this one at all');
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.getByRole('alert').waitFor();
    expect(await again.getByLabel('Email').isEditable()).toBe(false);
    await page.keyboard.press('Escape');
    expect(await again.isVisible()).toBe(true);
  });
});

async function signInAgain(page: Page): Promise<void> {
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await again.getByLabel('Password').fill(PASSWORD);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.waitFor({ state: 'detached' });
}

/** Long enough that the page refetches the user and its data. */
async function away(page: Page): Promise<void> {
  await page.clock.fastForward('10:00');
  await page.evaluate(
    "document.dispatchEvent(new Event('visibilitychange')); dispatchEvent(new Event('focus'))",
  );
}
