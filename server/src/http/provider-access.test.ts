import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTargetGuard } from '../webhooks/requests/target-guard.ts';
import { createProviderAccess } from './provider-access.ts';

/** A workspace must not make the server talk to its own network; the operator may. */

const server = createServer((request, response) => {
  if (request.url === '/large') response.end(Buffer.alloc(2 * 1024 * 1024));
  else response.setHeader('content-type', 'application/json').end('{"ok":true}');
});
let url: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

function accessWith(allowPrivate: boolean) {
  const resolver = { lookup: async () => ({ kind: 'absent' as const }) };
  const guard = createTargetGuard({ resolver: resolver as never, allowPrivate });
  return createProviderAccess({ guard, rules: { allowPrivate, portAllowed: () => true } });
}

const GET = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const;

test('a provider of a workspace in a private network is refused', async () => {
  const { fetch, allowsHttp } = accessWith(false)('workspace');
  expect(allowsHttp).toBe(false);
  await expect(fetch(url, GET)).rejects.toThrow(TypeError);
  await expect(fetch('https://localhost/', GET)).rejects.toThrow(TypeError);
});

test('responses are passed on, up to a size', async () => {
  const { fetch } = accessWith(true)('workspace');
  expect(await (await fetch(url, GET)).json()).toEqual({ ok: true });
  await expect(fetch(`${url}/large`, GET)).rejects.toThrow(TypeError);
});

test('the operator may choose a provider in a private network', async () => {
  const { fetch } = accessWith(false)('server');
  expect(await (await fetch(url, GET)).json()).toEqual({ ok: true });
});
