import { expect, test } from 'vitest';
import { isOwnPlace } from './local-listeners.ts';

test('an address and a port on which we listen, whatever the way it is written', () => {
  const at = (address: string, port = 2525) => [{ address, port, family: 'IPv4' }];
  expect(isOwnPlace(at('127.0.0.1'), '127.0.0.1', 2525)).toBe(true);
  expect(isOwnPlace(at('127.0.0.1'), '::ffff:127.0.0.1', 2525)).toBe(true);
  expect(isOwnPlace(at('127.0.0.1'), '127.0.0.1', 25)).toBe(false);
  expect(isOwnPlace(at('127.0.0.1'), '127.0.0.2', 2525)).toBe(false);
  expect(isOwnPlace(at('0.0.0.0'), '127.0.0.1', 2525)).toBe(true);
  expect(isOwnPlace(at('::'), '127.0.0.1', 2525)).toBe(true);
  expect(isOwnPlace(at('0.0.0.0'), '::1', 2525)).toBe(false);
  expect(isOwnPlace(at('0.0.0.0'), '192.0.2.1', 2525)).toBe(false);
  expect(isOwnPlace([], '127.0.0.1', 2525)).toBe(false);
});
