import { expect, test } from 'vitest';
import { reverseName } from './reverse-name.ts';

test.each([
  ['192.0.2.25', '25.2.0.192.in-addr.arpa'],
  ['2001:db8::25', '5.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
])('%s is looked up as %s', (ip, name) => {
  expect(reverseName(ip)).toBe(name);
});
