import { expect, test } from 'vitest';
import { tlsFixtures } from '../../../test/harness/tls-fixtures.ts';
import { certificateIn, checkCertificate } from './certificate-checks.ts';

/** What is said of a certificate as its time goes by. */

const DAY_MS = 86_400_000;
const { leaf } = certificateIn(tlsFixtures.good.cert);
const endsAtMs = leaf.validToDate.getTime();
const good = { leaf, distrust: undefined };

test.each([
  ['ok', 'good until 2125-01-01', endsAtMs - 15 * DAY_MS],
  ['warn', 'runs out in 13 days', endsAtMs - 13.5 * DAY_MS],
  ['fail', 'ran out on 2125-01-01', endsAtMs],
  ['fail', 'good only from 2025-01-01', leaf.validFromDate.getTime() - 1],
])('%s: %s', (status, words, nowMs) => {
  const [finding] = checkCertificate(good, 'localhost', nowMs);
  expect(finding).toMatchObject({ status, detail: expect.stringContaining(words) });
});

test('names, addresses, and who signed it', () => {
  const statusFor = (host: string) => checkCertificate(good, host, endsAtMs - 99 * DAY_MS);
  expect(statusFor('127.0.0.1')[0]?.status).toBe('ok');
  expect(statusFor('127.0.0.2')[0]?.detail).toContain('not for 127.0.0.2');
  const own = checkCertificate(
    certificateIn(tlsFixtures.selfSigned.cert),
    'localhost',
    endsAtMs - 99 * DAY_MS,
  );
  expect(own.map(({ detail }) => detail)).toEqual([expect.stringContaining('self-signed')]);
});
