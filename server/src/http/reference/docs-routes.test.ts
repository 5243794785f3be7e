import { readFileSync } from 'node:fs';
import path from 'node:path';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { openapiDocument } from '../openapi/openapi-document.ts';
import { createOperations, type RouteDependencies } from '../operations.ts';
import { PROBLEMS } from '../problems/problem-types.ts';
import { registerDocs } from './docs-routes.ts';
import { type ApiDocument, DocumentReader } from './document-reader.ts';
import { referencePage } from './reference-page.ts';

/**
 * Goal: the reference shows everything, has no broken links, makes no request to other hosts,
 * and turns no text into markup. Method: the real document on a real server, and a hostile
 * document.
 */

const BASE_URL = 'https://mail.example.org';

function realDocument(): ApiDocument {
  // The spec of an operation uses no other dependencies.
  const operations = createOperations({ baseUrl: BASE_URL, batchMax: 500 } as RouteDependencies);
  return openapiDocument(operations, {
    baseUrl: BASE_URL,
    version: '1.2.3',
  }) as unknown as ApiDocument;
}

function docsServer(document: ApiDocument = realDocument()) {
  const server = Fastify();
  registerDocs(server, { document: () => document });
  const get = (url: string, headers: Record<string, string> = {}) =>
    server.inject({ method: 'GET', url, headers });
  return { get, [Symbol.asyncDispose]: () => server.close() };
}

const tagsOf = (page: string) => [...page.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>/g)];
const linksOf = (page: string) =>
  [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map((one) => one[1] as string);

describe('the reference', () => {
  it('has a section for every operation and event type, linked from the table of contents', () => {
    const document = realDocument();
    const page = referencePage(new DocumentReader(document));
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(ids.length).toBeGreaterThan(20);
    const events = Object.keys(document.webhooks ?? {}).map(
      (type) => `event-${type.replaceAll(/[._]/g, '-')}`,
    );
    for (const id of [...ids, ...events]) {
      expect(page).toContain(`id="${id}"`);
      expect(page).toContain(`<li><a href="#${id}">`);
    }
  });

  it('has no broken links and no links to other hosts', async () => {
    await using docs = docsServer();
    const seen = new Map<string, string>();
    const ahead = ['/docs'];
    for (let url = ahead.pop(); url !== undefined; url = ahead.pop()) {
      if (seen.has(url)) continue;
      const response = await docs.get(url);
      expect([url, response.statusCode]).toEqual([url, 200]);
      seen.set(url, response.body);
      if (!String(response.headers['content-type']).startsWith('text/html')) continue;
      for (const link of linksOf(response.body)) {
        const [place = '', anchor] = link.split('#');
        expect(link).toMatch(/^(#|\/docs|\/app(\/api-keys)?$|\/api\/v1\/openapi\.)/);
        if (place.startsWith('/docs')) ahead.push(place);
        if (anchor !== undefined && anchor !== 'main') {
          const target =
            place === '' ? response.body : (seen.get(place) ?? (await docs.get(place)).body);
          expect(target).toContain(`id="${anchor}"`);
        }
      }
    }
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining([
        '/docs/style.css',
        '/docs/before-paint.js',
        '/docs/script.js',
        '/docs/icon.svg',
        '/docs/errors',
      ]),
    );
    expect(seen.get('/docs/style.css')).not.toMatch(/url\(|@import/);
    expect(seen.get('/docs/script.js')).not.toMatch(/fetch\(|import[ (]|XMLHttpRequest|https?:/);
  });

  it('closes every element and has no duplicate ids', () => {
    const page = referencePage(new DocumentReader(realDocument()));
    const open: string[] = [];
    for (const [, closing, name = ''] of tagsOf(page)) {
      if (['meta', 'link', 'input', 'img', 'wbr'].includes(name)) continue;
      if (closing === '/') expect(open.pop()).toBe(name);
      else open.push(name);
    }
    expect(open).toEqual([]);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('never turns text into markup', () => {
    const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;
    // Every text of the document at any depth, except keys and references.
    const poisoned = JSON.parse(JSON.stringify(realDocument()), (key, value: unknown) =>
      typeof value === 'string' && !['$ref', 'type', 'in', 'operationId', 'format'].includes(key)
        ? value + evil
        : value,
    ) as ApiDocument;
    const renamed = poisoned.tags.map((tag) => tag.name);
    expect(renamed[0]).toContain('<script>');
    poisoned.paths[`/api/v1/${evil}/{${evil}}`] = {
      get: { operationId: 'evil', tags: [renamed[0] as string], summary: evil, responses: {} },
    };
    const clean = new Set(
      tagsOf(referencePage(new DocumentReader(realDocument()))).map((tag) => tag[2]),
    );
    const page = referencePage(new DocumentReader(poisoned));
    expect(new Set(tagsOf(page).map((tag) => tag[2]))).toEqual(clean);
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(page.match(/<img/g)).toHaveLength(1);
    expect(page).not.toMatch(/<[^>]*\sonerror/);
  });
});

describe('error pages', () => {
  it.each(Object.entries(PROBLEMS))('%s', async (code, { status, title }) => {
    await using docs = docsServer();
    const response = await docs.get(`/docs/errors/${code.replaceAll('_', '-')}`);
    expect(response.statusCode).toBe(200);
    expect(response.body).toContain(`<code>${code}</code>`);
    expect(response.body).toContain(`<span class="status bad">${status}</span>`);
    expect(response.body).toContain(title.replaceAll("'", '&#39;'));
  });

  it('returns 404 for unknown codes', async () => {
    await using docs = docsServer();
    const response = await docs.get('/docs/errors/no-such-code');
    expect(response.statusCode).toBe(404);
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(response.body).not.toContain('no-such-code');
  });
});

it('responds with a strict policy, from memory, compressed on request', async () => {
  await using docs = docsServer();
  const plain = await docs.get('/docs');
  expect(plain.headers).toMatchObject({
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; style-src 'self'; script-src 'self';/,
    ),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
  });
  expect(plain.headers['content-security-policy']).not.toContain('unsafe');
  expect(plain.body).not.toMatch(/<style|style=|\son[a-z]+=/);
  const again = await docs.get('/docs', { 'if-none-match': String(plain.headers.etag) });
  expect([again.statusCode, again.body]).toEqual([304, '']);
  const small = await docs.get('/docs', { 'accept-encoding': 'gzip, br' });
  expect(small.headers['content-encoding']).toBe('gzip');
  expect(small.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5);
  const css = ['tokens.css', 'style.css'].map((file) =>
    readFileSync(path.join(import.meta.dirname, 'assets', file), 'utf8'),
  );
  expect((await docs.get('/docs/style.css')).body).toBe(css.join(''));
});
