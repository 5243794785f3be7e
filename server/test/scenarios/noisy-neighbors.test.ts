import net from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse, validMessage } from '../harness/app.ts';

/**
 * One workspace does its worst, and its neighbors are served meanwhile. The tests compare the order in
 * which requests are answered instead of measuring time; `npm run bench noisy-neighbor` measures it.
 */

const KIB = 1024;
const BODY_BYTES_MAX = 2_000 * KIB;
const BUFFER_BYTES_MAX = 4_000 * KIB;

let app: TestApp;
let neighborKey: string;

beforeAll(async () => {
  app = await startApp({
    env: {
      ROLES: 'api',
      REQUEST_BODY_MAX_BYTES: String(BODY_BYTES_MAX),
      REQUEST_BUFFER_MAX_BYTES: String(BUFFER_BYTES_MAX),
    },
  });
  const neighbor = await app.app.workspaces.create('Neighbor');
  neighborKey = await app.newKey({ workspaceId: neighbor.id });
});
afterAll(() => app[Symbol.asyncDispose]());

test('slow uploads fill only half of the memory for requests, and give it back', async () => {
  const uploads = await Promise.all(
    Array.from({ length: 20 }, () => slowUpload(app.testKey, 300 * KIB)),
  );
  await expect.poll(buffered).toBeGreaterThan(BUFFER_BYTES_MAX / 2 - 400 * KIB);
  expect(await buffered()).toBeLessThanOrEqual(BUFFER_BYTES_MAX / 2);

  const own = await send(app.testKey, 300 * KIB);
  expect([own.status, own.json.code]).toEqual([503, 'overloaded']);
  expect(own.headers.get('retry-after')).toBe('1');
  expect((await send(app.testKey, 1)).status).toBe(202);
  expect((await send(neighborKey, 1_000 * KIB)).status).toBe(202);
  expect((await send(neighborKey, 1)).status).toBe(202);

  for (const upload of uploads) upload.destroy();
  await expect.poll(buffered).toBe(0);
  expect((await send(app.testKey, 300 * KIB)).status).toBe(202);
  await expect.poll(buffered).toBe(0);
});

test('a body is not read before its sender is known', async () => {
  const upload = await slowUpload('pr_test_unknown', 300 * KIB);
  const answer = await new Promise<string>((resolve) => {
    upload.once('data', (chunk) => resolve(chunk.toString()));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expect(await buffered()).toBe(0);
  upload.destroy();
});

test('anonymous clients share the memory by address', async () => {
  const uploads = await Promise.all(
    Array.from({ length: 200 }, () => slowUpload(null, 60 * KIB, '/api/v1/session')),
  );
  await expect.poll(buffered).toBeGreaterThan(BUFFER_BYTES_MAX / 2 - 100 * KIB);
  expect(await buffered()).toBeLessThanOrEqual(BUFFER_BYTES_MAX / 2);
  expect((await send(neighborKey, 1_000 * KIB)).status).toBe(202);
  for (const upload of uploads) upload.destroy();
  await expect.poll(buffered).toBe(0);
});

function send(key: string, htmlBytes: number): Promise<TestResponse> {
  const body = validMessage({ html: 'x'.repeat(htmlBytes) });
  return app.call('POST', '/transactional/send', { key, body });
}

async function buffered(): Promise<number> {
  const metrics = await fetch(`${app.url}/metrics`).then((response) => response.text());
  return Number(/^postrider_request_buffer_bytes (\d+)$/m.exec(metrics)?.[1]);
}

/** Sends all but the last byte. */
async function slowUpload(
  key: string | null,
  bytes: number,
  path = '/api/v1/transactional/send',
): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(app.url).port), '127.0.0.1');
  socket.on('error', () => {});
  const authorization =
    key === null ? 'Postrider-Mode: test\r\n' : `Authorization: Bearer ${key}\r\n`;
  const head =
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization}` +
    `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  await new Promise<void>((resolve) => {
    socket.write(head + ' '.repeat(bytes - 1), () => resolve());
  });
  return socket;
}
