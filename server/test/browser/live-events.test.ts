import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';

const TO_COME_BACK = { timeout: 30_000 };
const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();

/** The feed as a developer watches it while trying something out. */
browserSuite('events on screen', (suite) => {
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
  /** The sign beside the list; the switch between the modes has the same word. */
  const live = (page: Page) =>
    page
      .getByRole('main')
      .getByRole('status')
      .filter({ hasText: /^Live$/ });
  const rows = (page: Page) => page.getByRole('list', { name: 'Events' }).getByRole('listitem');

  test('what happened before and what happens now stand in one list, newest first', async () => {
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
    await bounced.getByRole('link', { name: 'See the message' }).click();
    await page.waitForURL(`**/app/messages/${id}`);
    expect(suite.takeErrors()).toEqual([]);
  });

  test('paused, new events wait behind the button; a filter holds for the stream too', async () => {
    const page = await suite.openAs('developer');
    await send('earlier@example.com');
    await page.goto('/app/events?type=message.delivered');
    await rows(page).filter({ hasText: 'earlier@example.com' }).waitFor();
    await live(page).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await send('waits@example.com');
    await page.getByRole('button', { name: 'Show 1 new one' }).waitFor();
    expect(await rows(page).filter({ hasText: 'waits@example.com' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Show 1 new one' }).click();
    const shown = rows(page).filter({ hasText: 'waits@example.com' });
    await shown.waitFor();
    expect(await shown.count()).toBe(1);
    expect(await shown.textContent()).toContain('message.delivered');
    expect(suite.takeErrors()).toEqual([]);
  });

  test.each([
    ['message', (id: string) => `/messages/${id}`, 'status', /It was cancelled/],
    ['list', () => '/messages', 'listitem', /cancelled.*delivered\+list@/],
  ] as const)(
    'what happens while the %s is asked for the first time is shown',
    async (name, at, role, words) => {
      const id = await send(`delivered+${name}@simulator.test`, { scheduled_at: IN_AN_HOUR });
      const page = await suite.openAs('developer');
      const stream = await holdFirst(page, '**/events/stream*', 'question');
      const answer = await holdFirst(page, `**/api/v1${at(id)}{,?*}`, 'answer');
      await page.goto(`/app${at(id)}`);
      await answer.held;
      await suite.app().call('POST', `/messages/${id}/cancel`);
      const opened = page.waitForResponse('**/events/stream*');
      stream.letGo();
      await opened;
      // Behind the page's own handling of what it was just told.
      await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
      answer.letGo();
      await page.getByRole(role).filter({ hasText: words }).waitFor();
    },
  );

  test('what happened while the connection was broken follows when it is back', async () => {
    const page = await suite.openAs('developer');
    await page.goto('/app/events');
    await live(page).waitFor();
    await send('shortly-before@example.com');
    await rows(page).filter({ hasText: 'shortly-before@example.com' }).nth(1).waitFor();
    await page.context().setOffline(true);
    await page.getByText('Connection lost, trying again').waitFor();
    await send('meanwhile@example.com');
    const again = page.waitForRequest('**/events/stream*');
    await page.context().setOffline(false);
    // From where it broke: the list alone would come back too, but not what it leaves out.
    expect((await again).headers()['last-event-id']).toMatch(/./);
    await expect
      .poll(() => rows(page).filter({ hasText: 'meanwhile@example.com' }).count(), TO_COME_BACK)
      .toBe(2);
  });

  test('events of the other mode are nowhere', async () => {
    await send('elsewhere@example.com');
    const page = await suite.openAs('developer', { mode: 'live' });
    await page.goto('/app/events');
    await live(page).waitFor();
    await rows(page).filter({ hasText: 'Key made' }).first().waitFor();
    expect(await rows(page).filter({ hasText: 'message.' }).count()).toBe(0);
  });
});

/** Holds the first of these requests back, before it is asked or with its answer in hand. */
async function holdFirst(page: Page, url: string, what: 'question' | 'answer') {
  const held = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  let isFirst = true;
  await page.route(url, async (route) => {
    if (!isFirst) return route.continue();
    isFirst = false;
    const response = what === 'answer' ? await route.fetch() : undefined;
    held.resolve();
    await letGo.promise;
    return response ? route.fulfill({ response }) : route.continue();
  });
  return { held: held.promise, letGo: () => letGo.resolve() };
}
