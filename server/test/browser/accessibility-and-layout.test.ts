import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { TestApp } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import {
  accessibilityViolations,
  expectToFit,
  overflows,
  WIDTHS,
} from '../harness/browser/checks.ts';
import {
  createInboundSampleData,
  createSampleData,
  type SampleData,
} from '../harness/browser/sample-data.ts';

/**
 * Goal: every page and dialog is accessible in both themes and modes, does not shift while loading,
 * and fits desktop, tablet and phone windows.
 * Method: axe on each page; the browser's layout shift score; no box wider than its window.
 */

const SHIFTS = `globalThis.__shift = 0; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) __shift += entry.value;
}).observe({ type: 'layout-shift', buffered: true })`;

const WINDOW = { width: 1280, height: 860 };

/** A layout shift score below this is not noticeable. */
const SHIFT_MAX = 0.01;

interface PageIds extends SampleData {
  domainId: string;
  webhookId: string;
  /** With HTML, text and an attachment. */
  inboundId: string;
}

interface View {
  name: string;
  path: (data: PageIds) => string;
  /** Opens a tab, menu or dialog before the check. */
  open?: (page: Page) => Promise<unknown>;
}

const tab = (name: string) => (page: Page) => page.getByRole('tab', { name }).click();

const VIEWS: View[] = [
  { name: 'Overview', path: () => '/app' },
  { name: 'Messages', path: () => '/app/messages' },
  {
    name: 'Messages, filters',
    path: () => '/app/messages',
    open: (page) => page.getByRole('button', { name: 'Filters' }).click(),
  },
  { name: 'Not found', path: () => '/app/nowhere' },
  { name: 'Message, bounced', path: ({ bouncedId }) => `/app/messages/${bouncedId}` },
  {
    name: 'Message, content',
    path: ({ deliveredId: arrivedId }) => `/app/messages/${arrivedId}`,
    open: tab('Content'),
  },
  {
    name: 'Message, attempts',
    path: ({ bouncedId }) => `/app/messages/${bouncedId}`,
    open: tab('Attempts'),
  },
  { name: 'Inbound', path: () => '/app/inbound' },
  {
    name: 'Inbound, filters',
    path: () => '/app/inbound',
    open: (page) => page.getByRole('button', { name: 'Filters' }).click(),
  },
  { name: 'Inbound message', path: ({ inboundId }) => `/app/inbound/${inboundId}` },
  {
    name: 'Inbound message, headers',
    path: ({ inboundId }) => `/app/inbound/${inboundId}`,
    open: tab('Headers'),
  },
  {
    name: 'Inbound message, attachments',
    path: ({ inboundId }) => `/app/inbound/${inboundId}`,
    open: tab('Attachments (1)'),
  },
  { name: 'Test inbox', path: ({ deliveredId: arrivedId }) => `/app/test-inbox?id=${arrivedId}` },
  { name: 'Templates', path: () => '/app/templates' },
  { name: 'Template', path: () => '/app/templates/template/order-shipped' },
  {
    name: 'Template, variables',
    path: () => '/app/templates/template/order-shipped',
    open: tab('Variables'),
  },
  { name: 'Contacts', path: () => '/app/contacts' },
  { name: 'Contact', path: () => '/app/contacts?open=ada@example.com' },
  { name: 'Domains', path: () => '/app/domains' },
  { name: 'Domain', path: ({ domainId }) => `/app/domains/${domainId}` },
  { name: 'Streams', path: () => '/app/streams' },
  { name: 'Suppressions', path: () => '/app/suppressions' },
  { name: 'API keys', path: () => '/app/api-keys' },
  { name: 'New API key', path: () => '/app/api-keys?new=true' },
  { name: 'Webhooks', path: () => '/app/webhooks' },
  { name: 'Webhook', path: ({ webhookId }) => `/app/webhooks/${webhookId}` },
  { name: 'Events', path: () => '/app/events' },
  { name: 'Request log', path: () => '/app/requests' },
  { name: 'Audit log', path: () => '/app/audit-log' },
  { name: 'Team', path: () => '/app/team' },
  { name: 'Settings', path: () => '/app/settings' },
  { name: 'Settings, sessions', path: () => '/app/settings?tab=sessions' },
  { name: 'Settings, workspace', path: () => '/app/settings?tab=workspace' },
  { name: 'Settings, limits', path: () => '/app/settings?tab=limits' },
  {
    name: 'Command palette',
    path: () => '/app/suppressions',
    open: async (page) => {
      await page.keyboard.press('ControlOrMeta+K');
      await page.getByRole('combobox', { name: /command/ }).waitFor();
    },
  },
];

