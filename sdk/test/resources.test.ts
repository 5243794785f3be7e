import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Postrider } from '../src/index.ts';
import type { Caller } from '../src/resource-caller.ts';
import { createResources } from '../src/resources.generated.ts';

const KEY = 'pr_test_0123456789abcdefghijABCDEFGHIJ01234567';
const DOCUMENT = path.resolve(import.meta.dirname, '../../openapi.json');

test('every operation that a key can call has one method', () => {
  const called: string[] = [];
  const record = (method: string, url: string) => void called.push(`${method} /api/v1${url}`);
  const caller = { request: record, response: record, all: (url: string) => record('GET', url) };
  for (const resource of Object.values(createResources(caller as unknown as Caller))) {
    for (const method of Object.values(resource) as ((...args: object[]) => unknown)[])
      method({}, {});
  }
  const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string; security?: object[] }>>;
  };
  const byHand = ['streamEvents', 'waitForTestMessage'];
  const documented = Object.entries(paths).flatMap(([url, operations]) =>
    Object.entries(operations)
      .filter(([, { operationId }]) => url.startsWith('/api/v1/') && !byHand.includes(operationId))
      .filter(
        ([, { security }]) => security === undefined || security.some((one) => !('session' in one)),
      )
      .map(([method]) => `${method.toUpperCase()} ${url}`),
  );
  expect(called.sort()).toEqual(documented.sort());
});

test('the README names every resource', () => {
  const readme = readFileSync(path.resolve(import.meta.dirname, '../README.md'), 'utf8');
  const [, listed = ''] = /^The resources are (.*?)\. /m.exec(readme) ?? [];
  const named = [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual(Object.keys(createResources({} as Caller)).sort());
});

test('methods send the path, the query and the body, and use the environment', async () => {
  const requests: { method: string | undefined; url: string; body: unknown; key: string | null }[] =
    [];
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const { method, body, headers } = init;
    const key = new Headers(headers).get('authorization');
    requests.push({ method, url: String(url), body, key });
    return Response.json({ data: [{ version: 2 }], next_cursor: null });
  };
  const before = { ...process.env };
  Object.assign(process.env, { POSTRIDER_URL: 'https://mail.example.com', POSTRIDER_API_KEY: KEY });
  const postrider = new Postrider({ fetch });
  process.env = before;
  await postrider.templates.publish('a/b', { note: 'Why' });
  for await (const { version } of postrider.templates.listVersions('welcome', { limit: 5 })) {
    expect(version).toBe(2);
  }
  expect((await postrider.messages.export({ format: 'csv' })).status).toBe(200);
  const url = 'https://mail.example.com/api/v1';
  const key = `Bearer ${KEY}`;
  expect(requests).toEqual([
    { method: 'POST', url: `${url}/templates/a%2Fb/publish`, body: '{"note":"Why"}', key },
    { method: 'GET', url: `${url}/templates/welcome/versions?limit=5`, body: undefined, key },
    { method: 'GET', url: `${url}/messages/export?format=csv`, body: undefined, key },
  ]);
});
