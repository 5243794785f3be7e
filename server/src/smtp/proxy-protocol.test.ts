import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ProxyHeader, parseProxyHeader } from './proxy-protocol.ts';

/** PROXY headers that are complete, split across packets, or invalid. */

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';

function read(text: string | Buffer): ProxyHeader {
  return parseProxyHeader(Buffer.from(text as string, 'latin1'));
}

function block(version: number, family: number, rest: number[], length = rest.length): Buffer {
  const head = [version, family, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(SIGNATURE, 'latin1'), Buffer.from([...head, ...rest])]);
}

const PORTS = [0xd9, 0x03, 0x0a, 0x1b];
const V4 = [203, 0, 113, 7, 192, 0, 2, 1, ...PORTS];
const V6 = [0x20, 0x01, 0x0d, 0xb8, ...Array(11).fill(0), 7, ...Array(16).fill(1), ...PORTS];
const TLV = [0x04, 0, 2, 0xff, 0xff];
/** The TLV that HAProxy adds: flags, certificate verification result, and TLS version. */
const VERSION = [0x21, 0, 7, ...Buffer.from('TLSv1.3')];
const ssl = (flags: number): number[] => [0x20, 0, 15, flags, 0, 0, 0, 1, ...VERSION];

const GOOD: [string, string | Buffer, string | undefined][] = [
  ['v1 IPv4', 'PROXY TCP4 203.0.113.7 192.0.2.1 55555 465\r\n', '203.0.113.7'],
  ['v1 IPv6', 'PROXY TCP6 2001:DB8::7 2001:db8::1 1 65535\r\n', '2001:db8::7'],
  ['v1 IPv4-mapped IPv6', 'PROXY TCP6 ::ffff:127.0.0.1 ::1 1 2\r\n', '127.0.0.1'],
  ['v1 UNKNOWN', 'PROXY UNKNOWN\r\n', undefined],
  ['v1 UNKNOWN with trailing text', `PROXY UNKNOWN ${'f'.repeat(90)}\r\n`, undefined],
  ['v2 IPv4', block(0x21, 0x11, V4), '203.0.113.7'],
  ['v2 IPv6', block(0x21, 0x21, V6), '2001:db8::7'],
  ['v2 with TLVs', block(0x21, 0x11, [...V4, ...TLV]), '203.0.113.7'],
  ['v2 LOCAL', block(0x20, 0x00, []), undefined],
  ['v2 LOCAL with addresses', block(0x20, 0x11, V4), undefined],
  ['v2 UNSPEC', block(0x21, 0x00, []), undefined],
  ['v2 UNIX socket', block(0x21, 0x31, Array(216).fill(0)), undefined],
];

const ENCRYPTED: [string, Buffer, string][] = [
  ['v2 with a TLS client', block(0x21, 0x11, [...V4, ...ssl(0x01)]), '203.0.113.7'],
  [
    'v2 with TLS and other TLVs',
    block(0x21, 0x21, [...V6, ...TLV, ...ssl(0x07), ...TLV]),
    '2001:db8::7',
  ],
  ['v2 with TLS flags only', block(0x21, 0x11, [...V4, 0x20, 0, 5, 1, 0, 0, 0, 0]), '203.0.113.7'],
];

/** Headers that look like TLS but are not. */
const NOT_ENCRYPTED: [string, Buffer, string | undefined][] = [
  ['v2 with a client without TLS', block(0x21, 0x11, [...V4, ...ssl(0x00)]), '203.0.113.7'],
  ['v2 with a client certificate only', block(0x21, 0x11, [...V4, ...ssl(0x06)]), '203.0.113.7'],
  [
    'v2 with contradictory TLS TLVs',
    block(0x21, 0x11, [...V4, ...ssl(1), ...ssl(0)]),
    '203.0.113.7',
  ],
  [
    'v2 with contradictory TLS TLVs in reverse',
    block(0x21, 0x11, [...V4, ...ssl(0), ...ssl(1)]),
    '203.0.113.7',
  ],
  [
    'v2 with a TLS TLV inside another TLV',
    block(0x21, 0x11, [...V4, 0x04, 0, 18, ...ssl(1)]),
    '203.0.113.7',
  ],
  ['v2 LOCAL with TLS', block(0x20, 0x11, [...V4, ...ssl(1)]), undefined],
  ['v2 UNSPEC with TLS', block(0x21, 0x00, ssl(1)), undefined],
];

