import { expect, test } from 'vitest';
import type { Pool } from '../db/connections/pool.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { ApiKeys, type KeyIssuer, type NewApiKey, operatorIssuer } from './api-keys.ts';

/** Every case is rejected before the database is used. */
const NO_DATABASE = {} as Pool;
const NOW_MS = Date.parse('2027-01-01T00:00:00Z');
const keys = new ApiKeys({ pool: NO_DATABASE, clock: new ManualClock(NOW_MS) });

const ISSUER: KeyIssuer = {
  workspaceId: '00000000-0000-7000-8000-000000000001',
  mode: 'live',
  scopes: new Set(['send:transactional', 'write:api_keys']),
  allowedDomains: ['shop.example'],
  allowedIps: ['192.0.2.0/24'],
  allowedStreams: ['digest'],
  endsAtMs: NOW_MS + 3_600_000,
  actor: 'key_1',
  keyId: '00000000-0000-7000-8000-000000000002',
};

const WITHIN_LIMITS: NewApiKey = {
  name: 'A key',
  scopes: ['send:transactional'],
  allowed_domains: ['shop.example'],
  allowed_ips: ['192.0.2.7'],
  allowed_streams: ['digest'],
  expires_at: '2027-01-01T00:30:00Z',
};

async function rejection(issuer: KeyIssuer, wanted: NewApiKey): Promise<string> {
  const error: unknown = await keys.create(issuer, wanted).catch((thrown: unknown) => thrown);
  return error instanceof RefusedError ? `${error.code}: ${error.message}` : 'not rejected';
}

test.each<[string, Partial<NewApiKey>, RegExp]>([
  ['a scope that the issuer lacks', { scopes: ['read:messages'] }, /lacks read:messages/],
  ['another domain', { allowed_domains: ['other.example'] }, /limited to shop.example/],
  ['no limit on domains', { allowed_domains: [] }, /limited to shop.example/],
  ['a larger network', { allowed_ips: ['192.0.0.0/16'] }, /limited to 192.0.2.0\/24/],
  ['no limit on networks', { allowed_ips: [] }, /limited to 192.0.2.0\/24/],
  ['another stream', { allowed_streams: ['digest', 'alerts'] }, /limited to digest/],
  ['no limit on streams', { allowed_streams: [] }, /limited to digest/],
  ['a longer lifetime', { expires_at: '2027-01-02T00:00:00Z' }, /expires at 2027-01-01T01:00/],
  ['no expiry', { expires_at: null }, /expires at 2027-01-01T01:00/],
])('a key cannot grant %s', async (_, change, detail) => {
  const message = await rejection(ISSUER, { ...WITHIN_LIMITS, ...change });
  expect(message).toMatch(/^insufficient_scope: /);
  expect(message).toMatch(detail);
});

test('a test key creates only test keys', async () => {
  const message = await rejection({ ...ISSUER, mode: 'test' }, { ...WITHIN_LIMITS, mode: 'live' });
  expect(message).toBe('wrong_mode: A test key can create only test keys.');
});

test('the grace period of a rotation is limited', async () => {
  const rotated = keys.rotate(operatorIssuer('w'), 'k', 31 * 24 * 60 * 60);
  await expect(rotated).rejects.toThrow('The grace period can be at most 30 days.');
});

test('reports all invalid fields at once', () => {
  const errors = keys.fieldErrors({
    allowed_domains: ['shop.example', 'not a domain'],
    allowed_ips: ['192.0.2.300'],
    expires_at: '2026-12-31T00:00:00Z',
  });
  expect(errors.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([
    '/allowed_domains/1 invalid_domain',
    '/allowed_ips/0 invalid_network',
    '/expires_at invalid_time',
  ]);
  expect(keys.fieldErrors({ name: 'A key' })).toEqual([]);
});
