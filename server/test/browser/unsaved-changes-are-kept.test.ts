import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { insertMembership } from '../../src/accounts/people/member-store.ts';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { createPerson } from '../harness/browser/dashboard-session.ts';

/** Goal: accidental clicks, early clicks and connection errors never lose what the user typed. */
browserSuite('unsaved changes', (suite) => {
  async function make(path: string, body: unknown): Promise<void> {
    expect((await suite.app().call('POST', path, { body })).status).toBe(201);
  }

  async function openTemplate(key: string): Promise<Page> {
    await make('/templates', { key, name: 'Notice', subject: 'A notice', html: '<p>One</p>' });
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto(`/app/templates/template/${key}`);
    return page;
  }

  async function write(page: Page, text: string): Promise<void> {
    await page.getByRole('textbox', { name: 'HTML' }).click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText(text);
  }

  function written(page: Page): Promise<string | null> {
    return page.getByRole('textbox', { name: 'HTML' }).textContent();
  }

  async function stored(key: string): Promise<string> {
    return (await suite.app().call('GET', `/templates/${key}`)).json.html;
  }

  async function chooseInDialog(page: Page, name: string): Promise<void> {
    const dialog = page.getByRole('dialog', { name: 'Discard unsaved changes?' });
    await dialog.getByRole('button', { name }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  test('ending a text selection outside a dialog does not close it', async () => {
    const page = await suite.openAs('developer');
    await page.goto('/app/contacts?new=true');
    const field = page.getByLabel('First name');
    await field.fill('Carefully typed');
    const box = await field.boundingBox();
    if (!box) throw new Error('field not found');
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + 100, y);
    await page.mouse.down();
    await page.mouse.move(20, y, { steps: 4 });
    await page.mouse.up();
    expect(await field.inputValue()).toBe('Carefully typed');
    await page.mouse.click(20, y);
    await chooseInDialog(page, 'Discard changes');
    await field.waitFor({ state: 'detached' });
  });

  test('clicking the empty part of a side panel does not close it', async () => {
    await make('/contacts', { email: 'jane@example.com' });
    const page = await suite.openAs('developer', { height: 1400 });
    await page.goto('/app/contacts?open=jane@example.com');
    const field = page.getByLabel('First name');
    await field.fill('Carefully typed');
    await page.mouse.click(1100, 1380);
    expect(await field.inputValue()).toBe('Carefully typed');
    await page.mouse.click(200, 1380);
    await chooseInDialog(page, 'Discard changes');
    await field.waitFor({ state: 'detached' });
  });

  test('Escape and backdrop clicks ask before discarding input', async () => {
    const page = await suite.openAs('developer');
    await page.goto('/app/contacts?new=true');
    const field = page.getByLabel('First name');
    await field.waitFor();
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await page.goto('/app/contacts?new=true');
    await field.fill('Carefully typed');
    for (const dismiss of [
      () => page.keyboard.press('Escape'),
      () => page.mouse.click(20, 400),
      () => page.keyboard.press('Escape'),
    ]) {
      await dismiss();
      await chooseInDialog(page, 'Keep editing');
      expect(await field.inputValue()).toBe('Carefully typed');
    }
    // Browsers force-close a dialog on the second Escape in a row.
    for (const _ of [1, 2, 3, 4, 5]) await page.keyboard.press('Escape');
    if (await page.getByRole('dialog', { name: 'Discard unsaved changes?' }).count()) {
      await chooseInDialog(page, 'Keep editing');
    }
    expect(await field.inputValue()).toBe('Carefully typed');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await field.waitFor({ state: 'detached' });
  });

  test('a secret that is shown once cannot be dismissed by accident', async () => {
    const page = await suite.openAs('developer', { fresh: true });
    await page.goto('/app/api-keys');
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Shop');
    await page.keyboard.press('ControlOrMeta+K');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const token = page.getByTestId('token');
    await token.waitFor();
    for (const key of ['ControlOrMeta+K', 'Escape', 'Escape', 'Escape', 'Escape']) {
      await page.keyboard.press(key);
      expect(await token.isVisible()).toBe(true);
      expect(await page.getByRole('combobox').count()).toBe(0);
    }
    await page.mouse.click(20, 400);
    await page.evaluate('history.back()');
    await page.getByRole('button', { name: 'Copy key' }).click();
    expect(await token.isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Done' }).click();
    await token.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  });

  test('toasts and menus are usable over an open dialog', async () => {
    const sent = await suite.app().call('POST', '/transactional/send', {
      key: suite.app().testKey,
      body: validMessage({ subject: 'An email to restore' }),
    });
    const inbox = () => suite.app().call('GET', `/test/inbox/${sent.json.id}`);
    await expect.poll(async () => (await inbox()).status).toBe(200);
    const page = await suite.openAs('developer', { fresh: true, width: 360 });
    await page.clock.install();
    await page.goto(`/app/test-inbox?id=${sent.json.id}`);
    await page.getByRole('button', { name: 'Delete message' }).click();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await page.getByRole('button', { name: 'Open navigation' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: /Your account/ }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    await page.keyboard.press('Escape');
    await page.clock.fastForward('00:10');
    expect((await inbox()).status).toBe(200);
  });

  test('publishing unsaved changes publishes nothing and keeps the text', async () => {
    const page = await openTemplate('unsaved');
    await page.route('**/api/v1/templates/unsaved', (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    );
    await write(page, '<p>Unsaved text</p>');
    await page.getByText('Not saved', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.getByText('Can’t reach the server.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await written(page)).toContain('Unsaved text');
    const { json } = await suite.app().call('GET', '/templates/unsaved');
    expect(json.published_version).toBe(null);
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('status').getByText('Saved', { exact: true }).waitFor();
    expect(await stored('unsaved')).toBe('<p>Unsaved text</p>');
    suite.takeErrors();
  });

  test('leaving a template with unsaved changes asks first', async () => {
    const page = await openTemplate('left');
    await page.route('**/api/v1/templates/left', (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    );
    await write(page, '<p>Unsaved text</p>');
    await page.getByRole('link', { name: 'Contacts' }).click();
    const dialog = page.getByRole('dialog', { name: 'Discard unsaved changes?' });
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    expect(await written(page)).toContain('Unsaved text');
    await page.getByRole('link', { name: 'Contacts' }).click();
    await dialog.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    suite.takeErrors();
  });

  test('leaving a template while typing saves first', async () => {
    const page = await openTemplate('slow');
    await page.getByRole('status').getByText('Saved', { exact: true }).waitFor();
    const order: string[] = [];
    page.on('response', (answer) => {
      if (answer.request().method() === 'PATCH') order.push('saved');
    });
    page.on('framenavigated', (frame) => {
      if (frame === page.mainFrame()) order.push('left');
    });
    await write(page, '<p>Unsaved text</p>');
    await page.getByRole('link', { name: 'Templates' }).first().click();
    await page.getByRole('link', { name: 'Notice' }).first().waitFor();
    expect(order).toEqual(['saved', 'left']);
    await page.goBack();
    await expect.poll(() => written(page)).toContain('Unsaved text');
  });

  test('switching workspaces and signing out save first, and ask if that fails', async () => {
    const { app } = suite.app();
    const bakery = await app.workspaces.create('Bakery');
    const both = await createPerson(suite.app(), 'both@shop.example', 'developer');
    await insertMembership(app.storage.pool, {
      workspaceId: bakery.id,
      personId: both.id,
      role: 'developer',
      createdAtMs: Date.now(),
    });
    await make('/templates', { key: 'moved', subject: 'A notice', html: '<p>One</p>' });
    const page = await suite.openFor(both, { width: 1440 });
    await page.goto('/app/templates/template/moved');
    const go = async (menu: RegExp, item: string) => {
      await page.getByRole('button', { name: menu }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };
    await page.route('**/api/v1/templates/moved', (route) =>
      route.request().method() === 'PATCH' ? route.abort() : route.continue(),
    );
    await write(page, '<p>Unsaved text</p>');
    const dialog = page.getByRole('dialog', { name: 'Discard unsaved changes?' });
    await go(/Switch/, 'Bakery');
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    await go(/Your account/, 'Sign out');
    await dialog.getByRole('button', { name: 'Keep editing' }).click();
    expect(await written(page)).toContain('Unsaved text');
    await page.unrouteAll();
    await go(/Switch/, 'Bakery');
    await page.getByText('Template not found').waitFor();
    expect(await stored('moved')).toBe('<p>Unsaved text</p>');
    await go(/Switch/, 'Test');
    await write(page, '<p>Last edit</p>');
    await go(/Your account/, 'Sign out');
    await page.getByLabel('Password').waitFor();
    expect(await stored('moved')).toBe('<p>Last edit</p>');
    suite.takeErrors();
  });

  test('switching modes does not interrupt editing', async () => {
    const page = await openTemplate('both-modes');
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/api/v1/templates/both-modes', async (route) => {
      if (route.request().method() === 'PATCH') await promise;
      await route.continue();
    });
    await write(page, '<p>Unsaved text</p>');
    const shown = page.waitForResponse('**/templates/both-modes/render');
    await page.getByRole('button', { name: 'Live', exact: true }).click();
    await shown;
    expect(await written(page)).toContain('Unsaved text');
    resolve();
    await expect.poll(() => stored('both-modes')).toBe('<p>Unsaved text</p>');
    expect(await written(page)).toContain('Unsaved text');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
  });

  test('saving a contact keeps attributes that were added meanwhile', async () => {
    const email = 'emil@example.com';
    await make('/contacts', { email, attributes: { plan: 'weekly', old: 1 } });
    const page = await suite.openAs('developer', { fresh: true });
    await page.clock.install();
    await page.goto(`/app/contacts?open=${email}`);
    await page.getByLabel('Attributes').fill('{"plan": "monthly"}');
    const later = { attributes: { loaves: 3 } };
    await suite.app().call('PATCH', `/contacts/${email}`, { body: later });
    const fetched = page.waitForResponse(/contacts\/emil/);
    await page.clock.fastForward('10:00');
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await fetched;
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Contact saved.').waitFor();
    const { json } = await suite.app().call('GET', `/contacts/${email}`);
    expect(json.attributes).toEqual({ plan: 'monthly', loaves: 3 });
  });

  test('Undo works as long as it is shown', async () => {
    const sent = await suite.app().call('POST', '/transactional/send', {
      key: suite.app().testKey,
      body: validMessage({ subject: 'An email to keep' }),
    });
    const inbox = () => suite.app().call('GET', `/test/inbox/${sent.json.id}`);
    await expect.poll(async () => (await inbox()).status).toBe(200);
    const page = await suite.openAs('developer', { fresh: true });
    await page.clock.install();
    await page.goto(`/app/test-inbox?id=${sent.json.id}`);
    await page.getByRole('link', { name: 'An email to keep' }).waitFor();
    const beforeMs = await page.evaluate<number>('Date.now()');
    await page.getByRole('button', { name: 'Delete message' }).click();
    const undo = page.getByRole('button', { name: 'Undo' });
    await undo.waitFor();
    await page.clock.pauseAt(beforeMs + 8_000);
    await undo.click();
    await page.clock.resume();
    await page.getByRole('link', { name: 'An email to keep' }).waitFor();
    await page.clock.fastForward('00:10');
    await page.reload();
    await page.getByRole('link', { name: 'An email to keep' }).waitFor();
    expect((await inbox()).status).toBe(200);
  });

  test('a failed copy is reported', async () => {
    const page = await suite.openAs('developer', { fresh: true });
    await page.addInitScript(
      "navigator.clipboard.writeText = () => Promise.reject(new Error('no')); document.execCommand = () => false",
    );
    await page.clock.install();
    await page.goto('/app/api-keys?new=true');
    await page.getByRole('textbox', { name: 'Name' }).fill('Shop');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('token').waitFor();
    // The result is shown only briefly.
    await page.clock.pauseAt(Date.now() + 10_000);
    await page.getByRole('button', { name: 'Copy key' }).click();
    await page.getByRole('button', { name: 'Couldn’t copy' }).waitFor();
    // The clock is that of the browser context, which later tests share.
    await page.clock.resume();
  });

  test('a user without a workspace can sign out', async () => {
    const page = await suite.openFor(await createPerson(suite.app(), 'gone@shop.example'));
    await page.goto('/app/');
    await page.getByRole('heading', { name: 'No workspace' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
  });

  test('edits in two tabs build on each other', async () => {
    const first = await openTemplate('two-tabs');
    await first.getByRole('textbox', { name: 'HTML' }).waitFor();
    const second = await first.context().newPage();
    await second.goto(first.url());
    await write(second, '<p>From the second</p>');
    await expect.poll(() => stored('two-tabs')).toBe('<p>From the second</p>');
    await second.close();
    await first.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await expect.poll(() => written(first)).toBe('<p>From the second</p>');
    await first.getByRole('textbox', { name: 'HTML' }).click();
    await first.keyboard.press('ControlOrMeta+End');
    await first.keyboard.insertText('<p>From the first</p>');
    await expect.poll(() => stored('two-tabs')).toBe('<p>From the second</p><p>From the first</p>');
  });

  test('dropping a file selects it for import', async () => {
    const page = await suite.openAs('developer');
    await page.goto('/app/contacts');
    await page.getByRole('button', { name: 'Import' }).click();
    const files = await page.evaluateHandle(`(() => {
      const files = new DataTransfer();
      files.items.add(new File(['email\\ndropped@example.com'], 'people.csv'));
      return files;
    })()`);
    await page.getByText('Choose a file').dispatchEvent('drop', { dataTransfer: files });
    await page.getByText('people.csv').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('dropped@example.com').waitFor();
  });

  test('double clicks and double Enter submit once', async () => {
    const page = await suite.openAs('owner', { fresh: true });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 6 });
    const posted: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') posted.push(new URL(request.url()).pathname);
    });
    await page.goto('/app/api-keys?new=true');
    await page.getByRole('textbox', { name: 'Name' }).fill('Shop');
    const button = page.getByRole('dialog').getByRole('button', { name: 'Create key' });
    const box = await button.boundingBox();
    if (!box) throw new Error('button not found');
    const at = { x: box.x + 10, y: box.y + 10, button: 'left' as const };
    // Sent together, so that the second event arrives before the page handles the first.
    await Promise.all(
      [1, 2].flatMap((clickCount) => [
        devtools.send('Input.dispatchMouseEvent', { type: 'mousePressed', clickCount, ...at }),
        devtools.send('Input.dispatchMouseEvent', { type: 'mouseReleased', clickCount, ...at }),
      ]),
    );
    await page.getByRole('button', { name: 'Done' }).click();
    await page.goto('/app/suppressions?new=true');
    await page.getByLabel('Addresses or domains').fill('closed.example');
    await page.getByRole('textbox', { name: 'Note' }).focus();
    const enter = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13 };
    await Promise.all(
      [1, 2].flatMap(() => [
        devtools.send('Input.dispatchKeyEvent', { type: 'keyDown', text: '\r', ...enter }),
        devtools.send('Input.dispatchKeyEvent', { type: 'keyUp', ...enter }),
      ]),
    );
    await page.getByText('1 entry added.').waitFor();
    expect(posted).toEqual(['/api/v1/api-keys', '/api/v1/suppressions/bulk']);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  });
});
