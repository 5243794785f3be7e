import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ProxyHeader, parseProxyHeader } from './proxy-protocol.ts';

/** Headers of proxies, whole, cut into pieces, and wrong in every way that must not be believed. */

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';

function read(text: string | Buffer): ProxyHeader {
  return parseProxyHeader(Buffer.from(text as string, 'latin1'));
}

function block(version: number, family: number, rest: number[], told = rest.length): Buffer {
  const head = [version, family, told >> 8, told & 0xff];
  return Buffer.concat([Buffer.from(SIGNATURE, 'latin1'), Buffer.from([...head, ...rest])]);
}

const PORTS = [0xd9, 0x03, 0x0a, 0x1b];
const V4 = [203, 0, 113, 7, 192, 0, 2, 1, ...PORTS];
const V6 = [0x20, 0x01, 0x0d, 0xb8, ...Array(11).fill(0), 7, ...Array(16).fill(1), ...PORTS];
const TLV = [0x04, 0, 2, 0xff, 0xff];
/** As HAProxy adds it: flags, the certificate's verdict, and the version of TLS inside. */
const VERSION = [0x21, 0, 7, ...Buffer.from('TLSv1.3')];
const ssl = (flags: number): number[] => [0x20, 0, 15, flags, 0, 0, 0, 1, ...VERSION];

const GOOD: [string, string | Buffer, string | undefined][] = [
  ['a line for IPv4', 'PROXY TCP4 203.0.113.7 192.0.2.1 55555 465\r\n', '203.0.113.7'],
  ['a line for IPv6', 'PROXY TCP6 2001:DB8::7 2001:db8::1 1 65535\r\n', '2001:db8::7'],
  ['an IPv4 address in IPv6', 'PROXY TCP6 ::ffff:127.0.0.1 ::1 1 2\r\n', '127.0.0.1'],
  ['a line without a client', 'PROXY UNKNOWN\r\n', undefined],
  ['a line that cannot tell', `PROXY UNKNOWN ${'f'.repeat(90)}\r\n`, undefined],
  ['a block for IPv4', block(0x21, 0x11, V4), '203.0.113.7'],
  ['a block for IPv6', block(0x21, 0x21, V6), '2001:db8::7'],
  ['a block with additions', block(0x21, 0x11, [...V4, ...TLV]), '203.0.113.7'],
  ['a block of the proxy itself', block(0x20, 0x00, []), undefined],
  ['a block of the proxy itself with addresses', block(0x20, 0x11, V4), undefined],
  ['a block that does not tell', block(0x21, 0x00, []), undefined],
  ['a block for a local socket', block(0x21, 0x31, Array(216).fill(0)), undefined],
];

const ENCRYPTED: [string, Buffer, string][] = [
  ['a block of a client with TLS', block(0x21, 0x11, [...V4, ...ssl(0x01)]), '203.0.113.7'],
  ['with other additions', block(0x21, 0x21, [...V6, ...TLV, ...ssl(0x07), ...TLV]), '2001:db8::7'],
  [
    'with nothing more about TLS',
    block(0x21, 0x11, [...V4, 0x20, 0, 5, 1, 0, 0, 0, 0]),
    '203.0.113.7',
  ],
];

/** What might be taken for it, and is not. */
const NOT_ENCRYPTED: [string, Buffer, string | undefined][] = [
  ['a block of a client without TLS', block(0x21, 0x11, [...V4, ...ssl(0x00)]), '203.0.113.7'],
  ['only a certificate', block(0x21, 0x11, [...V4, ...ssl(0x06)]), '203.0.113.7'],
  ['two that disagree', block(0x21, 0x11, [...V4, ...ssl(1), ...ssl(0)]), '203.0.113.7'],
  ['two that disagree again', block(0x21, 0x11, [...V4, ...ssl(0), ...ssl(1)]), '203.0.113.7'],
  ['it inside another addition', block(0x21, 0x11, [...V4, 0x04, 0, 18, ...ssl(1)]), '203.0.113.7'],
  ['TLS of the proxy itself', block(0x20, 0x11, [...V4, ...ssl(1)]), undefined],
  ['TLS of nobody', block(0x21, 0x00, ssl(1)), undefined],
];

const WHOLE = [
  ...[...GOOD, ...NOT_ENCRYPTED].map((one) => [...one, false] as const),
  ...ENCRYPTED.map((one) => [...one, true] as const),
];

