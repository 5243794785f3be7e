import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { validMessage } from '../harness/app.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { expectFullyVisible, overflows } from '../harness/browser/checks.ts';
import { createPerson, signInAs } from '../harness/browser/dashboard-session.ts';

/**
 * Goal: the longest allowed names can be read in full on the smallest screen, at 200% zoom, and in
 * print: nothing is cut off and nothing scrolls sideways.
 */
browserSuite('long names', (suite) => {
  const WORD = 'Donaudampfschifffahrtsgesellschaftskapitaenswitwenrente';
  const NAME = `${WORD}-${WORD.slice(0, 40)}-END`;
  const ADDRESS = `${WORD}@${WORD}.example.com`.toLowerCase();

  async function createLongNames() {
    const app = suite.app();
    const owner = await createPerson(app, `${WORD}@shop.example`, 'owner');
    const visitor = await signInAs(app, owner);
    const done = async (call: ReturnType<typeof app.call>) => {
      const { status, json, text } = await call;
      expect([status < 300, text]).toEqual([true, text]);
      return json;
    };
    await done(visitor.call('PATCH', '/me', { body: { name: NAME } }));
    await done(visitor.call('PATCH', `/workspaces/${visitor.workspace}`, { body: { name: NAME } }));
    const key = NAME.toLowerCase();
    const html = `<p>{{ ${WORD.toLowerCase()}_${WORD.toLowerCase()} }}</p>`;
    await done(app.call('POST', '/templates', { body: { key, name: NAME, subject: NAME, html } }));
    const domain = await done(
      visitor.call('POST', '/domains', { body: { name: `${WORD}.${WORD}.example.net` } }),
    );
    await done(visitor.call('POST', '/api-keys', { body: { name: NAME, mode: 'test' } }));
    const url = `https://${WORD}.example.org/${NAME}`;
    const hook = { url, description: NAME, events: ['*'] };
    const webhook = await done(visitor.call('POST', '/webhooks', { body: hook }));
    const stream = { key: WORD.toLowerCase().slice(0, 64), name: NAME.slice(0, 100) };
    await done(visitor.call('POST', '/streams', { body: { ...stream, purpose: 'subscription' } }));
    await done(visitor.call('POST', '/suppressions', { body: { email: ADDRESS, note: NAME } }));
    const contact = { email: ADDRESS, first_name: NAME, attributes: { [WORD]: NAME } };
    await done(visitor.call('POST', '/contacts', { body: contact }));
    await done(visitor.call('POST', '/invitations', { body: { email: ADDRESS, role: 'viewer' } }));
    const message = await done(
      app.call('POST', '/transactional/send', {
        key: app.testKey,
        body: validMessage({
          to: { email: `other-${ADDRESS}`, name: NAME },
          cc: [{ email: `copy-${ADDRESS}` }],
          subject: NAME,
          tags: ['Rechtsschutzversicherungsgesellschaften'.repeat(6)],
          metadata: { [WORD.repeat(2).slice(0, 64)]: NAME },
          attachments: [{ filename: `${NAME}.txt`, content: 'aGVsbG8=' }],
        }),
      }),
    );
    const inbound = await done(
      app.call('POST', '/inbound-messages/simulate', {
        key: app.testKey,
        body: {
          from: { email: `other-${ADDRESS}`, name: NAME },
          to: { email: `${WORD}@${domain.name}` },
          subject: NAME,
          text: NAME,
          attachments: [{ filename: `${NAME}.txt`, content: 'aGVsbG8=' }],
        },
      }),
    );
    return {
      owner,
      key,
      messageId: message.id,
      domainId: domain.id,
      webhookId: webhook.id,
      inboundId: inbound.id,
    };
  }

  async function choose(page: Page, name: RegExp): Promise<void> {
    await page.getByRole('button', { name: 'Open navigation' }).click();
    await page.getByRole('button', { name }).click();
  }

  const created = new WeakMap<object, ReturnType<typeof createLongNames>>();

  /** Created once per server. */
  function longNames() {
    const creating = created.get(suite.app()) ?? createLongNames();
    created.set(suite.app(), creating);
    return creating;
  }

  test('do not make any page scroll sideways, on a phone or zoomed', async () => {
    const { owner, key, messageId, domainId, webhookId, inboundId } = await longNames();
    const page = await suite.openFor(owner, { width: 360, height: 780 });
    const pages = [
      ['/app/', 'Overview'],
      ['/app/messages', 'Messages'],
      [`/app/messages/${messageId}`, NAME],
      ['/app/inbound', 'Inbound'],
      [`/app/inbound/${inboundId}`, NAME],
      ['/app/templates', 'Templates'],
      [`/app/templates/template/${key}`, NAME],
      ['/app/contacts', 'Contacts'],
      ['/app/domains', 'Domains'],
      [`/app/domains/${domainId}`, WORD.toLowerCase()],
      ['/app/streams', 'Streams'],
      ['/app/suppressions', 'Suppressions'],
      ['/app/api-keys', 'API keys'],
      ['/app/webhooks', 'Webhooks'],
      [`/app/webhooks/${webhookId}`, WORD.toLowerCase()],
      ['/app/events', 'Events'],
      ['/app/team', 'Team'],
      ['/app/settings', 'Settings'],
      ['/docs/api/sending', 'Sending'],
    ] as const;
    for (const [path, heading] of pages) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      for (const width of [360, 640]) {
        await page.setViewportSize({ width, height: 780 });
        await expect
          .poll(async () => [path, width, await overflows(page)])
          .toEqual([path, width, []]);
      }
      await page.setViewportSize({ width: 360, height: 780 });
    }
    const cut = `[...document.querySelectorAll('.panel-title')]
      .filter((title) => title.scrollWidth > title.clientWidth + 1).length`;
    expect(await page.evaluate<number>(cut)).toBe(0);
  });

  test('do not push columns of a table out of view or break their links', async () => {
    const { owner } = await longNames();
    const page = await suite.openFor(owner, { width: 1024, height: 780 });
    for (const path of ['streams', 'suppressions', 'webhooks', 'team']) {
      await page.goto(`/app/${path}`);
      const table = page.getByRole('table').first();
      await table.waitFor();
      for (const width of [768, 1024, 1280]) {
        await page.setViewportSize({ width, height: 780 });
        const outside = () =>
          table.evaluate((one) => one.scrollWidth - one.parentElement.clientWidth);
        await expect.poll(async () => [path, width, await outside()]).toEqual([path, width, 0]);
        expect([path, width, await page.evaluate(BROKEN_LINKS)]).toEqual([path, width, []]);
      }
    }
  });

  test('in Hebrew, the beginning of a subject is visible where it is cut off', async () => {
    const { owner } = await longNames();
    const subject = 'שלום לכולם '.repeat(20).trim();
    const body = validMessage({ to: { email: 'dana@example.org' }, subject });
    expect((await suite.app().call('POST', '/transactional/send', { body })).status).toBe(202);
    const inbound = {
      from: { email: 'dana@example.org' },
      to: { email: `x@${WORD}.${WORD}.example.net` },
      ...{ subject, text: subject },
    };
    const simulated = await suite
      .app()
      .call('POST', '/inbound-messages/simulate', { body: inbound });
    expect(simulated.status).toBe(201);
    const page = await suite.openFor(owner, { width: 1024, height: 780 });
    for (const path of ['messages', 'inbound', 'test-inbox']) {
      await page.goto(`/app/${path}`);
      await page.getByRole('link', { name: subject }).waitFor();
      const outside = `(() => {
        const text = document.evaluate('//main//text()[starts-with(., "שלום")]', document, null, 9)
          .singleNodeValue;
        const first = document.createRange();
        first.setStart(text, 0);
        first.setEnd(text, 4);
        const link = text.parentElement.closest('a');
        return first.getBoundingClientRect().right - link.getBoundingClientRect().right;
      })()`;
      expect([path, await page.evaluate(outside)]).toEqual([path, 0]);
    }
  });

  test('leave space for what is beside them', async () => {
    const { owner, messageId } = await longNames();
    const page = await suite.openFor(owner, { width: 1280, height: 780 });
    const widthOf = async (text: Locator) => (await text.boundingBox())?.width ?? 0;
    await page.goto('/app/messages');
    const subject = page.getByRole('link', { name: NAME }).first();
    await subject.waitFor();
    expect(await widthOf(subject)).toBeGreaterThan(150);
    await page.goto(`/app/messages/${messageId}`);
    const details = page.getByRole('complementary').last();
    await details.getByText(WORD.repeat(2).slice(0, 64)).waitFor();
    for (const value of [details.getByText('transactional'), details.getByText(NAME).last()]) {
      await expectFullyVisible(value);
      expect(await widthOf(value)).toBeGreaterThan(60);
    }
  });

  test('are shown in full on a phone where they are looked up', async () => {
    const { owner, messageId, inboundId } = await longNames();
    const page = await suite.openFor(owner, { width: 360, height: 780 });
    await page.goto(`/app/messages/${messageId}`);
    const people = page.getByRole('complementary').last();
    await expectFullyVisible(people.getByText(`other-${ADDRESS}`));
    await expectFullyVisible(people.getByText(`copy-${ADDRESS}`));
    await page.getByRole('tab', { name: 'Attempts' }).click();
    await expectFullyVisible(page.locator('summary').getByText(`other-${ADDRESS}`));
    await page.getByRole('tab', { name: 'Content' }).click();
    await page.getByRole('tab', { name: 'Attachments' }).click();
    await expectFullyVisible(page.getByText(`${NAME}.txt`));
    await page.goto(`/app/inbound/${inboundId}`);
    await expectFullyVisible(people.getByText(`<other-${ADDRESS}>`));
    await page.getByRole('tab', { name: 'Attachments' }).click();
    await expectFullyVisible(page.getByText(`${NAME}.txt`));
    await choose(page, /Switch/);
    await expectFullyVisible(page.getByRole('menuitem').getByText(NAME));
  });

  test('are printed with the whole page, without navigation', async () => {
    const { owner, messageId } = await longNames();
    const page = await suite.openFor(owner, { width: 794, height: 400 });
    await page.goto(`/app/messages/${messageId}`);
    await page.getByText('Delivered').first().waitFor();
    await page.emulateMedia({ media: 'print' });
    const main = page.locator('main');
    await expect
      .poll(() => main.evaluate((one) => one.scrollHeight - one.clientHeight))
      .toBeLessThanOrEqual(0);
    expect(await main.evaluate((one) => one.clientHeight)).toBeGreaterThan(400);
    expect(await page.getByRole('navigation', { name: 'Pages' }).isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Search' }).isVisible()).toBe(false);
    // Relative times are meaningless in print.
    const when = await page.evaluate<string>(
      "getComputedStyle(document.querySelector('main time'), '::after').content",
    );
    expect(when).toMatch(/\d{4}-\d\d-\d\dT/);
    const sheets = (await page.pdf({ width: '794px', height: '400px' })).toString('latin1');
    expect(sheets.match(/\/Type \/Page\b/g)?.length).toBeGreaterThan(1);
  });
});

/** Links of one word in table cells that are broken across lines. */
const BROKEN_LINKS = `[...document.querySelectorAll('td a')]
  .filter((link) => link.text.length < 20 && link.offsetHeight > 30)
  .map((link) => link.text)`;
