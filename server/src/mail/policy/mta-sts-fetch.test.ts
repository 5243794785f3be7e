import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startDnsServer } from '../../../test/harness/smtp/dns-server.ts';
import { tlsFixtures } from '../../../test/harness/smtp/tls-fixtures.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { createResolver } from '../dns/resolver.ts';
import { createPolicyFetcher, type FetchPolicySettings } from './mta-sts-fetch.ts';

// Goal: a policy is accepted only from the right host with a valid certificate, and a hostile one
// can neither redirect nor delay us. Method: a real HTTPS server on loopback.

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

test('the policy is fetched from its well-known URL', async () => {
  let requested = '';
  await using web = await rig((request, response) => {
    requested = `${request.method} https://${request.headers.host?.split(':')[0]}${request.url}`;
    serve('version: STSv1\r\n', { 'content-type': 'text/plain; charset=utf-8' })(request, response);
  });
  expect(await web.fetchPolicy('example.test')).toEqual({
    kind: 'fetched',
    text: 'version: STSv1\r\n',
  });
  expect(requested).toBe('GET https://mta-sts.example.test/.well-known/mta-sts.txt');
});

describe('nothing is accepted', () => {
  test.each([
    [
      'a redirect',
      serve('', { location: 'https://elsewhere.test/' }, 302),
      'the response status is 302',
    ],
    [
      'an error',
      serve('version: STSv1', { 'content-type': 'text/plain' }, 404),
      'the response status is 404',
    ],
    [
      'a web page',
      serve('<html>', { 'content-type': 'text/html' }),
      'the content type is text/html',
    ],
    ['an endless file', serve('x'.repeat(70_000)), 'the policy is too long'],
    [
      'a truncated file',
      (request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '99' });
        response.write('version: STSv1', () => request.socket.destroy());
      },
      'aborted',
    ],
    ['a reset connection', (request) => void request.socket.destroy(), 'socket hang up'],
  ] as [string, RequestListener, string][])('from %s', async (_, listener, reason) => {
    await using web = await rig(listener);
    expect(await web.fetchPolicy('example.test')).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining(reason),
    });
  });

  test.each([
    ['for another name', tlsFixtures.wrongName],
    ['expired', tlsFixtures.expired],
    ['of an unknown CA', tlsFixtures.selfSigned],
  ])('over a certificate %s', async (_, certificate) => {
    let reached = false;
    await using web = await rig(() => (reached = true), {}, certificate);
    expect(await web.fetchPolicy('example.test')).toMatchObject({ kind: 'failed' });
    expect(reached).toBe(false);
  });

  test('from a forbidden address', async () => {
    let reached = false;
    await using web = await rig(() => (reached = true), { addressAllowed: () => false });
    expect(await web.fetchPolicy('example.test')).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining('no usable address'),
    });
    expect(reached).toBe(false);
  });

  test('from a host that does not exist', async () => {
    await using web = await rig(serve('version: STSv1'));
    expect(await web.fetchPolicy('other.test')).toMatchObject({ kind: 'failed' });
  });

  test('from a server that does not respond', async () => {
    let requested = false;
    await using web = await rig((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('version:');
      requested = true;
    });
    const pending = web.fetchPolicy('example.test');
    await expect.poll(() => requested).toBe(true);
    web.clock.advance(10_000);
    expect(await pending).toMatchObject({ detail: expect.stringContaining('within 10000 ms') });
  });
});
