import { expect, test } from 'vitest';
import { clientNetwork, isLoopback } from './client-network.ts';

test('an IPv4 address is its own network, IPv4-mapped or not', () => {
  expect(clientNetwork('192.0.2.1')).toBe('192.0.2.1');
  expect(clientNetwork('::ffff:192.0.2.1')).toBe('192.0.2.1');
});

test('an IPv6 address belongs to its /64 network', () => {
  expect(clientNetwork('2001:db8:1:2::1')).toBe(clientNetwork('2001:db8:1:2:ffff::9'));
  expect(clientNetwork('2001:db8:1:2::1')).not.toBe(clientNetwork('2001:db8:1:3::1'));
});

test('text that is not an address shares one network', () => {
  expect(clientNetwork('')).toBe('unknown');
  expect(clientNetwork('localhost')).toBe('unknown');
});

test('recognizes loopback addresses', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(isLoopback)).toBe(true);
  expect(['192.0.2.1', '2001:db8::1', 'localhost', ''].some(isLoopback)).toBe(false);
});
