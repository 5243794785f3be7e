import { expect, test } from 'vitest';
import { tlsFixtures } from '../../../test/harness/smtp/tls-fixtures.ts';
import { checkCertificate, parseCertificate } from './certificate-checks.ts';

/** The results for a certificate over its lifetime. */

const DAY_MS = 86_400_000;
const { leaf } = parseCertificate(tlsFixtures.good.cert);
const endsAtMs = leaf.validToDate.getTime();
const good = { leaf, trustError: undefined };

test.each([
  ['ok', 'valid until 2125-01-01', endsAtMs - 15 * DAY_MS],
  ['warn', 'expires in 13 days', endsAtMs - 13.5 * DAY_MS],
  ['fail', 'expired on 2125-01-01', endsAtMs],
  ['fail', 'not valid before 2025-01-01', leaf.validFromDate.getTime() - 1],
])('%s: %s', (status, detail, nowMs) => {
  const [result] = checkCertificate(good, 'localhost', nowMs);
  expect(result).toMatchObject({ status, detail: expect.stringContaining(detail) });
});

test('host names, IP addresses and issuer', () => {
  const statusFor = (host: string) => checkCertificate(good, host, endsAtMs - 99 * DAY_MS);
  expect(statusFor('127.0.0.1')[0]?.status).toBe('ok');
  expect(statusFor('127.0.0.2')[0]?.detail).toContain('not for 127.0.0.2');
  const own = checkCertificate(
    parseCertificate(tlsFixtures.selfSigned.cert),
    'localhost',
    endsAtMs - 99 * DAY_MS,
  );
  expect(own.map(({ detail }) => detail)).toEqual([expect.stringContaining('self-signed')]);
});
