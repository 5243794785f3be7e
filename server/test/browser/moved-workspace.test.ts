import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { recordMovedWorkspace } from '../../src/accounts/moved-workspace-store.ts';
import { insertMembership } from '../../src/accounts/people/member-store.ts';
import { inTransaction } from '../../src/db/connections/pool.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { createPerson, signInAs } from '../harness/browser/dashboard-session.ts';

/**
 * Goal: a user whose workspace has moved to another server finds it, from wherever they come: an open
 * page, a new visit, another workspace, or an invitation.
 */
browserSuite('a moved workspace', (suite) => {
  const NEW_URL = 'https://west.postrider.test';

  async function newWorkspace(name: string): Promise<string> {
    return (await suite.app().app.workspaces.create(name)).id;
  }

  async function leaves(workspaceId: string): Promise<void> {
    const { pool } = suite.app().app.storage;
    await inTransaction(pool, (db) => recordMovedWorkspace(db, workspaceId, NEW_URL, Date.now()));
  }

  const linkThere = async (page: Page) =>
    page.getByRole('link', { name: 'Go to west.postrider.test' }).getAttribute('href');

  test('an open page says so, and a new visit leads to the new address', async () => {
    const workspaceId = await newWorkspace('Bakery');
    const person = await createPerson(suite.app(), 'baker@shop.example', 'owner', workspaceId);
    const page = await suite.openFor(person);
    await page.goto('/app/contacts');
    await page.getByRole('button', { name: 'Workspace Bakery. Switch' }).waitFor();
    await leaves(workspaceId);
    // The stream of events is closed, so the page notices without a click.
    await page.getByText('Bakery has moved to another server.').waitFor();
    expect(await linkThere(page)).toBe(`${NEW_URL}/app/`);

    await page.goto('/app/contacts');
    await page.getByRole('heading', { name: 'Workspace moved' }).waitFor();
    expect(await linkThere(page)).toBe(`${NEW_URL}/app/`);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  });

  test('in another workspace, the menu has it', async () => {
    const workspaceId = await newWorkspace('Florist');
    const person = await createPerson(suite.app(), 'florist@shop.example', 'owner', workspaceId);
    const page = await suite.openFor(person);
    await page.goto('/app/contacts');
    await page.getByRole('button', { name: 'Workspace Florist. Switch' }).waitFor();
    const { app, workspaceId: first } = suite.app();
    await insertMembership(app.storage.pool, {
      workspaceId: first,
      personId: person.id,
      role: 'viewer',
      createdAtMs: Date.now(),
    });
    await leaves(workspaceId);
    await page.goto('/app/contacts');
    await page.getByText(`Florist has moved to ${NEW_URL}.`).waitFor();
    await page.getByRole('button', { name: 'Workspace Test. Switch' }).click();
    await page.getByText('Moved to another server').waitFor();
    await page.getByRole('menuitem', { name: 'Florist west.postrider.test' }).waitFor();
  });

  test('an invitation opens at the new address', async () => {
    const workspaceId = await newWorkspace('Tailor');
    const owner = await createPerson(suite.app(), 'tailor@shop.example', 'owner', workspaceId);
    const client = await signInAs(suite.app(), owner, workspaceId);
    const { json } = await client.call('POST', '/invitations', {
      body: { email: 'invited@shop.example', role: 'viewer' },
    });
    const token = String(json.link).split('#')[1];
    await leaves(workspaceId);
    const page = await suite.open();
    await page.goto(`/app/invitation#${token}`);
    const link = page.getByRole('link', { name: 'Open the invitation there' });
    expect(await link.getAttribute('href')).toBe(`${NEW_URL}/app/invitation#${token}`);
  });
});
