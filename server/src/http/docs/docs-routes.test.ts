import { readFileSync } from 'node:fs';
import path from 'node:path';
import Fastify from 'fastify';
import { afterAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../version.ts';
import { openapiDocument } from '../openapi/openapi-document.ts';
import { createOperations, type RouteDependencies } from '../operations.ts';
import { PROBLEMS } from '../problems/problem-types.ts';
import { registerDocs } from './docs-routes.ts';
import { openDocsSite } from './docs-site.ts';
import type { ApiDocument } from './document-reader.ts';

/**
 * Goal: the documentation shows everything, has no broken links, makes no request to other hosts,
 * and turns no text into markup. Method: the real document and the real guides on a real server,
 * and a hostile document.
 */

const BASE_URL = 'https://mail.example.org';
const ROOT = path.resolve(import.meta.dirname, '../../../..');

const REAL_DOCUMENT = ((): ApiDocument => {
  // The spec of an operation uses no other dependencies.
  const operations = createOperations({ baseUrl: BASE_URL, batchMax: 500 } as RouteDependencies);
  return openapiDocument(operations, {
    baseUrl: BASE_URL,
    version: '1.2.3',
  }) as unknown as ApiDocument;
})();

/** Shared by all tests, as are the pages that it has rendered. */
const server = Fastify();
registerDocs(server, { document: () => REAL_DOCUMENT, root: ROOT });
const docs = {
  get: (url: string, headers: Record<string, string> = {}) =>
    server.inject({ method: 'GET', url, headers }),
};
afterAll(() => server.close());

const tagsOf = (page: string) => [...page.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>/g)];
const linksOf = (page: string) =>
  [...page.matchAll(/(?:href|src|action)="([^"]*)"/g)].map((one) => one[1] as string);

let crawled: Promise<Map<string, string>> | undefined;

/** All pages that can be reached by links from the start page, with their HTML. */
function allPages(): Promise<Map<string, string>> {
  crawled ??= crawl();
  return crawled;
}

async function crawl(): Promise<Map<string, string>> {
  const seen = new Map<string, string>();
  const ahead = ['/docs'];
  for (let url = ahead.pop(); url !== undefined; url = ahead.pop()) {
    if (seen.has(url)) continue;
    const response = await docs.get(url);
    expect([url, response.statusCode]).toEqual([url, 200]);
    seen.set(url, response.body);
    if (!isHtml(url)) continue;
    for (const link of linksOf(response.body)) {
      const [place = ''] = link.split('#');
      if (/^\/(?:docs|llms)/.test(place)) ahead.push(place);
    }
  }
  return seen;
}

const isHtml = (url: string): boolean => !/\.\w+$/.test(url);

