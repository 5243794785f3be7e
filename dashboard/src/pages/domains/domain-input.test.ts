import { expect, test } from 'vitest';
import { domainIn } from './domain-input.ts';

test.each([
  ['acme.example', 'acme.example'],
  ['  mail.acme.example ', 'mail.acme.example'],
  ['https://www.acme.example/shop?a=b#c', 'acme.example'],
  ['http://acme.example:8080', 'acme.example'],
  ['Jane@acme.example', 'acme.example'],
  ['www.acme.example', 'acme.example'],
  ['www.example', 'www.example'],
  ['not a domain', 'not a domain'],
  ['', ''],
])('the domain in “%s” is “%s”', (text, domain) => {
  expect(domainIn(text)).toBe(domain);
});
