import { expect, test } from 'vitest';
import { directOrigin, proxiedOrigin } from './client-origin.ts';

/** How far the information of a proxy is trusted. */

test('the proxied client is the origin, and both addresses are hops', () => {
  const direct = directOrigin('203.0.113.7');
  expect(direct).toEqual({ ip: '203.0.113.7', hops: ['203.0.113.7'], encrypted: false });
  for (const encrypted of [true, false]) {
    const origin = proxiedOrigin('127.0.0.1', { ip: '203.0.113.7', encrypted });
    expect(origin).toEqual({ ip: '203.0.113.7', hops: ['127.0.0.1', '203.0.113.7'], encrypted });
  }
});

test('a loopback client counts as local only behind a proxy on this machine', () => {
  const by = (peer: string, client: string | undefined) =>
    proxiedOrigin(peer, { ip: client, encrypted: false });
  expect(by('::1', '127.0.0.1')).toMatchObject({ ip: '127.0.0.1', hops: ['::1', '127.0.0.1'] });
  for (const near of ['127.0.0.1', '127.8.8.8', '::1', undefined]) {
    expect(by('10.0.0.5', near)).toMatchObject({
      ip: '10.0.0.5',
      hops: ['10.0.0.5', 'unknown'],
    });
  }
  expect(by('127.0.0.1', undefined).hops).toContain('unknown');
});
