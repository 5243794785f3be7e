import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { insertMembership } from '../../src/accounts/people/member-store.ts';
import { encodeId } from '../../src/lib/ids.ts';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { overflows } from '../harness/browser/checks.ts';
import { createPerson } from '../harness/browser/dashboard-session.ts';

/**
 * Goal: data of one workspace or mode is never shown in another, however the user gets there, and
 * the selected workspace and mode are always obvious.
 */
browserSuite('workspace and mode isolation', (suite) => {
  async function send(key: string, subject: string): Promise<string> {
    const { status, json } = await suite.app().call('POST', '/transactional/send', {
      key,
      body: validMessage({ subject }),
    });
    expect(status).toBe(202);
    return json.id;
  }

  test('each workspace shows its own data, and the switcher changes between them', async () => {
    const { app, workspaceId, newKey, testKey } = suite.app();
    const bakery = await app.workspaces.create('Bakery');
    const mine = await send(testKey, 'An email of the first');
    const theirs = await send(await newKey({ workspaceId: bakery.id }), 'An email of the bakery');
    const both = await createPerson(suite.app(), 'both@shop.example', 'developer');
    await insertMembership(app.storage.pool, {
      workspaceId: bakery.id,
      personId: both.id,
      role: 'viewer',
      createdAtMs: Date.now(),
    });
    const page = await suite.openFor(both);
    await page.goto('/app/messages');
    // The oldest workspace, although the other comes first alphabetically.
    await page.getByRole('button', { name: 'Workspace Test. Switch' }).waitFor();
    await page.getByRole('link', { name: 'An email of the first' }).waitFor();
    expect(await page.getByText('An email of the bakery').count()).toBe(0);
    const release = await holdResponses(page, '**/api/v1/messages?*');
    await choose(page, 'Bakery');
    // Removed before the new data arrives.
    await page.getByText('An email of the first').waitFor({ state: 'detached' });
    await release();
    await page.getByRole('link', { name: 'An email of the bakery' }).waitFor();
    expect(await page.getByText('An email of the first').count()).toBe(0);
    await page.goto(`/app/messages/${mine}`);
    await page.getByText('Message not found').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Workspace Bakery. Switch' }).waitFor();

    const other = await suite.openAs('owner');
    await other.goto(`/app/messages/${theirs}`);
    await other.getByText('Message not found').waitFor();
    await other.getByRole('button', { name: /Switch/ }).click();
    await other.getByRole('menuitem', { name: 'New workspace' }).waitFor();
    expect(await other.getByRole('menuitem', { name: 'Bakery' }).count()).toBe(0);
    for (const id of [bakery.id, workspaceId]) {
      const status = await other.evaluate(
        (workspace) =>
          fetch('/api/v1/messages', {
            headers: { 'postrider-mode': 'test', 'postrider-workspace': workspace },
          }).then((answer) => answer.status),
        encodeId('wsp', id),
      );
      expect(status).toBe(id === workspaceId ? 200 : 403);
    }
  });

  test('a stored workspace of another user is ignored', async () => {
    await send(suite.app().testKey, 'An email to keep');
    const page = await suite.openAs('owner');
    await page.goto('/app/messages');
    await page.evaluate(
      "for (const kept of [localStorage, sessionStorage]) kept.setItem('postrider.workspace', 'wsp_01h455vb4pex5vsknk084sn02q')",
    );
    await page.goto('/app/messages');
    await page.getByRole('link', { name: 'An email to keep' }).waitFor();
  });

  test('test mode has a bar and a label, and live mode shows no test messages', async () => {
    await send(suite.app().testKey, 'A test email');
    const page = await suite.openAs('developer');
    await page.goto('/app/messages');
    await page.getByRole('link', { name: 'A test email' }).waitFor();
    const test = await lookOf(page);
    expect(
      await page.getByText('emails are captured in the test inbox. Nothing is sent.').count(),
    ).toBe(1);
    await page.getByRole('button', { name: 'Live', exact: true }).click();
    await page.getByText('No live messages yet').waitFor();
    const live = await lookOf(page);
    expect(live).not.toBe(test);
    expect(await page.getByText('Nothing is sent.').count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Test inbox' }).count()).toBe(0);
    await page.reload();
    await page.getByText('No live messages yet').waitFor();
    expect(await lookOf(page)).toEqual(live);
    await page.goto('/app/test-inbox');
    await page.getByRole('button', { name: 'Switch to test mode' }).click();
    await page.getByRole('link', { name: 'A test email' }).waitFor();
    expect(await lookOf(page)).toEqual(test);
  });

  test('a suspended workspace shows the operator’s reason in live mode', async () => {
    const { app } = suite.app();
    const bakery = await app.workspaces.create('Suspended bakery');
    await app.workspaces.suspend(bakery, `Complaints. ${'Write-to-us'.repeat(20)}`);
    const person = await createPerson(suite.app(), 'baker@shop.example', 'owner', bakery.id);
    const page = await suite.openFor(person, { mode: 'live' });
    await page.goto('/app');
    const banner = page.getByRole('status').filter({ hasText: 'Live sending is suspended' });
    await banner.getByText('Complaints.').waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    await expect.poll(() => overflows(page)).toEqual([]);
    await app.workspaces.resume({ ...bakery, suspension: null });
    await page.setViewportSize({ width: 1280, height: 740 });
    await page.reload();
    await page.getByRole('button', { name: 'Workspace Suspended bakery. Switch' }).waitFor();
    expect(await banner.count()).toBe(0);
  });
});

async function choose(page: Page, workspace: string): Promise<void> {
  await page.getByRole('button', { name: /Switch/ }).click();
  await page.getByRole('menuitem', { name: workspace }).click();
  await page.getByRole('button', { name: `Workspace ${workspace}. Switch` }).waitFor();
}

/** Holds back matching responses until the returned function is called. */
async function holdResponses(page: Page, url: string): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(url, async (route) => {
    await promise;
    await route.continue();
  });
  return async () => {
    resolve();
    await page.unrouteAll({ behavior: 'wait' });
  };
}

/** The color of the selected mode button. */
function lookOf(page: Page): Promise<string> {
  return page.evaluate(
    "getComputedStyle(document.querySelector('[aria-pressed=true]')).backgroundColor",
  );
}
