import { expect, test } from 'vitest';
import { IpRanges } from './ip-ranges.ts';

test('matches addresses and networks in every notation', () => {
  const networks = new IpRanges(['10.1.0.0/16', '192.0.2.1', '2001:db8::/32', '::1']);
  const known = ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.1', '2001:DB8::9', '::1'];
  expect(known.filter((ip) => !networks.includes(ip))).toEqual([]);
  expect(new IpRanges(['::ffff:10.0.0.0/104']).includes('10.9.9.9')).toBe(true);
  const strange = ['10.2.0.1', '192.0.2.2', '2001:db9::1', '::2', '127.0.0.1', '', 'unknown'];
  expect(strange.filter((ip) => networks.includes(ip))).toEqual([]);
  expect(new IpRanges([]).includes('127.0.0.1')).toBe(false);
});
