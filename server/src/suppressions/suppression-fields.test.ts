import { describe, expect, test } from 'vitest';
import { type NewSuppression, parseChange, parseSuppression } from './suppression-fields.ts';

const NOW_MS = Date.parse('2027-01-01T00:00:00Z');

function errorsOf(given: NewSuppression): string[] {
  const parsed = parseSuppression(given, NOW_MS);
  return parsed.ok ? [] : parsed.errors.map(({ pointer, code }) => `${pointer} ${code}`);
}

describe('a suppression', () => {
  test('of an address has its lower-case key', () => {
    expect(parseSuppression({ email: 'Jane@Example.com' }, NOW_MS)).toEqual({
      ok: true,
      key: 'jane@example.com',
      stream: '',
      email: 'Jane@example.com',
      domain: null,
      change: {},
    });
  });

  test('of a domain has a key that no address has', () => {
    expect(parseSuppression({ domain: 'Example.COM' }, NOW_MS)).toMatchObject({
      key: '@example.com',
      email: null,
      domain: 'example.com',
    });
  });

  test.each<[string, NewSuppression, string[]]>([
    ['neither address nor domain', {}, ['/email required']],
    ['both', { email: 'a@b.example', domain: 'b.example' }, ['/domain conflicting_field']],
    ['an invalid address', { email: 'jane' }, ['/email invalid_email']],
    ['an invalid domain', { domain: 'not a domain' }, ['/domain invalid_domain']],
    [
      'several errors',
      { email: 'jane', expires_at: 'tomorrow' },
      ['/email invalid_email', '/expires_at invalid_time'],
    ],
  ])('is rejected with %s', (_, given, errors) => {
    expect(errorsOf(given)).toEqual(errors);
  });
});

describe('a change', () => {
  test('contains only the given fields', () => {
    expect(parseChange({}, NOW_MS)).toEqual({ ok: true, change: {} });
    expect(parseChange({ note: null }, NOW_MS)).toEqual({ ok: true, change: { note: null } });
    expect(parseChange({ reason: 'complaint' }, NOW_MS)).toEqual({
      ok: true,
      change: { reason: 'complaint' },
    });
  });

  test('sets or removes the expiry', () => {
    expect(parseChange({ expires_at: null }, NOW_MS)).toEqual({
      ok: true,
      change: { expiresAtMs: null },
    });
    expect(parseChange({ expires_at: '2027-01-01T01:00:00+00:30' }, NOW_MS)).toEqual({
      ok: true,
      change: { expiresAtMs: NOW_MS + 1_800_000 },
    });
  });

  test.each(['2027-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'tomorrow', '2028-01-01'])(
    'rejects the expiry %s',
    (expires_at) => {
      expect(parseChange({ expires_at }, NOW_MS).ok).toBe(false);
    },
  );
});
