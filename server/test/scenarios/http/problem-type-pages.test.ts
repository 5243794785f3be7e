import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { PROBLEMS } from '../../../src/http/problems/problem-types.ts';
import { startApp } from '../../harness/app.ts';

/** The `type` URL of a problem leads to its documentation on the same server. */

it('the type URL explains the problem', async () => {
  await using app = await startApp();
  const refused = await app.call('POST', '/transactional/send', { body: { to: 'nobody' } });
  expect(refused.json.code).toBe('validation_failed');
  const page = await fetch(app.url + new URL(refused.json.type).pathname);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await page.text()).toContain(refused.json.title);

  const reference = await fetch(`${app.url}/docs/api/sending`);
  expect(reference.status).toBe(200);
  expect(await reference.text()).toContain('http://postrider.test/api/v1/transactional/send');
});

it('the fix applies to this request and links to an existing page', async () => {
  await using app = await startApp({ env: { ROLES: 'api' } });
  const reader = await app.newKey({ scopes: ['read:messages'] });
  const fixOf = async (method: string, place: string, options: object) =>
    (await app.call(method, place, options)).json.fix;
  expect(await fixOf('POST', '/transactional/send', { key: reader, body: {} })).toBe(
    'Create a key with send:transactional at http://postrider.test/app/api-keys.',
  );
  const ours = { key: app.testKey, body: { name: 'ours.example' } };
  expect(await fixOf('POST', '/domains', ours)).toContain('live key');
  expect(await fixOf('GET', '/test/inbox', { key: app.liveKey })).toContain('test key');
  expect(await fixOf('GET', '/members', {})).toBe('Sign in at http://postrider.test/app.');

  const router = path.join(import.meta.dirname, '../../../../dashboard/src/router.tsx');
  const pages = readFileSync(router, 'utf8').matchAll(/path: '([^']+)'/g);
  const known = new Set([...pages].map(([, page]) => page));
  for (const { fix } of Object.values(PROBLEMS)) {
    for (const [, page] of fix.matchAll(/\{app\}\/app(\/[\w-]+)/g)) expect(known).toContain(page);
  }
});

it('unknown pages are HTML for browsers and a problem for programs', async () => {
  await using app = await startApp();
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const look = (path: string, headers: Record<string, string> = { accept }, method = 'GET') =>
    fetch(app.url + path, { method, headers });
  for (const path of ['/nope', '/nope/', '/docs/nope', '/application', '/%zz']) {
    const page = await look(path);
    expect([path, page.status]).toEqual([path, 404]);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.headers.get('vary')).toBe('accept');
    expect(await page.text()).toContain('Page not found');
  }
  for (const answer of [
    await look('/nope', {}),
    await look('/nope', { accept: 'application/json' }),
    await look('/nope', { accept: 'application/json, text/html' }),
    await look('/api/v1/nope'),
    await look('/nope', { accept }, 'POST'),
  ]) {
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
  }
});
