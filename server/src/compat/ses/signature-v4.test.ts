import { describe, expect, test } from 'vitest';
import { headerReader, readSignature, signatureOf, verifySignature } from './signature-v4.ts';

/** Results that AWS published: its Signature Version 4 test suite, and the example of its guide. */

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

interface Vector {
  name: string;
  method?: string;
  url: string;
  headers?: string[];
  signed?: string;
  scope?: string;
  signature: string;
}

const VECTORS: Vector[] = [
  {
    name: 'the example of the guide',
    url: '/?Action=ListUsers&Version=2010-05-08',
    headers: [
      ...['Host', 'iam.amazonaws.com'],
      ...['Content-Type', 'application/x-www-form-urlencoded; charset=utf-8'],
    ],
    signed: 'content-type;host;x-amz-date',
    scope: '20150830/us-east-1/iam/aws4_request',
    signature: '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  },
  {
    name: 'get-vanilla',
    url: '/',
    signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  },
  {
    name: 'get-vanilla-query-order-key-case',
    url: '/?Param2=value2&Param1=value1',
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'get-header-value-trim',
    url: '/',
    headers: [
      ...['Host', 'example.amazonaws.com'],
      ...['My-Header1', ' value1'],
      ...['My-Header2', ' "a   b   c"'],
    ],
    signed: 'host;my-header1;my-header2;x-amz-date',
    signature: 'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  },
  {
    name: 'post-vanilla',
    method: 'POST',
    url: '/',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
];

describe('published results', () => {
  test.each(VECTORS)('$name', ({ method = 'GET', url, headers, signed, scope, signature }) => {
    const host = ['Host', 'example.amazonaws.com'];
    const all = headerReader([...(headers ?? host), 'X-Amz-Date', '20150830T123600Z']);
    const given = {
      scope: scope ?? '20150830/us-east-1/service/aws4_request',
      signedAt: '20150830T123600Z',
      signedHeaders: signed ?? 'host;x-amz-date',
    };
    expect(signatureOf({ method, url, header: all }, given, EMPTY, SECRET)).toBe(signature);
  });
});

const NOW_MS = Date.parse('2026-11-15T09:30:00Z');
const SCOPE = '20261115/eu-central-1/ses/aws4_request';
const BODY = [Buffer.from('{"a":'), Buffer.from('1}')];

/** A request that is signed like this one, before `change` is applied to it. */
function signed(change: { url?: string; headers?: string[]; body?: Buffer[] } = {}) {
  const unsigned = ['Host', 'mail.example.com', 'X-Amz-Date', '20261115T093000Z'];
  const plain = {
    method: 'POST',
    url: '/compat/ses/v2/email/outbound-emails?b=2&a=%2F+&a=1',
    header: headerReader(unsigned),
  };
  const given = {
    scope: SCOPE,
    signedAt: '20261115T093000Z',
    signedHeaders: 'host;x-amz-date',
  };
  const bodyHash = '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862';
  const authorization = `AWS4-HMAC-SHA256 Credential=PRTEST/${SCOPE}, SignedHeaders=host;x-amz-date, Signature=${signatureOf(plain, given, bodyHash, SECRET)}`;
  const rawHeaders = [...unsigned, 'Authorization', authorization];
  return {
    request: {
      ...plain,
      url: change.url ?? plain.url,
      header: headerReader(change.headers ?? rawHeaders),
    },
    rawHeaders,
    body: change.body ?? BODY,
  };
}

function outcome({ request, body }: ReturnType<typeof signed>, nowMs = NOW_MS, secret = SECRET) {
  try {
    verifySignature(request, readSignature(request, nowMs), body, secret);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a signed request', () => {
  test('is accepted within 15 minutes', () => {
    expect(outcome(signed())).toBe('accepted');
    expect(outcome(signed(), NOW_MS + 15 * 60_000)).toBe('accepted');
    expect(outcome(signed(), NOW_MS - 15 * 60_000)).toBe('accepted');
    expect(outcome(signed(), NOW_MS + 15 * 60_000 + 1)).toMatch(/15 minutes apart/);
    expect(outcome(signed(), NOW_MS - 15 * 60_000 - 1)).toMatch(/15 minutes apart/);
  });

  test('is accepted with its query in another order, which means the same', () => {
    const url = '/compat/ses/v2/email/outbound-emails?a=1&b=2&a=%2F%2B';
    expect(outcome(signed({ url }))).toBe('accepted');
  });

  test.each<[string, Parameters<typeof signed>[0]]>([
    ['another path', { url: '/compat/ses/v2/email/account?b=2&a=%2F+&a=1' }],
    ['another query', { url: '/compat/ses/v2/email/outbound-emails?b=2&a=1' }],
    ['another body', { body: [Buffer.from('{"a":2}')] }],
    ['no body', { body: [] }],
  ])('is refused with %s', (_what, change) => {
    expect(outcome(signed(change))).toMatch(/does not match/);
  });

  test('is refused with another secret or host', () => {
    expect(outcome(signed(), NOW_MS, `${SECRET}x`)).toMatch(/does not match/);
    const headers = signed().rawHeaders.map((one) => one.replace('mail.', 'other.'));
    expect(outcome(signed({ headers }))).toMatch(/does not match/);
  });

  test.each<[string, (headers: string[]) => string[], RegExp]>([
    ['no signature', (all) => all.slice(0, 4), /no Authorization/],
    [
      'another algorithm',
      (all) => replaced(all, 'AWS4-HMAC-SHA256', 'AWS4-ECDSA-P256-SHA256'),
      /must be/,
    ],
    ['another service', (all) => replaced(all, '/ses/', '/s3/'), /service "s3"/],
    ['another date', (all) => replaced(all, '=PRTEST/20261115', '=PRTEST/20261114'), /its date/],
    [
      'an unsigned host',
      (all) => replaced(all, 'host;x-amz-date', 'x-amz-date'),
      /host must be signed/,
    ],
    ['an unsigned date', (all) => replaced(all, 'host;x-amz-date', 'host'), /x-amz-date must be/],
    ['temporary credentials', (all) => [...all, 'x-amz-security-token', 'x'], /security-token/],
    ['a long scope', (all) => replaced(all, '/eu-central-1/', `/${'a'.repeat(200)}/`), /must be/],
    ['a short signature', (all) => all.with(-1, all.at(-1)?.slice(0, -2) ?? ''), /must be/],
    ['a date that is none', (all) => replaced(all, '20261115T093000Z', 'today'), /must be like/],
  ])('is refused with %s', (_what, change, detail) => {
    expect(outcome(signed({ headers: change(signed().rawHeaders) }))).toMatch(detail);
  });

  test('is refused if its body is not signed', () => {
    const headers = replaced(
      signed().rawHeaders,
      'host;x-amz-date',
      'host;x-amz-content-sha256;x-amz-date',
    );
    for (const claimed of ['UNSIGNED-PAYLOAD', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD']) {
      const request = signed({ headers: [...headers, 'x-amz-content-sha256', claimed] });
      expect(outcome(request)).toMatch(/the body must be signed/);
    }
  });

  test('is refused as a presigned URL', () => {
    const url = '/compat/ses/v2/email/account?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0';
    expect(outcome(signed({ url, headers: ['Host', 'mail.example.com'] }))).toMatch(/Presigned/);
  });
});

describe('after a request that was accepted', () => {
  const { rawHeaders } = signed();
  const authorization = rawHeaders.at(-1) ?? '';
  const start = authorization.slice(0, -64);
  const signature = authorization.slice(-64);

  test.each<[string, string, RegExp]>([
    ['another signature', '0'.repeat(64), /does not match/],
    ['a signature in upper case', signature.toUpperCase(), /must be/],
    ['a signature that is not hex', `${signature.slice(1)}x`, /must be/],
    ['a longer signature', `${signature}0`, /must be/],
    ['no signature', '', /must be/],
  ])('the same credentials are refused with %s', (_what, given, detail) => {
    expect(outcome(signed())).toBe('accepted');
    const headers = rawHeaders.with(-1, `${start}${given}`);
    expect(outcome(signed({ headers }))).toMatch(detail);
  });

  test('another secret is not replaced by the one before', () => {
    expect(outcome(signed())).toBe('accepted');
    expect(outcome(signed(), NOW_MS, 'other')).toMatch(/does not match/);
    expect(outcome(signed())).toBe('accepted');
  });
});

test('whitespace in a signed header is the same as one space', () => {
  const of = (value: string): string => {
    const header = headerReader(['Host', 'x', 'X-Amz-Date', '20261115T093000Z', 'Agent', value]);
    const given = {
      scope: SCOPE,
      signedAt: '20261115T093000Z',
      signedHeaders: 'agent;host;x-amz-date',
    };
    return signatureOf({ method: 'POST', url: '/', header }, given, EMPTY, SECRET);
  };
  for (const value of ['a  b', 'a\tb', 'a \t b', 'a\u00a0b', ' a b ']) {
    expect(of(value), JSON.stringify(value)).toBe(of('a b'));
  }
  expect(of('ab')).not.toBe(of('a b'));
});

test('repeated headers are joined as AWS does, whatever Node made of them', () => {
  const raw = ['X-A', '1', 'x-a', ' 2 ', 'Host', 'x'];
  expect(headerReader(raw, { 'x-a': '1, 2', host: 'x' })('x-a')).toBe('1,2');
  expect(headerReader(['Host', 'x', 'A', '1'], { host: 'x' })('a')).toBe('1');
  const read = headerReader(['Host', 'x'], { host: 'x' });
  expect([read('host'), read('constructor')]).toEqual(['x', undefined]);
});

function replaced(headers: readonly string[], from: string, to: string): string[] {
  return headers.map((one) => one.replace(from, to));
}
