import { createHash, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startSmtpReceiver } from '../../../test/harness/smtp/smtp-receiver.ts';
import { openTo } from '../../../test/harness/smtp/smtp-sender.ts';
import { tlsFixtures } from '../../../test/harness/smtp/tls-fixtures.ts';
import type { TlsaRecord } from '../dns/dns-message.ts';

/**
 * Goal: TLSA records of every usable kind against real handshakes, with the outcomes of RFC 7672.
 */

const { good, wrongName, expired, forged, selfSigned, authority } = tlsFixtures;

describe('DANE-EE', () => {
  test.each([
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 0],
    [1, 1],
    [1, 2],
  ])('3 %i %i matches the certificate it was made from', async (selector, matchingType) => {
    const records = [tlsa(3, selector, matchingType, good.cert)];
    expect(await verifiedBy(records, good)).toBe('dane_ee');
    expect(await verifiedBy(records, selfSigned)).toBe('certificate_rejected');
  });

  test.each([
    ['another name', wrongName],
    ['an expired date', expired],
    ['no CA', selfSigned],
  ])('accepts a certificate with %s', async (_what, host) => {
    expect(await verifiedBy([tlsa(3, 1, 1, host.cert)], host)).toBe('dane_ee');
  });
});

describe('DANE-TA', () => {
  test.each([
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
    [1, 2],
  ])('2 %i %i passes what the authority signed', async (selector, matchingType) => {
    const records = [tlsa(2, selector, matchingType, authority)];
    expect(await verifiedBy(records, good)).toBe('dane_ta');
    expect(await verifiedBy(records, selfSigned)).toBe('certificate_rejected');
  });

  test.each([0, 1])(
    '2 %i 0 holds the authority itself, so the receiver may not send it',
    async (selector) => {
      const leafOnly = { ...good, cert: good.cert.slice(0, good.cert.indexOf('-----END')) };
      const host = { ...leafOnly, cert: `${leafOnly.cert}-----END CERTIFICATE-----\n` };
      expect(await verifiedBy([tlsa(2, selector, 0, authority)], host)).toBe('dane_ta');
      expect(await verifiedBy([tlsa(2, selector, 1, authority)], host)).toBe(
        'certificate_rejected',
      );
    },
  );

  test('rejects a certificate for another name, and an expired one', async () => {
    const records = [tlsa(2, 0, 1, authority)];
    expect(await verifiedBy(records, wrongName)).toBe('certificate_rejected');
    expect(await verifiedBy(records, expired)).toBe('certificate_rejected');
  });

  test('rejects a certificate that only names the CA as its issuer', async () => {
    expect(await verifiedBy([tlsa(2, 0, 1, authority)], forged)).toBe('certificate_rejected');
    expect(await verifiedBy([tlsa(2, 1, 0, authority)], forged)).toBe('certificate_rejected');
  });

  test('is not the same as DANE-EE: the leaf is not its own CA', async () => {
    expect(await verifiedBy([tlsa(2, 1, 1, selfSigned.cert)], selfSigned)).toBe(
      'certificate_rejected',
    );
  });

  test('accepts any of the given names', async () => {
    const records = [tlsa(2, 0, 1, authority)];
    expect(await verifiedBy(records, wrongName, ['mx.example.test', 'mx.elsewhere.test'])).toBe(
      'dane_ta',
    );
  });
});

test('one matching record among others is enough', async () => {
  const records = [tlsa(3, 1, 1, selfSigned.cert), tlsa(3, 1, 2, good.cert)];
  expect(await verifiedBy(records, good)).toBe('dane_ee');
});

test.each([
  ['of a PKIX usage', { usage: 1, selector: 1, matchingType: 1, data: Buffer.alloc(32) }],
  [
    'with a digest of a wrong length',
    { usage: 3, selector: 1, matchingType: 1, data: Buffer.alloc(20) },
  ],
  ['with an unknown selector', { usage: 3, selector: 9, matchingType: 1, data: Buffer.alloc(32) }],
  [
    'with an unknown matching type',
    { usage: 3, selector: 1, matchingType: 9, data: Buffer.alloc(32) },
  ],
])('records %s alone require TLS without verification', async (_what, record) => {
  expect(await verifiedBy([record], selfSigned)).toBe('no');
  // Beside a usable record they are ignored.
  expect(await verifiedBy([record, tlsa(3, 1, 1, good.cert)], selfSigned)).toBe(
    'certificate_rejected',
  );
});

async function verifiedBy(
  records: TlsaRecord[],
  host: { key: string; cert: string },
  names = ['mx.example.test'],
): Promise<string> {
  await using receiver = await startSmtpReceiver({ tls: host });
  const opened = await openTo(receiver, { tls: { kind: 'dane', names, records } });
  if (!opened.ok) return opened.failure.kind;
  opened.connection.destroy();
  return opened.connection.session.tls?.verified ?? 'plaintext';
}

function tlsa(usage: number, selector: number, matchingType: number, pem: string): TlsaRecord {
  const certificate = new X509Certificate(pem);
  const selected =
    selector === 0
      ? certificate.raw
      : certificate.publicKey.export({ type: 'spki', format: 'der' });
  if (matchingType === 0) return { usage, selector, matchingType, data: selected };
  const data = createHash(matchingType === 1 ? 'sha256' : 'sha512')
    .update(selected)
    .digest();
  return { usage, selector, matchingType, data };
}
