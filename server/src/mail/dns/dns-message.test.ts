import * as dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeResponse, encodeQuery } from './dns-message.ts';

// Goal: our codec agrees with another implementation (dns-packet), and no input can harm it.

const question = { id: 4711, name: 'Example.COM', type: 'MX', edns: true } as const;

describe('a question', () => {
  test('requests recursion and a large UDP payload', () => {
    const packet = dnsPacket.decode(encodeQuery({ ...question, requestAuthenticated: false }));
    expect(packet).toMatchObject({ id: 4711, type: 'query', flag_rd: true, flag_ad: false });
    expect(packet.questions).toEqual([{ name: 'Example.COM', type: 'MX', class: 'IN' }]);
    expect(packet.additionals).toMatchObject([
      { type: 'OPT', udpPayloadSize: 1232, flag_do: false },
    ]);
  });

  test('requests validation when the result will be trusted', () => {
    const packet = dnsPacket.decode(encodeQuery({ ...question, requestAuthenticated: true }));
    expect(packet).toMatchObject({ flag_ad: true, additionals: [{ flag_do: true }] });
  });

  test('works without EDNS', () => {
    const bytes = encodeQuery({ ...question, edns: false, requestAuthenticated: false });
    expect(dnsPacket.decode(bytes).additionals).toEqual([]);
  });
});

function encodeReply(packet: dnsPacket.Packet): Buffer {
  return dnsPacket.encode({
    id: 4711,
    type: 'response',
    questions: [{ name: 'a.test', type: 'A' }],
    ...packet,
  });
}

