import type { FrameLocator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';

/**
 * Goal: somebody who never wrote a template gets from the empty list to a mail that arrives, sees on
 * the way what it will look like, and is kept from publishing what cannot be sent.
 */
browserSuite('a template', (suite) => {
  test('is written, looked at, published, tried and sent', async () => {
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto('/app/templates');
    await page.getByRole('heading', { name: 'No template yet' }).waitFor();
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
    await mailIn(page).getByText('be quick!').waitFor();

    await page.getByRole('tab', { name: 'Variables' }).click();
    await giveExample(page, 'order', '1042');
    await giveExample(page, 'first_name', 'Jane & Joe');
    await page.getByRole('tab', { name: 'Preview' }).click();
    await page.getByText('Order 1042 is on its way').waitFor();
    await mailIn(page).getByText('Dear Jane & Joe').waitFor();

    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByLabel('Note').fill('The first words');
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 1 is published.').waitFor();
    await page.getByText('version 1', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('textbox', { name: 'To' }).fill('me@shop.example');
    await page.getByRole('textbox', { name: 'From' }).fill('orders@shop.example');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Look' }).click();
    await page.getByRole('heading', { name: 'Order 1042 is on its way' }).waitFor();
    await mailIn(page).getByText('Dear Jane & Joe').waitFor();

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
    await mailIn(page).getByText('Dear Peter').waitFor();
  });

  test('is tried from a domain of the workspace without typing a sender', async () => {
    const { app, call, workspaceId } = suite.app();
    await app.domains.trust(workspaceId, { name: 'bakery.example' });
    const key = `tried-${Date.now()}`;
    await call('POST', '/templates', { body: { key, subject: 'Tried', html: '<p>Tried</p>' } });
    const page = await suite.openAs('developer');
    await page.goto(`/app/templates/template/${key}`);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await expect
      .poll(() => page.getByRole('textbox', { name: 'From' }).inputValue())
      .toBe('hello@bakery.example');
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await page.getByText('The test is on its way.').waitFor();
    const { json } = await call('GET', '/messages?domain=bakery.example');
    expect(json.data).not.toEqual([]);
  });

  test('tells what publishing would change, and goes back to what it was', async () => {
    const { call } = suite.app();
    const html = '<p>Dear {{ first_name }}, <b>be quick!</b></p>';
    await call('POST', '/templates', {
      body: { key: 'late', name: 'Late', subject: 'Late', html },
    });
    await call('POST', '/templates/late/publish', { body: { note: 'The first words' } });
    const page = await suite.openAs('developer', { width: 1440 });
    await page.goto('/app/templates/template/late');
    await write(page, '<p>Hello {{ first_name }}</p>');
    await page.getByText('changed since').waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    const changes = page.getByRole('region', { name: 'html' });
    await changes.getByText('-<p>Dear {{ first_name }}, <b>be quick!</b></p>').waitFor();
    await changes.getByText('+<p>Hello {{ first_name }}</p>').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 2 is published.').waitFor();

    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByText('The first words').waitFor();
    await page.getByRole('button', { name: 'Publish again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish again' }).click();
    await page.getByText('Version 1 is published again.').waitFor();
    const { json } = await suite.app().call('GET', '/templates/late');
    expect(json.published_version).toBe(1);
  });
});

async function write(page: Page, html: string): Promise<void> {
  await page.getByRole('textbox', { name: 'HTML' }).click();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText(html);
}

function mailIn(page: Page): FrameLocator {
  return page.frameLocator('iframe[title="Preview of the mail"]');
}

async function giveExample(page: Page, name: string, example: string): Promise<void> {
  await page.getByRole('button', { name: `Change ${name}` }).click();
  await page.getByRole('textbox', { name: 'Example' }).fill(example);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(`e.g. ${example}`).waitFor();
}