describe('all pages', () => {
  it('link to each other without a dead end, and load nothing from other hosts', async () => {
    const seen = await allPages();
    expect(seen.size).toBeGreaterThan(Object.keys(PROBLEMS).length * 2);
    for (const [url, body] of seen) {
      if (!isHtml(url)) continue;
      for (const link of linksOf(body)) {
        if (/^https:\/\//.test(link)) continue;
        expect(link).toMatch(/^(#|\/docs|\/llms\.txt$|\/app(\/api-keys)?$|\/api\/v1\/openapi\.)/);
        const [place = '', anchor] = link.split('#');
        if (anchor === undefined || anchor === 'main') continue;
        const target = place === '' ? body : seen.get(place);
        expect([url, link, target?.includes(` id="${anchor}"`)]).toEqual([url, link, true]);
      }
      expect(body).not.toMatch(/(?:src|action)="https?:|<link[^>]+href="https?:/);
    }
    expect(seen.get('/docs/style.css')).not.toMatch(/url\((?!["']?\/)|@import/);
    expect(seen.get('/docs/script.js')).not.toMatch(/import[ (]|XMLHttpRequest|https?:/);
  });

  it('are small, well-formed, and name the version', async () => {
    for (const [url, body] of await allPages()) {
      if (!isHtml(url)) continue;
      const open: string[] = [];
      let elements = 0;
      for (const [, closing, name = ''] of tagsOf(body)) {
        if (['meta', 'link', 'input', 'img', 'wbr', 'br', 'hr'].includes(name)) continue;
        elements += 1;
        if (closing === '/') expect([url, open.pop()]).toEqual([url, name]);
        else open.push(name);
      }
      expect([url, open]).toEqual([url, []]);
      const ids = [...body.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]);
      expect([url, ids.length]).toEqual([url, new Set(ids).size]);
      expect(body).toContain(`Postrider ${VERSION}`);
      expect(body).not.toMatch(/<style|style=|\son[a-z]+=/);
      // The reference used to be one page with 47,000 nodes.
      expect([url, elements / 2 < 15_000]).toEqual([url, true]);
    }
  });

  it('exist as Markdown', async () => {
    for (const [url, body] of await allPages()) {
      if (!isHtml(url) || url === '/docs/search') continue;
      expect(body).toContain(`href="${url}.md"`);
      const markdown = await docs.get(`${url}.md`);
      expect([url, markdown.statusCode]).toEqual([url, 200]);
      expect(markdown.headers['content-type']).toBe('text/markdown; charset=utf-8');
      expect(markdown.body).toMatch(/^# \S/);
      expect(markdown.body).not.toContain('http://localhost:3000');
      for (const [, target = ''] of markdown.body.matchAll(/\]\(([^()\s]+)\)/g)) {
        if (!target.startsWith('/docs')) continue;
        const [place = ''] = target.split('#');
        expect([url, target, (await docs.get(place)).statusCode]).toEqual([url, target, 200]);
      }
    }
  });
});

describe('the API reference', () => {
  it('has a section for every operation and event type, in the table of contents of its page', async () => {
    const pages = [...(await allPages())].filter(([url]) => url.startsWith('/docs/api'));
    const all = pages.map(([, body]) => body).join('');
    const ids = Object.values(REAL_DOCUMENT.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(ids.length).toBeGreaterThan(100);
    const events = Object.keys(REAL_DOCUMENT.webhooks ?? {}).map((type) =>
      type.replaceAll(/[._]/g, '-'),
    );
    for (const id of [...ids, ...events]) {
      expect(all).toContain(`id="${id}"`);
      expect(all).toContain(`<li><a href="#${id}">`);
    }
  });

  it('shows requests in every language, with the URL of this server', async () => {
    const { body } = await docs.get('/docs/api/sending');
    for (const name of ['curl', 'TypeScript', 'Python', 'Go', 'PHP', 'Ruby', 'C#', 'Java']) {
      expect(body).toContain(`value="${name}"`);
    }
    expect(body).toContain(`${BASE_URL}/api/v1/transactional/send`);
    expect(body).toContain('postrider-client');
  });

  it('never turns text into markup', async () => {
    const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>' [x](javascript:alert(1))`;
    // Every text of the document at any depth, except keys and references.
    const poisoned = JSON.parse(JSON.stringify(REAL_DOCUMENT), (key, value: unknown) =>
      typeof value === 'string' && !['$ref', 'type', 'in', 'operationId', 'format'].includes(key)
        ? value + evil
        : value,
    ) as ApiDocument;
    const [tag] = poisoned.tags.map(({ name }) => name);
    expect(tag).toContain('<script>');
    poisoned.paths[`/api/v1/${evil}/{${evil}}`] = {
      get: { operationId: 'evil', tags: [tag as string], summary: evil, responses: {} },
    };
    const clean = new Set<string | undefined>();
    const site = await openDocsSite(REAL_DOCUMENT, ROOT);
    for (const name of [
      '/docs',
      '/docs/api/sending',
      '/docs/api/event-types',
      '/docs/quickstart',
    ]) {
      const page = site.page(name);
      for (const one of tagsOf(page ? site.html(page) : '')) clean.add(one[2]);
    }
    const hostile = await openDocsSite(poisoned, ROOT);
    const start = hostile.page('/docs');
    const html = start ? hostile.html(start) : '';
    const resources = linksOf(html).filter((link) => link.startsWith('/docs/api/'));
    expect(resources.length).toBeGreaterThan(10);
    for (const name of [...resources, '/docs/errors/validation-failed']) {
      const found = hostile.page(name);
      const page = found ? hostile.html(found) : '';
      expect(tagsOf(page).filter((one) => !clean.has(one[2]))).toEqual([]);
      expect(page.match(/<script/g)).toHaveLength(2);
      expect(page.match(/<img/g)).toHaveLength(1);
      expect(page).not.toMatch(/href="javascript/);
      expect(page.replaceAll(/"[^"]*"/g, '')).not.toMatch(/<[^>]*\sonerror/);
    }
  });
});

describe('error pages', () => {
  it.each(Object.entries(PROBLEMS))('%s', async (code, { status, title }) => {
    const response = await docs.get(`/docs/errors/${code.replaceAll('_', '-')}`);
    expect(response.statusCode).toBe(200);
    expect(response.body).toContain(`<code>${code}</code>`);
    expect(response.body).toContain(`<span class="status bad">${status}</span>`);
    expect(response.body).toContain(title.replaceAll("'", '&#39;'));
  });

  it('returns 404 for unknown codes', async () => {
    for (const url of [
      '/docs/errors/no-such-code',
      '/docs/nope',
      '/docs/api/nope.md',
      '/docs/..',
    ]) {
      expect((await docs.get(url)).statusCode).toBe(404);
    }
  });
});

describe('the search', () => {
  it.each([
    ['webhook signature', '/docs/webhooks#verify-signatures'],
    ['dkim rotate', '/docs/api/domains#rotateDomainDkim'],
    ['idempotency', '/docs/api#idempotency'],
    ['systemd', '/docs/production#systemd'],
    ['HELO_NAME', '/docs/'],
    ['idempotency_key_reused', '/docs/errors/idempotency-key-reused'],
    ['message.bounced', '/docs/api/event-types#message-bounced'],
  ])('%s', async (query, expected) => {
    const found = await docs.get(`/docs/search.json?q=${encodeURIComponent(query)}`);
    const [first] = found.json<{ data: { url: string; excerpt: string }[] }>().data;
    expect(first?.url).toContain(expected);
    const page = await docs.get(`/docs/search?q=${encodeURIComponent(query)}`);
    expect(page.body).toContain(`<a href="${first?.url}">`);
  });

  it('says that nothing was found, and shows any query as text', async () => {
    const page = await docs.get('/docs/search?q=%22%3E%3Cxyzzy');
    expect(page.body).toContain('No results');
    expect(page.body).not.toContain('"><xyzzy');
    expect((await docs.get('/docs/search')).body).toContain('search field');
    const long = await docs.get(`/docs/search.json?q=${'a '.repeat(5_000)}`);
    expect(long.statusCode).toBe(200);
  });
});

it('describes itself in llms.txt', async () => {
  const { body, headers } = await docs.get('/llms.txt');
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(body).toMatch(/^# Postrider\n\n> /);
  const links = [...body.matchAll(/\]\(https:\/\/mail\.example\.org(\/docs[^)]*)\)/g)];
  expect(links.length).toBeGreaterThan(20);
  for (const [, link = ''] of links) expect((await docs.get(link)).statusCode).toBe(200);
  const full = await docs.get('/llms-full.txt');
  expect(full.body).toContain('# Quickstart');
  expect(full.body).toContain('`POST /api/v1/transactional/send`');
  expect((await docs.get('/docs/llms.txt')).headers.location).toBe('/llms.txt');
});

it('responds with a strict policy, from memory, compressed on request', async () => {
  const plain = await docs.get('/docs/api/sending');
  expect(plain.headers).toMatchObject({
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; style-src 'self'; script-src 'self';/,
    ),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
  });
  expect(plain.headers['content-security-policy']).not.toContain('unsafe');
  const again = await docs.get('/docs/api/sending', {
    'if-none-match': String(plain.headers.etag),
  });
  expect([again.statusCode, again.body]).toEqual([304, '']);
  const small = await docs.get('/docs/api/sending', { 'accept-encoding': 'gzip, br' });
  expect(small.headers['content-encoding']).toBe('gzip');
  expect(small.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5);
  const css = ['tokens.css', 'style.css'].map((file) =>
    readFileSync(path.join(import.meta.dirname, 'assets', file), 'utf8'),
  );
  expect((await docs.get('/docs/style.css')).body).toBe(css.join(''));
});
