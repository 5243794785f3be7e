import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';

/** Goal: a selected day starts at local midnight and is shown as the selected day. */
browserSuite('local time zone', (suite) => {
  test.each([
    ['America/Los_Angeles', '2040-05-20T07:00:00.000Z'],
    ['Pacific/Auckland', '2040-05-19T12:00:00.000Z'],
  ])('a key expires at the start of the selected day in %s', async (timezoneId, endsAt) => {
    const page = await suite.openAs('developer', { fresh: true });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Emulation.setTimezoneOverride', { timezoneId });
    await page.goto('/app/api-keys?new=true');
    await page.getByRole('textbox', { name: 'Name' }).fill('Shop');
    await page.getByLabel('Expires', { exact: true }).selectOption('date');
    const day = page.getByLabel('Expiration date');
    await day.fill('2040-05-20');
    expect(await day.inputValue()).toBe('2040-05-20');
    const created = page.waitForResponse('**/api/v1/api-keys');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    expect((await (await created).json()).expires_at).toBe(endsAt);
    await page.getByRole('button', { name: 'Done' }).click();
  });
});
