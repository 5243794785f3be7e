import { expect, test } from 'vitest';
import { directOrigin, proxiedOrigin, TrustedProxies } from './trusted-proxies.ts';

/** Who is believed, and how much. */

test('proxies are known by address and network, in every notation of it', () => {
  const proxies = new TrustedProxies(['10.1.0.0/16', '192.0.2.1', '2001:db8::/32', '::1']);
  const known = ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.1', '2001:DB8::9', '::1'];
  expect(known.filter((ip) => !proxies.include(ip))).toEqual([]);
  const strange = ['10.2.0.1', '192.0.2.2', '2001:db9::1', '::2', '127.0.0.1', '', 'unknown'];
  expect(strange.filter((ip) => proxies.include(ip))).toEqual([]);
  expect(new TrustedProxies([]).include('127.0.0.1')).toBe(false);
});

test('the client that a proxy tells is the source, and both are on the way', () => {
  expect(directOrigin('203.0.113.7')).toEqual({ ip: '203.0.113.7', way: ['203.0.113.7'] });
  const origin = proxiedOrigin('127.0.0.1', '203.0.113.7');
  expect(origin).toEqual({ ip: '203.0.113.7', way: ['127.0.0.1', '203.0.113.7'] });
});

test('this machine is one of its own addresses told by itself, and never by another', () => {
  expect(proxiedOrigin('::1', '127.0.0.1')).toEqual({ ip: '127.0.0.1', way: ['::1', '127.0.0.1'] });
  for (const near of ['127.0.0.1', '127.8.8.8', '::1', undefined]) {
    expect(proxiedOrigin('10.0.0.5', near)).toEqual({
      ip: '10.0.0.5',
      way: ['10.0.0.5', 'unknown'],
    });
  }
  expect(proxiedOrigin('127.0.0.1', undefined).way).toContain('unknown');
});
