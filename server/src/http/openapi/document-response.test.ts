import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { documentResponder } from './document-response.ts';

/** Goal: tools get the document small, once, and from any origin. */

let writes = 0;
const respond = documentResponder(() => {
  writes += 1;
  return '{"openapi":"3.1.0"}';
}, 'application/json');
const get = (headers: Record<string, string>) => respond((name) => headers[name]);

it('compresses with the best coding that the client accepts, and writes the document once', async () => {
  const plain = await get({});
  expect(String(plain.body)).toBe('{"openapi":"3.1.0"}');
  expect(plain.headers).toMatchObject({
    vary: 'accept-encoding',
    'access-control-allow-origin': '*',
  });
  const both = await get({ 'accept-encoding': 'gzip, br' });
  expect(both.headers?.['content-encoding']).toBe('br');
  expect(brotliDecompressSync(both.body as Buffer)).toEqual(plain.body);
  const gzip = await get({ 'accept-encoding': 'gzip, br;q=0' });
  expect(gzip.headers?.['content-encoding']).toBe('gzip');
  expect(gunzipSync(gzip.body as Buffer)).toEqual(plain.body);
  expect(writes).toBe(1);
});

it('answers 304 to a client that has the document', async () => {
  const { etag } = (await get({})).headers as { etag: string };
  const again = await get({ 'if-none-match': `"other", ${etag}`, 'accept-encoding': 'br' });
  expect(again).toMatchObject({ status: 304, headers: { etag } });
  expect(again.body).toBeUndefined();
  expect((await get({ 'if-none-match': '"other"' })).status).toBe(200);
});
