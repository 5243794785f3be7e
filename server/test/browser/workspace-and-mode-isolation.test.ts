import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { insertMembership } from '../../src/accounts/people/member-store.ts';
import { encodeId } from '../../src/lib/ids.ts';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser.ts';
import { overflows } from '../harness/browser-checks.ts';
import { createPerson } from '../harness/dashboard-session.ts';

/**
 * Goal: what belongs to one workspace or mode is never seen in another, whichever way somebody goes
 * there, and nobody can mistake where they are.
 */
browserSuite('two workspaces', (suite) => {
  async function send(key: string, subject: string): Promise<string> {
    const { status, json } = await suite.app().call('POST', '/transactional/send', {
      key,
      body: validMessage({ subject }),
    });
    expect(status).toBe(202);
    return json.id;
  }

  test('show each its own, and the switcher goes from one to the other', async () => {
    const { app, workspaceId, newKey, testKey } = suite.app();
    const bakery = await app.workspaces.create('Bakery');
    const mine = await send(testKey, 'A mail of the first');
    const theirs = await send(await newKey({ workspaceId: bakery.id }), 'A mail of the bakery');
    const both = await createPerson(suite.app(), 'both@shop.example', 'developer');
    await insertMembership(app.storage.pool, {
      workspaceId: bakery.id,
      personId: both.id,
      role: 'viewer',
      createdAtMs: Date.now(),
    });
    const page = await suite.openFor(both);
    await page.goto('/app/messages');
    // The oldest, though the other comes first in the alphabet.
    await page.getByRole('button', { name: 'Workspace Test. Switch' }).waitFor();
    await page.getByRole('link', { name: 'A mail of the first' }).waitFor();
    expect(await page.getByText('A mail of the bakery').count()).toBe(0);
    const answer = await holdAnswers(page, '**/api/v1/messages?*');
    await choose(page, 'Bakery');
    // Gone before anything has come in its place.
    await page.getByText('A mail of the first').waitFor({ state: 'detached' });
    await answer();
    await page.getByRole('link', { name: 'A mail of the bakery' }).waitFor();
    expect(await page.getByText('A mail of the first').count()).toBe(0);
    await page.goto(`/app/messages/${mine}`);
    await page.getByText('There is no such message here').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Workspace Bakery. Switch' }).waitFor();

    const stranger = await suite.openAs('owner');
    await stranger.goto(`/app/messages/${theirs}`);
    await stranger.getByText('There is no such message here').waitFor();
    await stranger.getByRole('button', { name: /Switch/ }).click();
    await stranger.getByRole('menuitem', { name: 'New workspace' }).waitFor();
    expect(await stranger.getByRole('menuitem', { name: 'Bakery' }).count()).toBe(0);
    for (const id of [bakery.id, workspaceId]) {
      const status = await stranger.evaluate(
        (workspace) =>
          fetch('/api/v1/messages', {
            headers: { 'postrider-mode': 'test', 'postrider-workspace': workspace },
          }).then((answer) => answer.status),
        encodeId('wsp', id),
      );
      expect(status).toBe(id === workspaceId ? 200 : 403);
    }
  });

  test('kept by one browser are not carried over to the next person in it', async () => {
    await send(suite.app().testKey, 'A mail to keep');
    const page = await suite.openAs('owner');
    await page.goto('/app/messages');
    await page.evaluate(
      "for (const kept of [localStorage, sessionStorage]) kept.setItem('postrider.workspace', 'wsp_01h455vb4pex5vsknk084sn02q')",
    );
    await page.goto('/app/messages');
    await page.getByRole('link', { name: 'A mail to keep' }).waitFor();
  });

  test('in live mode are coloured otherwise, say so in words, and show no test mail', async () => {
    await send(suite.app().testKey, 'A mail of test mode');
    const page = await suite.openAs('developer');
    await page.goto('/app/messages');
    await page.getByRole('link', { name: 'A mail of test mode' }).waitFor();
    const test = await lookOf(page);
    expect(await page.getByText('Mail ends in the test inbox. Nothing leaves.').count()).toBe(1);
    await page.getByRole('button', { name: 'Live', exact: true }).click();
    await page.getByText('No live message yet').waitFor();
    const live = await lookOf(page);
    expect(live.frame).not.toBe(test.frame);
    expect(live.button).not.toBe(test.button);
    expect(await page.getByText('Nothing leaves.').count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Test inbox' }).count()).toBe(0);
    await page.reload();
    await page.getByText('No live message yet').waitFor();
    expect(await lookOf(page)).toEqual(live);
    await page.goto('/app/test-inbox');
    await page.getByRole('button', { name: 'Go to test mode' }).click();
    await page.getByRole('link', { name: 'A mail of test mode' }).waitFor();
    expect(await lookOf(page)).toEqual(test);
  });

  test('a suspended one says so in live mode, in the words of the operator', async () => {
    const { app } = suite.app();
    const bakery = await app.workspaces.create('Suspended bakery');
    await app.workspaces.suspend(bakery, `Complaints. ${'Write-to-us'.repeat(20)}`);
    const person = await createPerson(suite.app(), 'baker@shop.example', 'owner', bakery.id);
    const page = await suite.openFor(person, { mode: 'live' });
    await page.goto('/app');
    const said = page.getByRole('status').filter({ hasText: 'has stopped the live mail' });
    await said.getByText('Complaints.').waitFor();
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await overflows(page)).toEqual([]);
    await app.workspaces.resume({ ...bakery, suspension: null });
    await page.setViewportSize({ width: 1280, height: 740 });
    await page.reload();
    await page.getByRole('button', { name: 'Workspace Suspended bakery. Switch' }).waitFor();
    expect(await said.count()).toBe(0);
  });
});

async function choose(page: Page, workspace: string): Promise<void> {
  await page.getByRole('button', { name: /Switch/ }).click();
  await page.getByRole('menuitem', { name: workspace }).click();
  await page.getByRole('button', { name: `Workspace ${workspace}. Switch` }).waitFor();
}

/** From now on nothing of this is answered, until the returned function is called. */
async function holdAnswers(page: Page, url: string): Promise<() => Promise<void>> {
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

/** The colours of the ground and of the chosen mode. */
function lookOf(page: Page): Promise<{ frame: string; button: string }> {
  return page.evaluate(`({
    frame: getComputedStyle(document.querySelector('.bg-canvas')).backgroundColor,
    button: getComputedStyle(document.querySelector('[aria-pressed=true]')).backgroundColor,
  })`);
}