const WHOLE = [
  ...[...GOOD, ...NOT_ENCRYPTED].map((one) => [...one, false] as const),
  ...ENCRYPTED.map((one) => [...one, true] as const),
];

describe.each(WHOLE)('%s', (_name, header, client, encrypted) => {
  const whole = Buffer.from(header as string, 'latin1');

  test('is parsed, and the bytes after it are kept', () => {
    const found = { kind: 'header', client: { ip: client, encrypted }, bytes: whole.length };
    expect(read(whole)).toEqual(found);
    expect(read(Buffer.concat([whole, Buffer.from('EHLO x\r\n')]))).toEqual(found);
  });

  test('is incomplete until its last byte', () => {
    for (let end = 0; end < whole.length; end++) {
      expect(read(whole.subarray(0, end))).toEqual({ kind: 'incomplete' });
    }
  });
});

test.each([
  ['no header', 'EHLO client.example\r\n'],
  ['a handshake', Buffer.from([0x16, 0x03, 0x01])],
  ['another command', 'PROXX'],
  ['lower case', 'proxy TCP4 203.0.113.7 192.0.2.1 1 2\r\n'],
  ['missing addresses', 'PROXY TCP4\r\n'],
  ['an address of the wrong family', 'PROXY TCP4 ::1 ::1 1 2\r\n'],
  ['an invalid address', 'PROXY TCP4 203.0.113.256 192.0.2.1 1 2\r\n'],
  ['an octal address', 'PROXY TCP4 0177.0.0.1 192.0.2.1 1 2\r\n'],
  ['a scoped address', 'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n'],
  ['a name', 'PROXY TCP4 localhost 192.0.2.1 1 2\r\n'],
  ['a port above 65535', 'PROXY TCP4 203.0.113.7 192.0.2.1 65536 2\r\n'],
  ['a port with leading zeros', 'PROXY TCP4 203.0.113.7 192.0.2.1 01 2\r\n'],
  ['two spaces', 'PROXY TCP4  203.0.113.7 192.0.2.1 1 2\r\n'],
  ['an extra field', 'PROXY TCP4 203.0.113.7 192.0.2.1 1 2 3\r\n'],
  ['another transport', 'PROXY UDP4 203.0.113.7 192.0.2.1 1 2\r\n'],
  ['a line break inside', 'PROXY TCP4 203.0.113.7\n192.0.2.1 1 2\r\n'],
  ['a bare LF', `PROXY TCP4 203.0.113.7 192.0.2.1 1 2\n${' '.repeat(107)}`],
  ['a line that is too long', `PROXY UNKNOWN ${'x'.repeat(92)}\r\n`],
  ['an unterminated line', `PROXY ${'x'.repeat(200)}`],
  ['a corrupt signature', `${SIGNATURE.slice(0, 10)}XX`],
  ['an unknown version', block(0x11, 0x11, V4)],
  ['an unknown command', block(0x22, 0x11, V4)],
  ['datagrams', block(0x21, 0x12, V4)],
  ['an unknown family', block(0x21, 0x41, V4)],
  ['a length shorter than the addresses', block(0x21, 0x21, V4)],
  ['a TLV without a length', block(0x21, 0x11, [...V4, 0x20, 0])],
  ['a TLV longer than the header', block(0x21, 0x11, [...V4, 0x04, 0, 3, 0xff, 0xff])],
  ['a TLV header past the end', block(0x21, 0x11, [...V4, 0x04, 0xff, 0xff, ...ssl(1)])],
  ['a TLS TLV that is too short', block(0x21, 0x11, [...V4, 0x20, 0, 4, 1, 0, 0, 0])],
  ['an empty TLS TLV', block(0x21, 0x11, [...V4, 0x20, 0, 0])],
  ['a truncated TLV after TLS', block(0x21, 0x11, [...V4, ...ssl(1), 0x04])],
  ['a header that is too long', block(0x21, 0x11, V4, 0xffff)],
])('%s is rejected', (_name, header) => {
  expect(read(header)).toEqual({ kind: 'invalid', detail: expect.any(String) });
});

test('parses any bytes without throwing or reading past the end', () => {
  const begins = fc.constantFrom('', 'PROXY ', 'PROXY TCP4 ', SIGNATURE);
  fc.assert(
    fc.property(begins, fc.uint8Array({ maxLength: 300 }), (start, bytes) => {
      const data = Buffer.concat([Buffer.from(start, 'latin1'), bytes]);
      const header = parseProxyHeader(data);
      if (header.kind === 'header') expect(header.bytes).toBeLessThanOrEqual(data.length);
    }),
  );
});
