import { expect, test } from 'vitest';
import { changeHeaders, redactHeaders } from './custom-headers.ts';

test('a change sets, replaces case-insensitively, removes, and keeps the rest', () => {
  const before = { 'X-Keep': '1', 'X-Change': '2', 'X-Remove': '3' };
  const { headers, errors } = changeHeaders(before, {
    'x-change': ' new ',
    'x-remove': null,
    Authorization: 'Bearer abc',
  });
  expect(errors).toEqual([]);
  expect(headers).toEqual({ 'X-Keep': '1', 'x-change': 'new', Authorization: 'Bearer abc' });
});

test.each([
  ['Host', 'a.example'],
  ['content-length', '5'],
  ['Content-Type', 'text/plain'],
  ['Transfer-Encoding', 'chunked'],
  ['Webhook-Signature', 'v1,forged'],
  ['webhook-id', 'evt_x'],
  ['Connection', 'upgrade'],
  ['User-Agent', 'me'],
  ['Proxy-Authorization', 'x'],
  ['bad name', 'x'],
  ['bad:name', 'x'],
  ['', 'x'],
  ['X-Split', 'a\r\nHost: b'],
  ['X-Nul', 'a\0b'],
  ['X-Latin', 'ü'],
  ['X-Long', 'x'.repeat(2049)],
])('%s: %s is rejected', (name, value) => {
  const { headers, errors } = changeHeaders({}, { [name]: value });
  expect(headers).toEqual({});
  expect(errors).toHaveLength(1);
  expect(errors[0]?.code).toBe('invalid_header');
});

test('allows at most twenty headers', () => {
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`X-${n}`, 'v']));
  expect(changeHeaders({}, many).errors).toMatchObject([{ pointer: '/headers' }]);
});

test('values are redacted', () => {
  expect(redactHeaders({ 'X-Api-Key': 'secret' })).toEqual({ 'X-Api-Key': '[hidden]' });
});
