import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';

/**
 * Goal: untrusted content is displayed but never executed, wherever it appears.
 * Method: every field that accepts untrusted text gets content that would run a script, open a
 * dialog, load a remote image or navigate. A local server stands in for remote hosts and records
 * requests; the test harness records dialogs and requests.
 */

const visits: string[] = [];
const outside = createServer((request, response) => {
  visits.push(request.url ?? '');
  response.end();
});
outside.listen(0, '127.0.0.1');
await once(outside, 'listening');
afterAll(() => void outside.close());
const OUTSIDE = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`;

const MARK = 'globalThis.__ran = (globalThis.__ran ?? 0) + 1; alert(1)';
const TAG = `<img src=x onerror="${MARK}"><script>${MARK}</script>`;

/** Short enough for a name. */
const SHORT_TAG = '<img src=x onerror=alert(1)>';

const MAIL = `
<!doctype html><html><head>
  <script>${MARK}</script>
  <meta http-equiv="refresh" content="0;url=${OUTSIDE}/meta">
  <base href="${OUTSIDE}/"><link rel="stylesheet" href="${OUTSIDE}/sheet.css">
  <style>@import url(${OUTSIDE}/import.css); p { background: url(${OUTSIDE}/bg.png) }</style>
</head><body onload="${MARK}" background="${OUTSIDE}/body.png">
  <p>Visible text</p>
  <img src="${OUTSIDE}/pixel.gif"><img src="x" onerror="${MARK}">
  <svg onload="${MARK}"><script>${MARK}</script><a href="javascript:${MARK}"><text y="20">svg link</text></a></svg>
  <iframe src="${OUTSIDE}/frame"></iframe><iframe srcdoc="<script>parent.${MARK}</script>"></iframe>
  <object data="${OUTSIDE}/object"></object><embed src="${OUTSIDE}/embed">
  <video src="${OUTSIDE}/video" autoplay></video><audio src="${OUTSIDE}/audio"></audio>
  <form action="${OUTSIDE}/form"><button>Send the form</button></form>
  <a href="javascript:${MARK}">A script link</a>
  <a href="${OUTSIDE}/link" target="_top">A link to outside</a>
  <details open ontoggle="${MARK}"><summary>More</summary></details>
  <input autofocus onfocus="${MARK}"><math><mtext><table><mglyph><style><img src=x onerror="${MARK}">
