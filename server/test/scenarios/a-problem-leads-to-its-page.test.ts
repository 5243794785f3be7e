import { expect, it } from 'vitest';
import { startApp } from '../harness/app.ts';

/**
 * Goal: whoever meets a problem finds help behind its `type`, on the server that answered.
 * Method: a real refusal, and its address followed.
 */

it('explains itself where type points', async () => {
  await using app = await startApp();
  const refused = await app.call('POST', '/transactional/send', { body: { to: 'nobody' } });
  expect(refused.json.code).toBe('validation_failed');
  const page = await fetch(app.url + new URL(refused.json.type).pathname);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await page.text()).toContain(refused.json.title);

  const reference = await fetch(`${app.url}/docs`);
  expect(reference.status).toBe(200);
  expect(await reference.text()).toContain('http://postrider.test/api/v1/transactional/send');
});