describe.each(WHOLE)('%s', (_name, header, client, encrypted) => {
  const whole = Buffer.from(header as string, 'latin1');

  test('is read, and what follows is left', () => {
    const found = { kind: 'header', told: { client, encrypted }, bytes: whole.length };
    expect(read(whole)).toEqual(found);
    expect(read(Buffer.concat([whole, Buffer.from('EHLO x\r\n')]))).toEqual(found);
  });

  test('is not believed before its last byte', () => {
    for (let end = 0; end < whole.length; end++) {
      expect(read(whole.subarray(0, end))).toEqual({ kind: 'incomplete' });
    }
  });
});

test.each([
  ['no header', 'EHLO client.example\r\n'],
  ['a handshake', Buffer.from([0x16, 0x03, 0x01])],
  ['another word', 'PROXX'],
  ['small letters', 'proxy TCP4 203.0.113.7 192.0.2.1 1 2\r\n'],
  ['no address', 'PROXY TCP4\r\n'],
  ['an address of the other family', 'PROXY TCP4 ::1 ::1 1 2\r\n'],
  ['an address that is none', 'PROXY TCP4 203.0.113.256 192.0.2.1 1 2\r\n'],
  ['an address in another notation', 'PROXY TCP4 0177.0.0.1 192.0.2.1 1 2\r\n'],
  ['an address with a zone', 'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n'],
  ['a name', 'PROXY TCP4 localhost 192.0.2.1 1 2\r\n'],
  ['a port beyond', 'PROXY TCP4 203.0.113.7 192.0.2.1 65536 2\r\n'],
  ['a port with zeros', 'PROXY TCP4 203.0.113.7 192.0.2.1 01 2\r\n'],
  ['two blanks', 'PROXY TCP4  203.0.113.7 192.0.2.1 1 2\r\n'],
  ['more than there is', 'PROXY TCP4 203.0.113.7 192.0.2.1 1 2 3\r\n'],
  ['another transport', 'PROXY UDP4 203.0.113.7 192.0.2.1 1 2\r\n'],
  ['a line break in it', 'PROXY TCP4 203.0.113.7\n192.0.2.1 1 2\r\n'],
  ['a bare end', `PROXY TCP4 203.0.113.7 192.0.2.1 1 2\n${' '.repeat(107)}`],
  ['a line that is too long', `PROXY UNKNOWN ${'x'.repeat(92)}\r\n`],
  ['a line without end', `PROXY ${'x'.repeat(200)}`],
  ['a signature with a fault', `${SIGNATURE.slice(0, 10)}XX`],
  ['another version', block(0x11, 0x11, V4)],
  ['another command', block(0x22, 0x11, V4)],
  ['datagrams', block(0x21, 0x12, V4)],
  ['an unknown family', block(0x21, 0x41, V4)],
  ['fewer bytes than its addresses', block(0x21, 0x21, V4)],
  ['an addition without a length', block(0x21, 0x11, [...V4, 0x20, 0])],
  ['an addition that goes on beyond', block(0x21, 0x11, [...V4, 0x04, 0, 3, 0xff, 0xff])],
  ['one that begins beyond', block(0x21, 0x11, [...V4, 0x04, 0xff, 0xff, ...ssl(1)])],
  ['too few bytes about TLS', block(0x21, 0x11, [...V4, 0x20, 0, 4, 1, 0, 0, 0])],
  ['none about TLS', block(0x21, 0x11, [...V4, 0x20, 0, 0])],
  ['a cut addition behind TLS', block(0x21, 0x11, [...V4, ...ssl(1), 0x04])],
  ['more bytes than are taken', block(0x21, 0x11, V4, 0xffff)],
])('%s is refused', (_name, header) => {
  expect(read(header)).toEqual({ kind: 'invalid', detail: expect.any(String) });
});

test('whatever comes, it answers, and never reads beyond what is there', () => {
  const begins = fc.constantFrom('', 'PROXY ', 'PROXY TCP4 ', SIGNATURE);
  fc.assert(
    fc.property(begins, fc.uint8Array({ maxLength: 300 }), (start, bytes) => {
      const data = Buffer.concat([Buffer.from(start, 'latin1'), bytes]);
      const header = parseProxyHeader(data);
      if (header.kind === 'header') expect(header.bytes).toBeLessThanOrEqual(data.length);
    }),
  );
});
