import { expect, test } from 'vitest';
import { browserSuite } from '../harness/browser/browser.ts';
import {
  accessibilityViolations,
  expectFullyVisible,
  overflows,
} from '../harness/browser/checks.ts';

/** A failed request is found in two clicks, with its fix; a successful one leads to its message. */
browserSuite('request log and audit log', (suite) => {
  test('from a rejected request to its problem, and from a sent one to its message', async () => {
    const message = {
      to: { email: 'jane@example.com' },
      from: { email: 'hello@shop.example' },
      subject: 'Hello',
      html: '<p>Hello</p>',
    };
    const send = (body: object) => suite.app().call('POST', '/transactional/send', { body });
    const rejected = await send({ ...message, from: 'not an address', variables: { pin: 471100 } });
    expect(rejected.status).toBe(422);
    const sent = await send(message);

    const onPhone = await suite.openAs('developer', { width: 390, height: 844 });
    await onPhone.goto('/app/requests');
    const failed = onPhone
      .getByRole('list', { name: 'Requests' })
      .getByRole('listitem')
      .filter({ hasText: 'validation_failed' });
    for (const text of ['/api/v1/transactional/send', 'validation_failed', /^\d+ ms$/]) {
      await expectFullyVisible(failed.getByText(text).last());
    }

    const page = await suite.openAs('developer', { fresh: true });
    await page.goto('/app');
    await page.getByRole('link', { name: 'Request log' }).click();
    const list = page.getByRole('list', { name: 'Requests' });
    await list.getByRole('link', { name: /validation_failed/ }).click();
    await page.getByText(rejected.json.fix).waitFor();
    const body = page.getByRole('region', { name: 'Request body', exact: true }).first();
    await body.getByText('not an address').waitFor();
    expect(await page.content()).not.toContain('471100');
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await overflows(page)).toEqual([]);

    await page.getByRole('link', { name: 'Request log' }).first().click();
    await page.getByLabel('Status').selectOption('2xx');
    await page.getByLabel('Method').selectOption('POST');
    await list.getByRole('link', { name: 'POST /api/v1/transactional/send', exact: true }).click();
    await page.getByRole('link', { name: sent.json.id }).click();
    await page.getByRole('heading', { name: 'Hello' }).waitFor();

    await page.goto('/app/contacts');
    await page.getByRole('button', { name: 'Add', exact: true }).first().click();
    await page.getByRole('dialog').getByLabel('Email').fill('rosa@example.com');
    await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click();
    await page.getByRole('link', { name: 'rosa@example.com' }).waitFor();
    await page.goto('/app/requests');
    const own = list.getByRole('listitem').filter({ hasText: '/contacts' });
    await own.getByText('You', { exact: true }).waitFor();

    await page.clock.install();
    await page.goto('/app/requests');
    await page.getByLabel('Search paths or request IDs').fill('/templates/not-there');
    await page.getByText('No requests match these filters').waitFor();
    expect((await suite.app().call('GET', '/templates/not-there')).status).toBe(404);
    await expect
      .poll(async () => {
        await page.clock.fastForward('00:05');
        return list.getByRole('link', { name: /not-there/ }).count();
      })
      .toBe(1);
    expect(suite.takeErrors()).toEqual([]);
  });

  test('a change shows who made it; developers do not see the audit log', async () => {
    const body = { email: 'jane@example.com', first_name: 'Jane' };
    const created = await suite.app().call('POST', '/contacts', { body });
    const stream = { key: 'digest', name: 'Weekly digest', purpose: 'subscription' };
    expect((await suite.app().call('POST', '/streams', { body: stream })).status).toBe(201);
    const page = await suite.openAs('admin');
    await page.goto('/app');
    await page.getByRole('link', { name: 'Audit log' }).click();
    const list = page.getByRole('list', { name: 'Audit log' });
    await list.getByRole('button', { name: /Created a stream ?Weekly digest ?digest/ }).waitFor();
    await list
      .getByRole('button', { name: /Created a contact/ })
      .first()
      .click();
    await list.getByRole('button', { name: created.json.id, exact: true }).waitFor();
    await list.getByText('[not kept]').first().waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await overflows(page)).toEqual([]);
    await page.getByRole('link', { name: /^req_/ }).click();
    await page.getByRole('heading', { name: 'POST /api/v1/contacts' }).waitFor();

    const onPhone = await suite.openAs('admin', { width: 390, height: 844 });
    await onPhone.goto('/app/audit-log');
    const entry = onPhone
      .getByRole('list', { name: 'Audit log' })
      .getByRole('button', { name: /Created a stream/ });
    for (const text of ['Created a stream', 'Weekly digest', /^API key /]) {
      await expectFullyVisible(entry.getByText(text, { exact: true }));
    }

    await page.goto('/app/audit-log');
    await page.getByLabel('Actor').selectOption('Command line');
    await page.getByText('No entries match these filters').waitFor();

    const developer = await suite.openAs('developer');
    await developer.goto('/app');
    await developer.getByRole('link', { name: 'Request log' }).waitFor();
    expect(await developer.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
    expect(suite.takeErrors()).toEqual([]);
  });
});
