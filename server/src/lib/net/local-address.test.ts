import { expect, test } from 'vitest';
import { isOwnListener } from './local-address.ts';

test('recognizes an address and port of our own listeners in every notation', () => {
  const at = (address: string, port = 2525) => [{ address, port, family: 'IPv4' }];
  expect(isOwnListener(at('127.0.0.1'), '127.0.0.1', 2525)).toBe(true);
  expect(isOwnListener(at('127.0.0.1'), '::ffff:127.0.0.1', 2525)).toBe(true);
  expect(isOwnListener(at('127.0.0.1'), '127.0.0.1', 25)).toBe(false);
  expect(isOwnListener(at('127.0.0.1'), '127.0.0.2', 2525)).toBe(false);
  expect(isOwnListener(at('0.0.0.0'), '127.0.0.1', 2525)).toBe(true);
  expect(isOwnListener(at('::'), '127.0.0.1', 2525)).toBe(true);
  expect(isOwnListener(at('0.0.0.0'), '::1', 2525)).toBe(false);
  expect(isOwnListener(at('0.0.0.0'), '192.0.2.1', 2525)).toBe(false);
  expect(isOwnListener([], '127.0.0.1', 2525)).toBe(false);
});
