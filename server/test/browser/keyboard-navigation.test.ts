import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { createPerson, PASSWORD } from '../harness/browser/dashboard-session.ts';
import { changeLast } from '../harness/change-last.ts';
import { until } from '../harness/until.ts';

/**
 * Goal: everything works with the keyboard alone, and the focus is always visible.
 * Method: no clicks; keys go to the focused element.
 */
browserSuite('keyboard navigation', (suite) => {
  const keys = (page: Page, ...pressed: string[]) =>
    pressed.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  /** Sent together, because the second key counts only shortly after the first. */
  const sequence = (page: Page, ...pressed: string[]) =>
    Promise.all(pressed.map((key) => page.keyboard.press(key)));

  test('sign in, find a message, read it, and create an API key', async () => {
    const app = suite.app();
    await createPerson(app, 'keys@shop.example', 'developer');
    for (const subject of ['First of two', 'Second of two']) {
      await app.call('POST', '/transactional/send', { body: validMessage({ subject }) });
    }
    const page = await suite.open();
    await page.goto('/app/messages');
    await page.getByLabel('Email').waitFor();
    await page.keyboard.type('keys@shop.example');
    await keys(page, 'Tab');
    await page.keyboard.type(PASSWORD);
    await keys(page, 'Enter');
    await page.getByRole('link', { name: 'First of two' }).waitFor();

    await keys(page, '/');
    await page.keyboard.type('second');
    await page.getByRole('link', { name: 'First of two' }).waitFor({ state: 'detached' });
    await keys(page, 'Escape', 'j', 'Enter');
    await page.getByRole('heading', { name: 'Second of two' }).waitFor();

    await sequence(page, 'g', 'k');
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
    await sequence(page, 'g', 'm');
    await page.getByRole('link', { name: 'First of two' }).waitFor();
    await keys(page, '?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await keys(page, 'Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await keys(page, 'ControlOrMeta+K');
    await page.getByRole('combobox', { name: /command/ }).waitFor();
    await page.keyboard.type('create api');
    await keys(page, 'Enter');
    await page.getByRole('dialog', { name: 'Create API key' }).waitFor();
    await page.keyboard.type('Created without a mouse');
    await keys(page, 'Enter');
    const done = page.getByRole('button', { name: 'Done' });
    await done.waitFor();
    await tabTo(page, 'Done');
    await keys(page, 'Enter');
    await page.getByRole('row', { name: /Created without a mouse/ }).waitFor();
  });

  test('keys pressed right after the palette opened go into its field', async () => {
    const page = await suite.openAs('owner', { fresh: true });
    await page.goto('/app/contacts');
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    await page.keyboard.press('ControlOrMeta+K');
    // Outside the palette, these keys would go to another page.
    await page.keyboard.type('gm');
    expect(await page.getByRole('combobox', { name: /command/ }).inputValue()).toBe('gm');
    expect(new URL(page.url()).pathname).toBe('/app/contacts');
  });

  test('an ID pasted into the command palette opens its page', async () => {
    const app = suite.app();
    const create = async (method: string, path: string, body: object): Promise<string> =>
      (await app.call(method, path, { body })).json.id;
    const found = async (path: string): Promise<string | undefined> =>
      (await app.call('GET', path)).json.data[0]?.id;
    const url = 'https://hooks.example/mail';
    const webhook = await create('POST', '/webhooks', { url, events: ['message.accepted'] });
    const message = await create('POST', '/transactional/send', validMessage());
    const contact = await create('PUT', '/contacts/pasted@example.com', {});
    await create('POST', '/suppressions', { email: 'pasted@example.net', reason: 'manual' });
    for (const kind of ['templates', 'layouts', 'partials']) {
      await create('POST', `/${kind}`, { key: 'pasted', name: 'Pasted', html: '{{ content }}' });
    }
    await until(
      async () => (await found(`/webhook-deliveries?webhook_id=${webhook}`)) !== undefined,
    );
    const delivery = await found(`/webhook-deliveries?webhook_id=${webhook}`);
    const page = await suite.openAs('developer');
    await page.goto('/app/events');
    for (const [id, address] of [
      [message, `/messages/${message}`],
      [webhook, `/webhooks/${webhook}`],
      [delivery, `/webhooks/${webhook}/deliveries/${delivery}`],
      [contact, `/contacts?open=${contact}`],
      [await found('/suppressions'), '/suppressions?q=pasted%40example.net'],
      [await found('/templates'), '/templates/template/pasted'],
      [await found('/layouts'), '/templates/layout/pasted'],
      [await found('/partials'), '/templates/partial/pasted'],
    ]) {
      await page.getByRole('heading', { level: 1 }).waitFor();
      await keys(page, 'ControlOrMeta+K');
      await page.getByRole('combobox', { name: /command/ }).waitFor();
      await page.keyboard.insertText(id as string);
      await page.getByRole('option', { name: `Open ${id}` }).waitFor();
      await keys(page, 'Enter');
      await page.waitForURL(`**/app${address}`);
      // Otherwise it would open above the palette.
      if (address?.includes('?open=')) await page.getByRole('dialog').waitFor();
    }
    await page.goto(`/app/find/${changeLast(delivery as string)}`);
    await page.getByText('ID not found').waitFor();
  });

  test('the command palette finds templates, domains, contacts, suppressions, webhooks and keys', async () => {
    const { call, liveKey } = suite.app();
    const body = { key: 'palette-welcome', name: 'Palette welcome', subject: '-', html: '-' };
    await call('POST', '/templates', { body });
    await call('POST', '/domains', { key: liveKey, body: { name: 'palette.example' } });
    await call('PUT', '/contacts/jane@palette.example', { body: {} });
    await call('POST', '/suppressions', { body: { email: 'palette.joe@example.com' } });
    await call('POST', '/webhooks', { body: { url: 'https://hooks.palette.example/in' } });
    await call('POST', '/api-keys', { body: { name: 'Palette report' } });
    const page = await suite.openAs('owner', { mode: 'test' });
    await page.goto('/app');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    const openResult = async (name: RegExp) => {
      await keys(page, 'ControlOrMeta+K');
      await page.getByRole('combobox', { name: /command/ }).fill('PALETTE');
      await page.getByRole('option', { name }).click();
    };
    await openResult(/^Palette welcome/);
    await page.waitForURL('**/app/templates/template/palette-welcome');
    await openResult(/^palette\.example/);
    await page.getByRole('heading', { name: 'palette.example' }).waitFor();
    await openResult(/^jane@palette/);
    await page.waitForURL('**/app/contacts?open=*');
    await page.getByRole('dialog').waitFor();
    await keys(page, 'Escape');
    await openResult(/^palette\.joe@example\.com Suppressed$/);
    await page.waitForURL('**/app/suppressions?q=palette.joe*');
    await page.getByRole('table').getByText('palette.joe@example.com').waitFor();
    await openResult(/^https:..hooks/);
    await page.waitForURL('**/app/webhooks/whk_*');
    await openResult(/^Palette report/);
    await page.waitForURL('**/app/api-keys?q=Palette+report');
  });

  test('a dialog traps focus and returns it when closed', async () => {
    const page = await suite.openAs('developer');
    await page.goto('/app/contacts');
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    await tabTo(page, 'Import');
    await keys(page, 'Enter');
    await page.getByRole('dialog', { name: 'Import contacts' }).waitFor();
    for (let step = 0; step < 8; step += 1) {
      await keys(page, 'Tab');
      expect(await page.evaluate(FOCUS_IS_BEHIND)).toBe(false);
    }
    await keys(page, 'Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Import');
  });

  test('a dialog opened from a menu returns focus to the menu button', async () => {
    const app = suite.app();
    await app.call('POST', '/api-keys', { body: { name: 'Robin', scopes: ['read:messages'] } });
    const page = await suite.openAs('developer');
    await page.goto('/app/api-keys');
    const name = 'Actions for Robin';
    const opened = async (entry: string) => {
      await tabTo(page, name);
      await keys(page, 'Enter');
      await page.getByRole('menuitem', { name: entry }).waitFor();
      const at = () => page.evaluate('document.activeElement.textContent');
      for (let step = 0; step < 5 && (await at()) !== entry; step += 1) {
        await keys(page, 'ArrowDown');
      }
      await keys(page, 'Enter');
      await page.getByRole('dialog').waitFor();
      await keys(page, 'Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await expect.poll(() => page.evaluate(FOCUSED_NAME)).toBe(name);
    };
    await page.getByRole('button', { name }).first().waitFor();
    await opened('Edit');
    await opened('Revoke');
    await page.setViewportSize({ width: 390, height: 700 });
    await page.reload();
    await page.getByRole('button', { name }).first().waitFor();
    await tabTo(page, 'Open navigation');
    await keys(page, 'Enter');
    await page.getByRole('dialog', { name: 'Navigation' }).waitFor();
    await keys(page, 'Escape');
    await expect.poll(() => page.evaluate(FOCUSED_NAME)).toBe('Open navigation');
  });

  test('paging keys scroll the page, wherever the focus is', async () => {
    const page = await suite.openAs('developer');
    await page.setViewportSize({ width: 1280, height: 500 });
    await page.goto('/app/settings');
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    const top = () => page.evaluate<number>("document.querySelector('main').scrollTop");
    await keys(page, 'PageDown');
    await expect.poll(top).toBeGreaterThan(100);
    await keys(page, 'Home');
    await expect.poll(top).toBe(0);
    await tabTo(page, 'Settings');
    await keys(page, 'Space');
    await expect.poll(top).toBeGreaterThan(100);
    await keys(page, 'Shift+Space');
    await expect.poll(top).toBe(0);
  });

  test('every tab stop is visible, and Tab leaves the editor', async () => {
    const app = suite.app();
    await app.call('POST', '/contacts', { body: { email: 'jane@example.com' } });
    const template = { key: 'hello', name: 'Hello', subject: 'Hello', html: '<p>Hello' };
    await app.call('POST', '/templates', { body: template });
    const page = await suite.openAs('developer', { fresh: true });
    for (const path of ['messages', 'contacts', 'api-keys', 'templates/template/hello']) {
      await page.goto(`/app/${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      const unseen: string[] = [];
      let seen = 0;
      for (; seen < 60; seen += 1) {
        await keys(page, 'Tab');
        const stop = await stopOf(page);
        if (stop === '') break;
        if (stop.startsWith('unseen')) unseen.push(`${path}: ${stop}`);
      }
      expect(unseen).toEqual([]);
      expect(seen).toBeGreaterThan(18);
      expect(seen).toBeLessThan(60);
    }
  });

  test('going back returns to the position and the link that was followed', async () => {
    const messages = Array.from({ length: 90 }, (_, n) => validMessage({ subject: `Row ${n}` }));
    await suite.app().call('POST', '/transactional/batch', { body: { messages } });
    const page = await suite.openAs('owner');
    await page.goto('/app/messages');
    await page.getByRole('link', { name: 'Row 89' }).waitFor();
    const top = () => page.evaluate<number>("document.querySelector('main').scrollTop");
    await page.evaluate("document.querySelector('main').scrollTo(0, 1500)");
    const row = page.getByRole('link', { name: 'Row 45', exact: true });
    await row.focus();
    const before = await top();
    expect(before).toBeGreaterThan(1000);
    await keys(page, 'Enter');
    await page.getByRole('heading', { name: 'Row 45' }).waitFor();
    await expect.poll(top).toBe(0);
    await page.goBack();
    await expect.poll(top).toBe(before);
    // Without a focused row, the body is active, which contains the text of all of them.
    const focused = () =>
      page.evaluate<string>("document.activeElement.closest('[data-row]')?.textContent ?? ''");
    await expect.poll(focused).toContain('Row 45');
    await keys(page, 'j');
    await expect.poll(focused).toContain('Row 44');

    await page.goto('/app/messages?q=Row');
    await page.getByRole('link', { name: 'Row 89' }).click();
    await page.getByRole('main').getByRole('link', { name: 'Messages' }).click();
    await page.waitForURL('**/app/messages?q=Row');
    await expect.poll(focused).toContain('Row 89');
  });
});

/** Presses Tab until the element with this name has focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < 60; step += 1) {
    const at = await page.evaluate<string>(
      "(document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '').trim()",
    );
    if (at === name) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach “${name}”.`);
}

const FOCUSED_NAME = "document.activeElement?.getAttribute('aria-label')";

/** Whether focus is on the page behind an open dialog. After the last stop, focus moves to the browser UI. */
const FOCUS_IS_BEHIND = `document.activeElement?.closest('#app') != null
  && document.activeElement.closest('dialog[open]') === null`;

/** Describes the focused element. CodeMirror draws its outline a moment after it gets focus. */
async function stopOf(page: Page): Promise<string> {
  const unseen = async () => (await page.evaluate<string>(STOP)).startsWith('unseen');
  for (let look = 0; look < 40 && (await unseen()); look += 1) await page.waitForTimeout(50);
  return await page.evaluate<string>(STOP);
}

/** The focused element, '' for none; prefixed with "unseen" if there is no visible focus indicator. */
const STOP = `(() => {
  const element = document.activeElement;
  if (!element || element === document.body) return '';
  const inner = element.shadowRoot?.activeElement;
  const shows = (of, pseudo) => {
    const { outlineStyle, outlineWidth, visibility } = getComputedStyle(of, pseudo);
    return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1.5 && visibility === 'visible';
  };
  const around = [element, inner, inner?.closest('.cm-editor'), element.closest('label')];
  const seen = element.tagName === 'IFRAME' || around.some((one) => one && (shows(one) || shows(one, '::after')));
  return (seen ? '' : 'unseen ') + (element.outerHTML.slice(0, 120) || '?');
})()`;