const button = (name: string) => (page: Page) =>
  page.getByRole('main').getByRole('button', { name }).first().click();

const menuItem = (menu: string, item: string) => async (page: Page) => {
  await page.getByRole('button', { name: menu }).first().click();
  await page.getByRole('menuitem', { name: item }).click();
};

const DIALOGS: View[] = [
  {
    name: 'New API key, created',
    path: () => '/app/api-keys?new=true',
    open: async (page) => {
      await page.getByRole('textbox', { name: 'Name' }).fill('Web shop');
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      await page.getByTestId('token').waitFor();
      const smtp = { name: 'SMTP', exact: true };
      await page.getByRole('dialog').getByRole('button', smtp).waitFor();
    },
  },
  {
    name: 'New API key, Amazon SES',
    path: () => '/app/api-keys?new=true',
    open: async (page) => {
      await page.getByRole('textbox', { name: 'Name' }).fill('AWS');
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      await dialog.getByRole('button', { name: 'Amazon SES' }).click();
      await dialog.getByRole('button', { name: 'Create SES credentials' }).click();
      await dialog.getByText('Copy the credentials now.').waitFor();
    },
  },
  {
    name: 'Edit API key',
    path: () => '/app/api-keys',
    open: menuItem('Actions for Web shop', 'Edit'),
  },
  {
    name: 'Rotate API key',
    path: () => '/app/api-keys',
    open: menuItem('Actions for Web shop', 'Rotate key'),
  },
  {
    name: 'SES credentials',
    path: () => '/app/api-keys',
    open: async (page) => {
      await menuItem('Actions for Web shop', 'SES credentials')(page);
      await page.getByText('This key has no SES credentials.').waitFor();
    },
  },
  {
    name: 'SES credentials, created',
    path: () => '/app/api-keys',
    open: async (page) => {
      await menuItem('Actions for Web shop', 'SES credentials')(page);
      await page.getByRole('button', { name: 'Create credentials' }).click();
      await page.getByTestId('token').waitFor();
    },
  },
  {
    name: 'Revoke API key',
    path: () => '/app/api-keys',
    open: menuItem('Actions for Web shop', 'Revoke'),
  },
  { name: 'Simulate inbound message', path: () => '/app/inbound?new=true' },
  {
    name: 'Simulate reply',
    path: ({ deliveredId }) => `/app/messages/${deliveredId}`,
    open: button('Simulate reply'),
  },
  {
    name: 'Delete inbound message',
    path: ({ inboundId }) => `/app/inbound/${inboundId}`,
    open: menuItem('More actions', 'Delete'),
  },
  { name: 'Add contact', path: () => '/app/contacts?new=true' },
  { name: 'Import contacts', path: () => '/app/contacts', open: button('Import') },
  { name: 'Add domain', path: () => '/app/domains?new=true' },
  {
    name: 'Rotate DKIM keys',
    path: ({ domainId }) => `/app/domains/${domainId}`,
    open: menuItem('More actions', 'Rotate DKIM keys'),
  },
  { name: 'Create stream', path: () => '/app/streams?new=true' },
  { name: 'Edit stream', path: () => '/app/streams', open: button('Edit Weekly digest') },
  { name: 'Add suppressions', path: () => '/app/suppressions?new=true' },
  { name: 'New template', path: () => '/app/templates?new=true' },
  {
    name: 'Publish template',
    path: () => '/app/templates/template/password-reset',
    open: button('Publish'),
  },
  {
    name: 'Test template',
    path: () => '/app/templates/template/order-shipped',
    open: button('Send test'),
  },
  {
    name: 'Template variable',
    path: () => '/app/templates/template/order-shipped',
    open: async (page) => {
      await page.getByRole('tab', { name: 'Variables' }).click();
      await page.getByRole('button', { name: 'Edit order' }).click();
    },
  },
  {
    name: 'Compare template versions',
    path: () => '/app/templates/template/order-shipped',
    open: async (page) => {
      await page.getByRole('tab', { name: 'Versions' }).click();
      await page.getByRole('button', { name: 'Compare' }).first().click();
    },
  },
  { name: 'Add webhook endpoint', path: () => '/app/webhooks?new=true' },
  {
    name: 'Webhook endpoint, created',
    path: () => '/app/webhooks?new=true',
    open: async (page) => {
      await page.getByLabel('URL').fill('https://hooks.example/created');
      await page.getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click();
      await page.getByTestId('token').waitFor();
    },
  },
  {
    name: 'Edit webhook endpoint',
    path: ({ webhookId }) => `/app/webhooks/${webhookId}`,
    open: menuItem('More actions', 'Edit'),
  },
  {
    name: 'Rotate webhook secret',
    path: ({ webhookId }) => `/app/webhooks/${webhookId}`,
    open: menuItem('More actions', 'Rotate secret'),
  },
  {
    name: 'Test webhook endpoint',
    path: ({ webhookId }) => `/app/webhooks/${webhookId}`,
    open: async (page) => {
      await button('Send test')(page);
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByRole('button', { name: 'Send again' }).waitFor();
    },
  },
  {
    name: 'Replay webhook events',
    path: ({ webhookId }) => `/app/webhooks/${webhookId}`,
    open: button('Replay'),
  },
  { name: 'Invite member', path: () => '/app/team?new=true' },
  { name: 'Turn on two-factor', path: () => '/app/settings', open: button('Turn on') },
  { name: 'Change email', path: () => '/app/settings', open: button('Change email') },
  { name: 'Delete account', path: () => '/app/settings', open: button('Delete account') },
  {
    name: 'Single sign-on',
    path: () => '/app/settings?tab=workspace',
    open: async (page) => {
      await button('Set up single sign-on')(page);
      await page.getByRole('button', { name: 'Add group' }).click();
    },
  },
  {
    name: 'Delete workspace',
    path: () => '/app/settings?tab=workspace',
    open: button('Delete workspace'),
  },
  {
    name: 'Sign out everywhere',
    path: () => '/app/settings?tab=sessions',
    open: button('Sign out everywhere else'),
  },
  {
    name: 'New workspace',
    path: () => '/app/settings',
    open: menuItem('Workspace Test. Switch', 'New workspace'),
  },
  {
    name: 'Keyboard shortcuts',
    path: () => '/app/settings',
    open: (page) => page.keyboard.press('?'),
  },
];

