import type { FrameLocator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';

/**
 * Goal: a new user gets from an empty list to a delivered email, sees a preview on the way, and
 * cannot publish content that would fail to send.
 */
browserSuite('template authoring', (suite) => {
  test('a template is written, previewed, published, tested and sent', async () => {
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto('/app/templates');
    await page.getByRole('heading', { name: 'No templates yet' }).waitFor();
    await page.getByRole('button', { name: 'New template' }).first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Order shipped');
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Key' }).inputValue())
      .toBe('order-shipped');
    await page.getByRole('button', { name: 'Create' }).click();

    await page.getByRole('textbox', { name: 'Subject' }).fill('Order ${order} is on its way');
    await write(page, '<p>Dear {{ first_name }}, {% if express %}be quick!</p>');
    await page.getByRole('tab', { name: 'Checks' }).click();
    await page.getByText('html, line 1, column 27').waitFor();
    await page.getByRole('tab', { name: 'Preview' }).click();
    await write(page, '<p>Dear {{ first_name }}, <b>be quick!</b></p>');
    await emailPreview(page).getByText('be quick!').waitFor();

    await page.getByRole('tab', { name: 'Variables' }).click();
    await setExample(page, 'order', '1042');
    await setExample(page, 'first_name', 'Jane & Joe');
    await page.getByRole('tab', { name: 'Preview' }).click();
    await page.getByText('Order 1042 is on its way').waitFor();
    await emailPreview(page).getByText('Dear Jane & Joe').waitFor();

    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByLabel('Release note').fill('First version');
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 1 published.').waitFor();
    await page.getByText('Version 1', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Send test' }).click();
    await page.getByRole('textbox', { name: 'To' }).fill('me@shop.example');
    await page.getByRole('textbox', { name: 'From' }).fill('orders@shop.example');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'View' }).click();
    await page.getByRole('heading', { name: 'Order 1042 is on its way' }).waitFor();
    await emailPreview(page).getByText('Dear Jane & Joe').waitFor();

    const sent = await suite.app().call('POST', '/transactional/send', {
      body: {
        to: { email: 'peter@example.com' },
        from: { email: 'orders@shop.example' },
        template_key: 'order-shipped',
        template_variables: { order: '7', first_name: 'Peter' },
      },
    });
    expect(sent.status).toBe(202);
    await page.getByRole('link', { name: /Order 7 is on its way/ }).click();
    await emailPreview(page).getByText('Dear Peter').waitFor();
  });

  test('the test dialog suggests a sender on a domain of the workspace', async () => {
    const { app, call, workspaceId } = suite.app();
    await app.domains.trust(workspaceId, { name: 'bakery.example' });
    const key = `tried-${Date.now()}`;
    await call('POST', '/templates', { body: { key, subject: 'Tried', html: '<p>Tried</p>' } });
    const page = await suite.openAs('developer');
    await page.goto(`/app/templates/template/${key}`);
    await page.getByRole('button', { name: 'Send test' }).click();
    await expect
      .poll(() => page.getByRole('textbox', { name: 'From' }).inputValue())
      .toBe('hello@bakery.example');
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await page.getByText('Test sent.').waitFor();
    const { json } = await call('GET', '/messages?domain=bakery.example');
    expect(json.data).not.toEqual([]);
  });

  test('a broken draft keeps its variables and cannot be published', async () => {
    const { call } = suite.app();
    const html = '<p>Hello {{ first_name }}</p>';
    await call('POST', '/templates', { body: { key: 'broken', subject: 'Hi', html } });
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto('/app/templates/template/broken');
    await page.getByRole('tab', { name: 'Variables' }).click();
    await page.getByText('first_name', { exact: true }).waitFor();
    await write(page, '<p>Hello {{ first_name }}{% if late %}</p>');
    await page.getByRole('tab', { name: 'Checks' }).click();
    await page.getByText('html, line 1, column 26').waitFor();
    await page.getByRole('tab', { name: 'Variables' }).click();
    await page.getByText('first_name', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Fix these errors before publishing').waitFor();
    expect(await dialog.getByRole('button', { name: 'Publish' }).isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await write(page, '<p>Hello {{ last_name }}</p>');
    await page.getByText('last_name', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Checks' }).click();
    await page.getByText('There is no preheader').waitFor();
    expect(await page.getByText('text part').count()).toBe(0);
  });

  test('a language starts from the default content, and a test uses it with given values', async () => {
    const { call } = suite.app();
    const html = '<p>Hello {{ first_name }}</p>';
    await call('POST', '/templates', { body: { key: 'greeting', subject: 'Hi', html } });
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto('/app/templates/template/greeting');
    await emailPreview(page).getByText('Hello').waitFor();
    await page.getByRole('button', { name: 'Dark' }).click();
    await emailPreview(page).locator('html[data-scheme=recolored]').waitFor();

    await page.getByLabel('Language').selectOption('Add language…');
    await page.getByLabel('Language tag').fill('german');
    expect(await page.getByRole('button', { name: 'Add', exact: true }).isDisabled()).toBe(true);
    await page.getByLabel('Language tag').fill('de');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('Empty fields use the default language.').waitFor();
    await page.getByRole('status').getByText('Saved').waitFor();
    await page.getByRole('button', { name: 'Copy default content' }).click();
    await page.getByRole('textbox', { name: 'HTML' }).getByText('Hello').waitFor();
    await page.getByRole('textbox', { name: 'Subject' }).fill('Hallo');

    await page.getByRole('tab', { name: 'Sender' }).click();
    await page.getByLabel('Default From address').fill('news@shop.example');
    await page.getByLabel('Default From name').fill('The Shop');
    await page.getByLabel('Default Reply-To address').fill('help@shop.example');
    await page.getByRole('button', { name: 'Save sender' }).click();
    await expect
      .poll(async () => (await call('GET', '/templates/greeting')).json)
      .toMatchObject({
        from: { email: 'news@shop.example', name: 'The Shop' },
        reply_to: [{ email: 'help@shop.example' }],
        locales: { de: { subject: 'Hallo', html } },
      });

    await page.getByRole('button', { name: 'Send test' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('From').inputValue()).toBe('news@shop.example');
    expect(await dialog.getByLabel('Language').inputValue()).toBe('de');
    expect(JSON.parse(await dialog.getByLabel('Variables').inputValue())).toEqual({
      first_name: '[first_name]',
    });
    await dialog.getByLabel('Variables').fill('{"first_name":');
    await dialog.getByText('Enter a JSON object.').waitFor();
    await dialog.getByLabel('Variables').fill('{"first_name":"Zoë"}');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'View' }).click();
    await page.getByRole('heading', { name: 'Hallo' }).waitFor();
    await emailPreview(page).getByText('Hello Zoë').waitFor();
  });

  test('the sender can be saved while the content is being saved', async () => {
    const { call } = suite.app();
    await call('POST', '/templates', { body: { key: 'slow', subject: 'Hi', html: '<p>Hi</p>' } });
    const page = await suite.openAs('developer', { width: 1440 });
    const held: (() => Promise<void>)[] = [];
    await page.route('**/templates/slow', (route) => {
      if (route.request().method() !== 'PATCH' || held.length > 0) return route.continue();
      held.push(() => route.continue());
    });
    await page.goto('/app/templates/template/slow');
    await page.getByRole('textbox', { name: 'Subject' }).fill('Hello');
    await expect.poll(() => held.length).toBe(1);
    await page.getByRole('tab', { name: 'Sender' }).click();
    await page.getByLabel('Default From address').fill('news@shop.example');
    await page.getByRole('button', { name: 'Save sender' }).click();
    await held[0]?.();
    await expect
      .poll(async () => (await call('GET', '/templates/slow')).json)
      .toMatchObject({ subject: 'Hello', from: { email: 'news@shop.example' } });
  });

  test('shows what publishing changes, and republishes an older version', async () => {
    const { call } = suite.app();
    const html = '<p>Dear {{ first_name }}, <b>be quick!</b></p>';
    await call('POST', '/templates', {
      body: { key: 'late', name: 'Late', subject: 'Late', html },
    });
    await call('POST', '/templates/late/publish', { body: { note: 'First version' } });
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto('/app/templates/template/late');
    await write(page, '<p>Hello {{ first_name }}</p>');
    await page.getByText('Unpublished changes').waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    const changes = page.getByRole('region', { name: 'html' });
    await changes.getByText('-<p>Dear {{ first_name }}, <b>be quick!</b></p>').waitFor();
    await changes.getByText('+<p>Hello {{ first_name }}</p>').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 2 published.').waitFor();

    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByText('First version').waitFor();
    await page.getByRole('button', { name: 'Republish' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Republish' }).click();
    await page.getByText('Version 1 republished.').waitFor();
    const { json } = await suite.app().call('GET', '/templates/late');
    expect(json.published_version).toBe(1);
  });
});

async function write(page: Page, html: string): Promise<void> {
  await page.getByRole('textbox', { name: 'HTML' }).click();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText(html);
}

function emailPreview(page: Page): FrameLocator {
  return page.frameLocator('iframe[title="Email preview"]');
}

async function setExample(page: Page, name: string, example: string): Promise<void> {
  await page.getByRole('button', { name: `Edit ${name}` }).click();
  await page.getByRole('textbox', { name: 'Example' }).fill(example);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(`e.g. ${example}`).waitFor();
}
