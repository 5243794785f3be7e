import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser.ts';

/**
 * Goal: while the server is away, as during an upgrade, the application stays in its window, says so,
 * and goes on when the server is back.
 * Method: nothing that a page asks for gets through, on the way to a page that was not fetched yet.
 */
browserSuite('when the server is away', (suite) => {
  test('a page that cannot be fetched is told inside the frame, and comes on a second try', async () => {
    const page = await suite.openAs('owner');
    await page.goto('/app/suppressions');
    await page.getByRole('heading', { name: 'Suppressions' }).waitFor();
    await page.route('**', (route) => route.abort('connectionrefused'));
    await page.getByRole('link', { name: 'Domains' }).click();
    await page.getByRole('alert').getByText('There was no answer from the server.').waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.unroute('**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Domains' }).waitFor();
    // Some browsers remember that a module failed: then the application is loaded anew.
    const foreseen =
      /ERR_CONNECTION_REFUSED|There was no answer from the server|Failed to fetch dynamically/;
    expect(suite.takeErrors().filter((trouble) => !foreseen.test(trouble))).toEqual([]);
  });
});
