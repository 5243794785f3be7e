import { text } from 'node:stream/consumers';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { exportOperation } from './export-operation.ts';
import { closed, PAGE } from './openapi/shared-schemas.ts';
import { operation } from './operation.ts';
import type { AnyRequest } from './server/call-operation.ts';
import { LargeResponseLimiter } from './server/large-response-limiter.ts';

/** A list of the numbers from 1 to 5, two on a page, of which a page may be empty. */

const PAGES = [[1, 2], [], [3, 4], [5]];

function exportNumbers(failAt?: number) {
  const requests: { query: unknown; signal: AbortSignal }[] = [];
  const list = operation(
    {
      id: 'listNumbers',
      method: 'GET',
      path: '/numbers',
      tag: 'Service',
      summary: 'List numbers',
      scope: 'any',
      query: closed({ ...PAGE, above: Type.Optional(Type.String()) }),
      responses: {},
    },
    ({ query, signal }) => {
      for (const earlier of requests) expect(earlier.signal.aborted).toBe(true);
      requests.push({ query, signal });
      const at = Number(query.cursor ?? 0);
      if (at === failAt) throw new Error('no storage');
      const next_cursor = at + 1 < PAGES.length ? String(at + 1) : null;
      return { status: 200, body: { data: PAGES[at], next_cursor } };
    },
  );
  const exported = exportOperation<number>(list, new LargeResponseLimiter(), {
    id: 'exportNumbers',
    summary: 'Export numbers',
    items: 'numbers',
    schema: Type.Integer(),
    columns: ['number', 'half'],
    toCells: (number) => [[number, number / 2]],
  });
  const run = async (query: object) => {
    const request = { caller: { workspaceId: 'w' }, query, signal: new AbortController().signal };
    return await exported.handle(request as unknown as AnyRequest);
  };
  return { exported, run, requests };
}

test('all pages of the list become one file, with its filters', async () => {
  const { run, requests } = exportNumbers();
  const { body, mediaType, headers } = await run({ above: '0' });
  expect(await text(body as AsyncIterable<string>)).toBe('1\n2\n3\n4\n5\n');
  expect(mediaType).toMatch(/^application\/x-ndjson/);
  expect(headers?.['content-disposition']).toBe('attachment; filename="numbers.ndjson"');
  expect(requests.map(({ query }) => query)).toEqual([
    { above: '0', limit: 100 },
    ...['1', '2', '3'].map((cursor) => ({ above: '0', limit: 100, cursor })),
  ]);
});

test('CSV has a header, also without items', async () => {
  const { body } = await exportNumbers().run({ format: 'csv' });
  expect(await text(body as AsyncIterable<string>)).toBe(
    'number,half\r\n1,0.5\r\n2,1\r\n3,1.5\r\n4,2\r\n5,2.5\r\n',
  );
});

test('an error of the first page is thrown, that of a later one breaks off the file', async () => {
  await expect(exportNumbers(0).run({})).rejects.toThrow('no storage');
  const { body } = await exportNumbers(2).run({});
  await expect(text(body as AsyncIterable<string>)).rejects.toThrow('no storage');
});

test('pages cannot be selected', () => {
  const { query } = exportNumbers().exported.spec;
  expect(Object.keys((query as { properties: object }).properties)).toEqual(['above', 'format']);
});
