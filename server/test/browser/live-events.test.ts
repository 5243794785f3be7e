import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';

const AFTER_RECONNECT = { timeout: 30_000 };
const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();

/** The event log as a developer follows it while testing. */
browserSuite('live events', (suite) => {
  const send = async (email: string, more: object = {}): Promise<string> => {
    const answer = await suite.app().call('POST', '/transactional/send', {
      body: {
        to: { email },
        from: { email: 'hello@shop.example' },
        subject: 'Hello',
        html: '<p>Hello</p>',
        ...more,
      },
    });
    return answer.json.id;
  };
  /** The status indicator of the list; the mode switch has the same label. */
  const live = (page: Page) =>
    page
      .getByRole('main')
      .getByRole('status')
      .filter({ hasText: /^Live$/ });
  const rows = (page: Page) => page.getByRole('list', { name: 'Events' }).getByRole('listitem');

  test('past and live events are in one list, newest first', async () => {
    await send('before@example.com');
    const page = await suite.openAs('developer');
    await page.goto('/app/events');
    await rows(page).filter({ hasText: 'before@example.com' }).first().waitFor();
    await live(page).waitFor();
    const id = await send('bounced@simulator.test');
    const bounced = rows(page).filter({ hasText: 'message.bounced' });
    await bounced.waitFor();
    await expect.poll(() => rows(page).first().textContent()).toContain('bounced@simulator.test');
    await bounced.getByRole('button').first().click();
    await bounced.getByText('"unknown_mailbox"').waitFor();
    await bounced.getByRole('link', { name: 'View message' }).click();
    await page.waitForURL(`**/app/messages/${id}`);
    expect(suite.takeErrors()).toEqual([]);
  });

  test('while paused, new events wait behind the button; filters apply to live events too', async () => {
    const page = await suite.openAs('developer');
    await send('earlier@example.com');
    await page.goto('/app/events?type=message.delivered');
    await rows(page).filter({ hasText: 'earlier@example.com' }).waitFor();
    await live(page).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await send('waits@example.com');
    await page.getByRole('button', { name: 'Show 1 new event' }).waitFor();
    expect(await rows(page).filter({ hasText: 'waits@example.com' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Show 1 new event' }).click();
    const shown = rows(page).filter({ hasText: 'waits@example.com' });
    await shown.waitFor();
    expect(await shown.count()).toBe(1);
    expect(await shown.textContent()).toContain('message.delivered');
    expect(suite.takeErrors()).toEqual([]);
  });

  test.each([
    ['message', (id: string) => `/messages/${id}`, 'status', /Cancelled/],
    ['list', () => '/messages', 'listitem', /Cancelled.*delivered\+list@/],
  ] as const)('an event during the first load of the %s is shown', async (name, at, role, text) => {
    const id = await send(`delivered+${name}@simulator.test`, { scheduled_at: IN_AN_HOUR });
    const page = await suite.openAs('developer');
    const stream = await holdFirst(page, '**/events/stream*', 'request');
    const response = await holdFirst(page, `**/api/v1${at(id)}{,?*}`, 'response');
    await page.goto(`/app${at(id)}`);
    await response.held;
    await suite.app().call('POST', `/messages/${id}/cancel`);
    const opened = page.waitForResponse('**/events/stream*');
    stream.release();
    await opened;
    // Let the page handle the event first.
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    response.release();
    await page.getByRole(role).filter({ hasText: text }).waitFor();
  });

  test('events missed during a connection loss arrive after reconnecting', async () => {
    const page = await suite.openAs('developer');
    await page.goto('/app/events');
    await live(page).waitFor();
    await send('shortly-before@example.com');
    await rows(page).filter({ hasText: 'shortly-before@example.com' }).nth(1).waitFor();
    await page.context().setOffline(true);
    await page.getByText('Connection lost, reconnecting').waitFor();
    await send('meanwhile@example.com');
    const again = page.waitForRequest('**/events/stream*');
    await page.context().setOffline(false);
    // It resumes after the last event; refetching the list alone would miss events beyond one page.
    expect((await again).headers()['last-event-id']).toMatch(/./);
    await expect
      .poll(() => rows(page).filter({ hasText: 'meanwhile@example.com' }).count(), AFTER_RECONNECT)
      .toBe(2);
  });

  test('events of the other mode are not shown', async () => {
    await send('elsewhere@example.com');
    const page = await suite.openAs('developer', { mode: 'live' });
    await page.goto('/app/events');
    await live(page).waitFor();
    await rows(page).filter({ hasText: 'API key created' }).first().waitFor();
    expect(await rows(page).filter({ hasText: 'message.' }).count()).toBe(0);
  });
});

/** Holds back the first matching request, before it is sent or with its response ready. */
async function holdFirst(page: Page, url: string, what: 'request' | 'response') {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isFirst = true;
  await page.route(url, async (route) => {
    if (!isFirst) return route.continue();
    isFirst = false;
    const response = what === 'response' ? await route.fetch() : undefined;
    held.resolve();
    await released.promise;
    return response ? route.fulfill({ response }) : route.continue();
  });
  return { held: held.promise, release: () => released.resolve() };
}