browserSuite('accessibility and layout', (suite) => {
  let opened: { app: TestApp; page: Page } | undefined;

  /** One page for all tests, because opening a page takes longer than checking it. */
  async function ownersPage(): Promise<Page> {
    const app = suite.app();
    if (opened?.app !== app) {
      opened = { app, page: await suite.openAs('owner') };
      await opened.page.addInitScript(SHIFTS);
    }
    await opened.page.setViewportSize(WINDOW);
    return opened.page;
  }

  /** Goes to a view without loading the application again. */
  async function show(path: string): Promise<Page> {
    const page = await ownersPage();
    const elsewhere = page.locator('h1', { hasText: 'Page not found' });
    const push = (to: string) => page.evaluate(`history.pushState({}, '', '${to}')`);
    if (page.url() === 'about:blank') await page.goto('/app/nowhere');
    else await push('/app/nowhere');
    await elsewhere.waitFor();
    // A dialog of the layout, such as the keyboard shortcuts, outlasts the view.
    if (await page.locator('dialog[open]').count()) await page.goto('/app/nowhere');
    await elsewhere.waitFor();
    await push(path);
    await elsewhere.waitFor({ state: 'detached' });
    await waitForContent(page);
    return page;
  }

  const filled = new WeakMap<object, ReturnType<typeof fill>>();

  /** The sample data, created once per server. */
  function sampleData(): ReturnType<typeof fill> {
    const filling = filled.get(suite.app()) ?? fill();
    filled.set(suite.app(), filling);
    return filling;
  }

  async function fill() {
    const { call, liveKey } = suite.app();
    const data = await createSampleData((method, path, body) => call(method, path, { body }));
    const domain = await call('POST', '/domains', {
      key: liveKey,
      body: { name: 'fernhill.example' },
    });
    const webhook = await call('POST', '/webhooks', {
      body: { url: 'https://hooks.example/mail', events: ['message.*'] },
    });
    expect([domain.status, webhook.status]).toEqual([201, 201]);
    const inboundId = await createInboundSampleData(
      (method, path, body) => call(method, path, { body }),
      data,
    );
    return { ...data, domainId: domain.json.id, webhookId: webhook.json.id, inboundId };
  }

  test.each([
    '/app',
    '/app/messages',
    '/app/inbound',
    '/app/test-inbox',
    '/app/templates',
    '/app/contacts',
    '/app/suppressions',
    '/app/webhooks',
  ])('in an empty workspace, %s fits its window', async (path) => {
    const page = await show(path);
    await page.locator('main pre').first().waitFor();
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await expect.poll(async () => [width, await overflows(page)]).toEqual([width, []]);
      expect([width, await page.evaluate(CODE_OUTSIDE)]).toEqual([width, []]);
    }
  });

  test('the empty test inbox says on a phone how to fill it', async () => {
    const page = await show('/app/test-inbox');
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole('link', { name: 'Create test key' }).waitFor();
    await expectToFit(page);
  });

  test('the account menu is in view on a low window', async () => {
    const page = await show('/app/team');
    await page.setViewportSize({ width: 1366, height: 640 });
    const menu = page.getByRole('complementary').getByRole('button', { name: 'owner' });
    await menu.waitFor();
    const box = await menu.boundingBox();
    expect((box?.y ?? 640) + (box?.height ?? 0)).toBeLessThanOrEqual(640);
  });

  test('a tab that does not exist shows the first one', async () => {
    const page = await show('/app/settings?tab=billing');
    await page.getByRole('tab', { name: 'Your account', selected: true }).waitFor();
    await page.getByRole('tabpanel').getByLabel('Current password').waitFor();
  });

  test.each(VIEWS)('$name', async ({ path, open }) => {
    const url = path(await sampleData());
    const page = await ownersPage();
    await page.goto(url);
    await waitForContent(page);
    expect(await page.evaluate<number>('__shift')).toBeLessThan(SHIFT_MAX);
    await open?.(page);
    await waitForContent(page);
    expect(await accessibilityViolations(page)).toEqual([]);
    await expectToFit(page);
  });

  test.each(DIALOGS)('the dialog "$name" fits its window', async ({ path, open }) => {
    const page = await show(path(await sampleData()));
    await open?.(page);
    await page.getByRole('dialog').waitFor();
    await waitForContent(page);
    await expectToFit(page);
  });

  test.each([
    { path: '/app/templates', column: 'Updated' },
    { path: '/app/contacts', column: 'Updated' },
  ])(
    'a long name without spaces does not push columns of $path out of view',
    async ({ path, column }) => {
      const { call } = suite.app();
      const name = 'N'.repeat(150);
      // Already exists when the test is repeated: 409.
      await call('POST', '/templates', {
        body: { key: 'long-name', name, subject: 'x', html: 'x' },
      });
      await call('PUT', '/contacts/long@example.com', { body: { first_name: name } });
      const page = await show(path);
      await page.setViewportSize({ width: 1200, height: 800 });
      const cell = page.getByRole('cell', { name }).first();
      await cell.waitFor();
      expect(await cell.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
      const head = await page.getByRole('columnheader', { name: column }).boundingBox();
      expect((head?.x ?? 0) + (head?.width ?? 0)).toBeLessThanOrEqual(1200);
    },
  );

  test.each(['suppressions', 'api-keys', 'contacts', 'domains', 'team'])(
    'short words in the table of %s are not broken at any width',
    async (path) => {
      await sampleData();
      const page = await show(`/app/${path}`);
      for (const width of [390, 820, 1440]) {
        await page.setViewportSize({ width, height: 800 });
        await page.locator('main td').first().waitFor({ state: 'attached' });
        expect([width, await page.evaluate(BROKEN_WORDS)]).toEqual([width, []]);
      }
    },
  );

  test.each([
    '/app/templates',
    '/app/templates/template/order-shipped',
    '/app/contacts',
    '/app/domains',
  ])('on a phone, the buttons of %s are on the title line', async (path) => {
    await sampleData();
    const page = await show(path);
    await page.setViewportSize({ width: 390, height: 800 });
    const head = page.locator('main header').first();
    const title = (await head.boundingBox())?.y ?? 0;
    const tops = await head
      .getByRole('button')
      .evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().top));
    expect(tops.length).toBeGreaterThan(0);
    for (const top of tops) expect(top - title).toBeLessThan(40);
  });

  test('Sign-in', async () => {
    const page = await suite.open();
    await page.goto('/app/sign-in');
    await waitForContent(page);
    await expectToFit(page);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await page.getByRole('button', { name: 'Send link' }).waitFor();
    await expectToFit(page);
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});

async function waitForContent(page: Page): Promise<void> {
  await page.locator('h1, dialog[open]').first().waitFor({ state: 'attached' });
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
}

/** Copy buttons of code blocks that are outside the window. */
const CODE_OUTSIDE = `[...document.querySelectorAll('main button[aria-label^=Copy]')]
  .filter((button) => button.checkVisibility())
  .map((button) => button.getBoundingClientRect().right)
  .filter((right) => right > innerWidth)`;

/** Words of up to 20 characters in table cells that are broken across lines. */
const BROKEN_WORDS = `[...document.querySelectorAll('main td')].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    for (const { 0: word, index } of text.data.matchAll(/\\S{2,20}(?!\\S)/g)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1 && !/\\S/.test(text.data[index - 1] ?? ' ')) broken.push(word);
    }
  }
  return broken;
})`;
