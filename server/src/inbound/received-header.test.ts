import { expect, test } from 'vitest';
import { countReceived, type MailClient, receivedHeader } from './received-header.ts';

const BY = { hostname: 'mx.example.org', id: 'inm_1', recipients: ['a@b.example'], atMs: 0 };
const header = (client: Partial<MailClient>, more: Partial<typeof BY> = {}) =>
  receivedHeader(
    { ip: '192.0.2.7', helo: 'mx.example.net', protocol: 'ESMTPS', ...client },
    { ...BY, ...more },
  ).toString();

test('the field names client, server, protocol, recipient and time', () => {
  expect(header({})).toBe(
    'Received: from mx.example.net ([192.0.2.7])\r\n' +
      '\tby mx.example.org with ESMTPS id inm_1 for <a@b.example>;\r\n' +
      '\tThu, 01 Jan 1970 00:00:00 +0000\r\n',
  );
  expect(header({ ip: '2001:db8::7' })).toContain('([IPv6:2001:db8::7])');
  expect(header({}, { recipients: ['a@b.example', 'c@d.example'] })).not.toContain('for <');
});

test('nothing that the client says becomes another part of the field', () => {
  for (const helo of ['x;y', 'a(b', 'a>b', 'é', 'a"b', '']) {
    expect(header({ helo })).toContain('from unknown (');
  }
  expect(header({ helo: '[192.0.2.7]' })).toContain('from [192.0.2.7] (');
  expect(header({}, { recipients: ['"a;b>"@b.example'] })).not.toContain('for <');
});

test('only fields in the header count as servers', () => {
  const count = (text: string) => countReceived(Buffer.from(text.replaceAll('\n', '\r\n')));
  expect(count('Received: a\nRECEIVED : b\n c\nX-Received: d\n\nReceived: e\n')).toBe(2);
  expect(count('\nReceived: a\n')).toBe(0);
  expect(count('Received: a')).toBe(1);
});
