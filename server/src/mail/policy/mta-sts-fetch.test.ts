import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { startDnsServer } from '../../../test/harness/dns-server.ts';
import { tlsFixtures } from '../../../test/harness/tls-fixtures.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { createResolver } from '../dns/resolver.ts';
import { createPolicyFetcher, type FetchPolicySettings } from './mta-sts-fetch.ts';

// Goal: a policy file comes only from the right host with the right certificate, and a hostile one
// can neither lead us elsewhere nor hold us. Method: a real HTTPS server on loopback.

async function rig(
  listener: RequestListener,
  settings: Partial<FetchPolicySettings> = {},
  certificate: ServerOptions = tlsFixtures.good,
) {
  const server = createServer(certificate, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dns = await startDnsServer({ 'mta-sts.example.test': { A: ['127.0.0.1'] } });
  const clock = new ManualClock(0);
  const fetchPolicy = createPolicyFetcher({
    resolver: createResolver({ servers: [dns.address], clock }),
    clock,
    addressAllowed: () => true,
    port: (server.address() as AddressInfo).port,
    ca: tlsFixtures.authority,
    ...settings,
  });
  return {
    fetchPolicy,
    clock,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await dns[Symbol.asyncDispose]();
    },
  };
}

const serve =
  (
    body: string,
    headers: Record<string, string> = { 'content-type': 'text/plain' },
    status = 200,
  ): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

test('the file is fetched from its well-known place', async () => {
  let asked = '';
  await using web = await rig((request, response) => {
    asked = `${request.method} https://${request.headers.host?.split(':')[0]}${request.url}`;
    serve('version: STSv1\r\n', { 'content-type': 'text/plain; charset=utf-8' })(request, response);
  });
  expect(await web.fetchPolicy('example.test')).toEqual({
    kind: 'fetched',
    text: 'version: STSv1\r\n',
  });
  expect(asked).toBe('GET https://mta-sts.example.test/.well-known/mta-sts.txt');
});

describe('nothing is taken', () => {
  test.each([
    ['a redirect', serve('', { location: 'https://elsewhere.test/' }, 302), 'the status is 302'],
    [
      'an error',
      serve('version: STSv1', { 'content-type': 'text/plain' }, 404),
      'the status is 404',
    ],
    ['a web page', serve('<html>', { 'content-type': 'text/html' }), 'the type is text/html'],
    ['an endless file', serve('x'.repeat(70_000)), 'it is too long'],
    [
      'a file cut short',
      (request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '99' });
        response.write('version: STSv1', () => request.socket.destroy());
      },
      'aborted',
    ],
    ['a cut connection', (request) => void request.socket.destroy(), 'socket hang up'],
  ] as [string, RequestListener, string][])('from %s', async (_, listener, reason) => {
    await using web = await rig(listener);
    expect(await web.fetchPolicy('example.test')).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining(reason),
    });
  });

  test.each([
    ['for another name', tlsFixtures.wrongName],
    ['out of date', tlsFixtures.expired],
    ['of no authority', tlsFixtures.selfSigned],
  ])('over a certificate %s', async (_, certificate) => {
    let reached = false;
    await using web = await rig(() => (reached = true), {}, certificate);
    expect(await web.fetchPolicy('example.test')).toMatchObject({ kind: 'failed' });
    expect(reached).toBe(false);
  });

  test('from an address that we may not connect to', async () => {
    let reached = false;
    await using web = await rig(() => (reached = true), { addressAllowed: () => false });
    expect(await web.fetchPolicy('example.test')).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining('no address that we may use'),
    });
    expect(reached).toBe(false);
  });

  test('from a host that does not exist', async () => {
    await using web = await rig(serve('version: STSv1'));
    expect(await web.fetchPolicy('other.test')).toMatchObject({ kind: 'failed' });
  });

  test('from a server that keeps us waiting', async () => {
    let asked = false;
    await using web = await rig((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('version:');
      asked = true;
    });
    const pending = web.fetchPolicy('example.test');
    await vi.waitUntil(() => asked);
    web.clock.advance(10_000);
    expect(await pending).toMatchObject({ detail: expect.stringContaining('within 10000 ms') });
  });
});