describe('a reply', () => {
  test('of every type that mail needs is decoded as another implementation encoded it', () => {
    const data = Buffer.from('c0ffee', 'hex');
    const bytes = encodeReply({
      answers: [
        { name: 'a.test', type: 'A', ttl: 60, data: '192.0.2.1' },
        { name: 'a.test', type: 'AAAA', ttl: 61, data: '2001:db8::1:0:0:1' },
        { name: 'a.test', type: 'CNAME', ttl: 62, data: 'B.test' },
        { name: 'a.test', type: 'MX', ttl: 63, data: { preference: 10, exchange: 'mx.test' } },
        { name: 'a.test', type: 'MX', ttl: 63, data: { preference: 0, exchange: '.' } },
        { name: 'a.test', type: 'NS', ttl: 60, data: 'ns.test' },
        { name: 'a.test', type: 'TXT', ttl: 64, data: [Buffer.from('one '), Buffer.from('two')] },
        {
          name: 'a.test',
          type: 'TLSA',
          ttl: 65,
          data: { usage: 3, selector: 1, matchingType: 1, certificate: data },
        },
        {
          name: 'a.test',
          type: 'SSHFP',
          data: { algorithm: 1, hash: 1, fingerprint: '00'.repeat(20) },
        },
      ],
    });
    expect(decodeResponse(bytes)?.answers).toEqual([
      { name: 'a.test', type: 'A', ttlSeconds: 60, data: '192.0.2.1' },
      { name: 'a.test', type: 'AAAA', ttlSeconds: 61, data: '2001:db8::1:0:0:1' },
      { name: 'a.test', type: 'CNAME', ttlSeconds: 62, data: 'B.test' },
      { name: 'a.test', type: 'MX', ttlSeconds: 63, data: { preference: 10, host: 'mx.test' } },
      { name: 'a.test', type: 'MX', ttlSeconds: 63, data: { preference: 0, host: '' } },
      { name: 'a.test', type: 'NS', ttlSeconds: 60, data: 'ns.test' },
      { name: 'a.test', type: 'TXT', ttlSeconds: 64, data: ['one ', 'two'] },
      {
        name: 'a.test',
        type: 'TLSA',
        ttlSeconds: 65,
        data: { usage: 3, selector: 1, matchingType: 1, data },
      },
    ]);
  });

  test.each([
    ['::', '::'],
    ['::1', '::1'],
    ['2001:db8:0:0:1:0:0:0', '2001:db8:0:0:1::'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ])('formats the address %s as %s', (address, text) => {
    const bytes = encodeReply({ answers: [{ name: 'a.test', type: 'AAAA', data: address }] });
    expect(decodeResponse(bytes)?.answers[0]?.data).toBe(text);
  });

  test('carries the response code, the AD bit and the negative TTL', () => {
    const soa = { mname: 'ns.test', rname: 'who.test', minimum: 30 };
    const bytes = encodeReply({
      flags: dnsPacket.AUTHENTIC_DATA | 3,
      authorities: [{ name: 'test', type: 'SOA', ttl: 900, data: soa }],
    });
    expect(decodeResponse(bytes)).toMatchObject({
      rcode: 3,
      authenticated: true,
      negativeTtlSeconds: 30,
    });
  });

  test('follows compressed names', () => {
    const head = encodeReply({});
    head.writeUInt16BE(1, 6);
    // An MX of the queried name whose host is `mx.` and a pointer to the question's name.
    const record = Buffer.from('c00c000f00010000003c0007000a026d78c00c', 'hex');
    expect(decodeResponse(Buffer.concat([head, record]))?.answers).toEqual([
      { name: 'a.test', type: 'MX', ttlSeconds: 60, data: { preference: 10, host: 'mx.a.test' } },
    ]);
  });

  test('with a name that points at itself is rejected', () => {
    const head = encodeReply({});
    head.writeUInt16BE(1, 6);
    const pointer = 0xc000 | head.length;
    const record = Buffer.from(`${pointer.toString(16)}000100010000003c0004c0000201`, 'hex');
    expect(decodeResponse(Buffer.concat([head, record]))).toBeUndefined();
  });

  test('with a record that claims more bytes than there are is rejected', () => {
    const bytes = encodeReply({ answers: [{ name: 'a.test', type: 'A', data: '192.0.2.1' }] });
    expect(decodeResponse(bytes.subarray(0, -1))).toBeUndefined();
  });

  test.each([
    ['an address of five bytes', '0001', '05c000020101'],
    ['a text longer than its record', '0010', '020561'],
    ['a host longer than its record', '000f', '03000a036d7861'],
    ['an MX without a host', '000f', '02000a'],
    ['a TLSA without its three numbers', '0034', '020301'],
  ])('with %s is rejected', (_, type, lengthAndData) => {
    const head = encodeReply({});
    head.writeUInt16BE(1, 6);
    const record = Buffer.from(`c00c${type}00010000003c00${lengthAndData}`, 'hex');
    // Bytes of a following record must not be read as its own.
    const rest = Buffer.from('0000000000000000', 'hex');
    expect(decodeResponse(Buffer.concat([head, record, rest]))).toBeUndefined();
  });

  test('that is not a response to a query is rejected', () => {
    const bytes = encodeReply({});
    bytes.writeUInt16BE(bytes.readUInt16BE(2) | (5 << 11), 2);
    expect(decodeResponse(bytes)).toBeUndefined();
  });

  test('cannot inject a dot or a line break into a name', () => {
    const head = encodeReply({});
    head.writeUInt16BE(1, 6);
    const label = Buffer.from('a.b\r\nQUIT');
    const host = Buffer.concat([Buffer.from([label.length]), label, Buffer.from([0])]);
    const record = Buffer.from('c00c000f00010000003c0000000a', 'hex');
    record.writeUInt16BE(2 + host.length, 10);
    const reply = decodeResponse(Buffer.concat([head, record, host]));
    expect(reply?.answers[0]?.data).toEqual({ preference: 10, host: 'a\\046b\\013\\010QUIT' });
  });

  test('of arbitrary bytes is decoded or rejected, and never throws', () => {
    const valid = encodeReply({
      answers: [
        { name: 'a.test', type: 'MX', ttl: 63, data: { preference: 10, exchange: 'mx.test' } },
        { name: 'a.test', type: 'TXT', ttl: 64, data: [Buffer.from('text')] },
      ],
    });
    const flips = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 8 });
    fc.assert(
      fc.property(flips, fc.nat(valid.length), (changes, length) => {
        const bytes = Buffer.from(valid);
        for (const [at, value] of changes) bytes[at] = value;
        decodeResponse(bytes.subarray(0, length));
      }),
      { numRuns: 5000 },
    );
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        (bytes) => void decodeResponse(Buffer.from(bytes)),
      ),
    );
  });
});