</body></html>`;

browserSuite('hostile HTML', (suite) => {
  test('in an email, loads nothing, runs nothing and does not navigate', async () => {
    const { json } = await suite.app().call('POST', '/transactional/send', {
      body: {
        to: { email: 'jane@example.com', name: TAG },
        from: { email: 'hello@example.org', name: TAG },
        subject: `Subject ${TAG}`,
        html: MAIL,
        metadata: { order: TAG },
        tags: ['tag'],
      },
    });
    const page = await suite.openAs('owner');
    await page.goto('/app/messages');
    await page.getByRole('link', { name: `Subject ${TAG}` }).click();
    await page.getByText(TAG).first().waitFor();
    await page.getByRole('tab', { name: 'Content' }).click();
    await readAndClick(page);
    for (const view of ['Text', 'Source', 'Headers']) {
      await page.getByRole('tab', { name: view }).click();
    }
    await expectNothingRan(page);

    await page.goto(`/app/test-inbox?id=${json.id}`);
    await page.getByRole('heading', { name: `Subject ${TAG}` }).waitFor();
    await readAndClick(page);
    await expectNothingRan(page);
  });

  test('in an inbound message, does nothing either, and its files are only downloaded', async () => {
    const { call, liveKey } = suite.app();
    const body = { name: 'reply.example' };
    expect((await call('POST', '/domains', { key: liveKey, body })).status).toBe(201);
    const subject = `Inbound ${TAG} \u202e${'very long '.repeat(150)}`;
    const simulated = await call('POST', '/inbound-messages/simulate', {
      body: {
        from: { email: 'eve@example.com', name: TAG },
        to: { email: 'support@reply.example', name: TAG },
        subject,
        text: TAG,
        html: MAIL,
        headers: { 'X-Evil': TAG },
        attachments: [
          {
            filename: '<img src=x onerror=alert(1)>.html',
            content: btoa(MAIL.replaceAll(/[^ -~]/g, ' ')),
            content_type: 'text/html',
          },
          { filename: 'image.svg', content: btoa(`<svg onload="${MARK}"/>`), content_id: 'evil' },
        ],
      },
    });
    expect([simulated.status, simulated.text]).toEqual([201, simulated.text]);
    const page = await suite.openAs('owner');
    await page.goto('/app/inbound');
    await page.getByRole('link', { name: `Inbound ${TAG}` }).click();
    await page.getByText(TAG).first().waitFor();
    await readAndClick(page);
    for (const view of ['Text', 'Source', 'Headers', 'Attachments (2)']) {
      await page.getByRole('tab', { name: view }).click();
    }
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Download .*\.html$/ }).click(),
    ]);
    expect(download.url()).toMatch(/^blob:/);
    await expectNothingRan(page);
    await page.goto(`/api/v1/inbound-messages/${simulated.json.id}/attachments/0`).catch(() => {});
    await page.goto('/app/events?type=inbound_message.received');
    await page.getByText('eve@example.com').first().waitFor();
    await expectNothingRan(page);
  });

  test('is shown in an isolated frame', async () => {
    const page = await suite.openAs('owner');
    const answer = await page.goto('/app/preview/closed');
    const policy = answer?.headers()['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain('img-src data:;');
    expect(policy).toContain('sandbox allow-scripts');
    expect(policy).not.toMatch(/allow-same-origin|allow-top|allow-popups|connect-src|unsafe-eval/);
    expect(await page.evaluate('origin')).toBe('null');
    const app = await page.goto('/app/messages');
    const outer = app?.headers()['content-security-policy'] ?? '';
    expect(outer).toContain("script-src 'self';");
    expect(outer).toContain("connect-src 'self';");
    expect(outer).toContain("require-trusted-types-for 'script'");
  });

  test('in the names of contacts, templates and users is plain text', async () => {
    const app = suite.app();
    const contact = { email: 'eve@example.com', first_name: TAG, attributes: { note: TAG } };
    expect((await app.call('POST', '/contacts', { body: contact })).status).toBe(201);
    const template = { key: 'evil', name: TAG, subject: `Dear ${TAG}`, html: MAIL };
    expect((await app.call('POST', '/templates', { body: template })).status).toBe(201);
    const page = await suite.openAs('owner', { width: 1440 });
    await page.goto('/app/contacts');
    await page.getByRole('cell', { name: TAG }).waitFor();
    await page.getByRole('link', { name: 'eve@example.com' }).click();
    await page.getByLabel('First name').waitFor();
    expect(await page.getByLabel('First name').inputValue()).toBe(TAG);
    await expectNothingRan(page);

    await page.goto('/app/templates');
    await page.getByRole('link', { name: TAG }).click();
    await page.getByText(`Dear ${TAG}`).waitFor();
    await readAndClick(page);
    await expectNothingRan(page);

    await page.goto('/app/settings');
    await page.getByRole('textbox', { name: 'Name' }).fill(SHORT_TAG);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Name saved.').waitFor();
    await page.getByRole('link', { name: 'Team' }).click();
    await page.getByRole('row').getByText(SHORT_TAG).waitFor();
    await expectNothingRan(page);
  });

  /** Reads the email and clicks everything in it. */
  async function readAndClick(page: Page): Promise<void> {
    const mail = page.frameLocator('iframe[title="Email preview"]');
    await mail.getByText('Visible text').waitFor();
    await mail.getByText('A script link').click();
    await mail.getByText('svg link').click();
    await mail.getByText('Send the form').click();
    await mail.getByText('A link to outside').click();
    await page.getByText('Link target:').waitFor();
    await page.getByText(`${OUTSIDE}/link`, { exact: true }).last().waitFor();
    await page.getByRole('button', { name: /Load .*remote images?/ }).waitFor();
  }

  async function expectNothingRan(page: Page): Promise<void> {
    for (const frame of page.frames()) {
      expect(await frame.evaluate('globalThis.__ran ?? 0')).toBe(0);
    }
    expect(page.url().startsWith(suite.app().url)).toBe(true);
    expect(page.context().pages()).toHaveLength(1);
    // Blocked attempts are reported by the policy; nothing else may have happened.
    const blocked = /Content Security Policy|Blocked (script|form|autofocus)|sandboxed/;
    expect(visits).toEqual([]);
    expect(suite.takeErrors().filter((error) => !blocked.test(error))).toEqual([]);
  }
});
