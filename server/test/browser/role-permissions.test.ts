import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { encodeId } from '../../src/lib/ids.ts';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';

/**
 * Goal: users do not see buttons they may not use, cannot open forms by URL, and cannot bypass the
 * UI by calling the API from the browser console.
 */
browserSuite('role permissions', (suite) => {
  /** Sends a request as the page would: with its cookie, workspace and mode. */
  async function callApi(
    page: Page,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<string> {
    const headers = {
      'postrider-mode': 'test',
      'postrider-workspace': encodeId('wsp', suite.app().workspaceId),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    return page.evaluate(
      async ({ url, ...request }) => {
        const answer = await fetch(url, request);
        const { code } = (await answer.json()) as { code?: string };
        return `${answer.status} ${code}`;
      },
      {
        url: `/api/v1${path}`,
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
    );
  }

  const WRITES: [string, string, unknown?][] = [
    ['POST', '/api-keys', { name: 'Mine', mode: 'test' }],
    ['POST', '/templates', { key: 'mine', name: 'Mine' }],
    ['POST', '/contacts', { email: 'mine@example.com' }],
    ['POST', '/streams', { key: 'mine', purpose: 'subscription' }],
    ['POST', '/suppressions', { email: 'mine@example.com' }],
    ['POST', '/transactional/send', validMessage()],
    ['DELETE', '/test/inbox'],
  ];
  const ADMINS_WRITES: [string, string, unknown?][] = [
    ['POST', '/domains', { name: 'mine.test' }],
    ['POST', '/invitations', { email: 'friend@example.com', role: 'owner' }],
  ];

  test('a viewer can read everything and change nothing', async () => {
    const app = suite.app();
    const sent = await app.call('POST', '/transactional/send', {
      body: validMessage({ to: { email: 'bounced@simulator.test' }, subject: 'Bounced one' }),
    });
    await app.call('POST', '/contacts', { body: { email: 'jane@example.com' } });
    await app.call('POST', '/templates', { body: { key: 'hello', name: 'Hello', html: '<p>x' } });
    const page = await suite.openAs('viewer');
    const buttons: [string, string][] = [
      ['/app/api-keys?new=true', 'Create key'],
      ['/app/templates?new=true', 'New template'],
      ['/app/contacts?new=true', 'Add'],
      ['/app/streams?new=true', 'Create stream'],
      ['/app/suppressions?new=true', 'Add'],
      ['/app/domains?new=true', 'Add domain'],
      ['/app/team?new=true', 'Invite'],
    ];
    for (const [path, button] of buttons) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByRole('main').getByRole('status').waitFor({ state: 'detached' });
      expect(await page.getByRole('button', { name: button, exact: true }).count()).toBe(0);
      expect(await page.getByRole('dialog').count()).toBe(0);
    }
    await page.goto(`/app/messages/${sent.json.id}`);
    await page.getByRole('heading', { name: 'Bounced one' }).waitFor();
    expect(await page.getByRole('button', { name: 'Retry now' }).count()).toBe(0);
    await page.goto('/app/contacts?open=jane@example.com');
    expect(await page.getByLabel('First name').isEditable()).toBe(false);
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await page.goto('/app/templates/template/hello');
    await page.getByRole('textbox', { name: 'HTML' }).waitFor();
    expect(await page.getByRole('textbox', { name: 'Name' }).isEditable()).toBe(false);
    expect(await page.getByRole('button', { name: /Publish|Send test|More/ }).count()).toBe(0);
    for (const [method, path, body] of [...WRITES, ...ADMINS_WRITES]) {
      expect(`${path} ${await callApi(page, method, path, body)}`).toMatch(/ 403 insufficient_/);
    }
  });

  test('a developer can manage keys and templates, but not domains or members', async () => {
    const page = await suite.openAs('developer');
    await page.goto('/app/api-keys');
    await page.getByRole('button', { name: 'Create key' }).first().waitFor();
    await page.goto('/app/domains?new=true');
    await page.getByRole('heading', { name: 'No sending domains yet' }).waitFor();
    expect(await page.getByRole('button', { name: 'Add domain' }).count()).toBe(0);
    await page.goto('/app/team?new=true');
    await page.getByRole('row', { name: /developer/i }).waitFor();
    expect(await page.getByRole('button', { name: 'Invite' }).count()).toBe(0);
    expect(await page.getByRole('combobox', { name: /Role of/ }).count()).toBe(0);
    await page.keyboard.press('ControlOrMeta+K');
    await page.getByRole('combobox', { name: /command/ }).fill('add');
    await page.getByRole('option', { name: 'Add contact' }).waitFor();
    expect(await page.getByRole('option', { name: 'Add domain' }).count()).toBe(0);
    for (const [method, path, body] of ADMINS_WRITES) {
      expect(`${path} ${await callApi(page, method, path, body)}`).toMatch(/ 403 insufficient_/);
    }
  });

  test('an admin can manage members, but not owners', async () => {
    await suite.openAs('viewer');
    const owner = await suite.openAs('owner');
    await owner.goto('/app/team');
    await owner.getByRole('row', { name: /owner/i }).waitFor();
    const page = await suite.openAs('admin');
    await page.goto('/app/team');
    const ownersRow = page.getByRole('row', { name: /owner@shop\.example/ });
    await ownersRow.waitFor();
    expect(await ownersRow.getByRole('combobox').count()).toBe(0);
    expect(await ownersRow.getByRole('button').count()).toBe(0);
    const viewersRole = page.getByRole('combobox', { name: 'Role of viewer' });
    await viewersRole.waitFor();
    expect(await viewersRole.getByRole('option').allTextContents()).not.toContain('Owner');
    await viewersRole.selectOption('developer');
    await page.getByText('viewer is now developer.').waitFor();
    expect(
      await callApi(page, 'POST', '/invitations', { email: 'a@example.com', role: 'owner' }),
    ).toBe('403 insufficient_role');
  });
});
