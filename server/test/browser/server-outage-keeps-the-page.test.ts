import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';

/**
 * Goal: while the server is unreachable, for example during an upgrade, the dashboard stays open,
 * shows an error, and continues when the server is back.
 * Method: all requests are aborted while navigating to a page that is not loaded yet.
 */
browserSuite('server outage', (suite) => {
  test('a page that cannot be loaded shows an error inside the layout, and loads on retry', async () => {
    const page = await suite.openAs('owner');
    await page.goto('/app/suppressions');
    await page.getByRole('heading', { name: 'Suppressions', exact: true }).waitFor();
    await page.route('**', (route) => route.abort('connectionrefused'));
    await page.getByRole('link', { name: 'Domains' }).click();
    await page.getByRole('alert').getByText('Can’t reach the server.').waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.unroute('**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Domains', exact: true }).waitFor();
    // Some browsers cache a failed module import; the application is then reloaded.
    const expected = /ERR_CONNECTION_REFUSED|Can’t reach the server|Failed to fetch dynamically/;
    expect(suite.takeErrors().filter((error) => !expected.test(error))).toEqual([]);
  });

  test('a page that could not be loaded without a network loads when it is back', async () => {
    const page = await suite.openAs('owner', { fresh: true });
    await page.goto('/app/suppressions');
    await page.getByRole('heading', { name: 'Suppressions', exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Streams' }).click();
    await page.getByRole('alert').getByText('Can’t reach the server.').waitFor();
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: 'Streams', exact: true }).waitFor();
    const expected = /ERR_INTERNET_DISCONNECTED|Can’t reach the server|Failed to fetch dynamically/;
    expect(suite.takeErrors().filter((error) => !expected.test(error))).toEqual([]);
  });
});
