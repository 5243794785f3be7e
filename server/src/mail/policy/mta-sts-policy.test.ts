import { describe, expect, test } from 'vitest';
import { parseStsPolicy, policyAllowsHost, readStsId } from './mta-sts-policy.ts';

const file = (...lines: string[]) => lines.join('\r\n');

describe('a policy file', () => {
  test('is parsed as in RFC 8461', () => {
    const text = file(
      'version: STSv1',
      'mode: enforce',
      'mx: mail.example.com',
      'mx: *.Example.net',
      'mx: backupmx.example.com',
      'max_age: 604800',
      '',
    );
    expect(parseStsPolicy(text)).toEqual({
      mode: 'enforce',
      mx: ['mail.example.com', '*.example.net', 'backupmx.example.com'],
      maxAgeSeconds: 604_800,
    });
  });

  test('may use bare line feeds, any order, unknown fields and repetitions', () => {
    const text =
      'mx: mx.example.com  \nmode:testing\nx_new: yes\nmode: none\nmax_age: 99999999999\nmax_age: 60\nversion: STSv1';
    expect(parseStsPolicy(text)).toBeUndefined();
    expect(parseStsPolicy(text.replace('99999999999', '9999999999'))).toEqual({
      mode: 'testing',
      mx: ['mx.example.com'],
      maxAgeSeconds: 31_557_600,
    });
  });

  test('with mode none needs no hosts', () => {
    expect(parseStsPolicy(file('version: STSv1', 'mode: none', 'max_age: 60'))?.mode).toBe('none');
  });

  test('of blanks is parsed in linear time', () => {
    const blanks = ' '.repeat(1_000_000);
    const mx = `mx: a${blanks}b`;
    // With a quadratic algorithm, this test would time out.
    expect(parseStsPolicy(file('version: STSv1', mx, 'max_age: 60', 'mode: enforce'))).toBe(
      undefined,
    );
    expect(
      parseStsPolicy(
        file('version: STSv1', `mx:${blanks}a.test${blanks}`, 'max_age: 60', 'mode: enforce'),
      ),
    ).toMatchObject({ mx: ['a.test'] });
  });

  test.each([
    ['version', file('version: STSv2', 'mode: enforce', 'mx: a.test', 'max_age: 60')],
    ['mode', file('version: STSv1', 'mode: strict', 'mx: a.test', 'max_age: 60')],
    ['age', file('version: STSv1', 'mode: enforce', 'mx: a.test')],
    ['hosts', file('version: STSv1', 'mode: enforce', 'max_age: 60')],
    ['usable hosts', file('version: STSv1', 'mode: enforce', 'mx: a b', 'mx: *', 'max_age: 60')],
    ['form', '<!doctype html><title>Not found</title>'],
    ['content', ''],
  ])('without a valid %s is rejected', (_, text) => expect(parseStsPolicy(text)).toBeUndefined());
});

describe('a pattern', () => {
  const policy = {
    mode: 'enforce',
    mx: ['mx.example.com', '*.example.net', '*.local'],
    maxAgeSeconds: 60,
  } as const;

  test.each(['mx.example.com', 'mx1.example.net', 'a-b.example.net'])('allows %s', (host) =>
    expect(policyAllowsHost(policy, host)).toBe(true),
  );

  test.each([
    'example.net',
    'a.b.example.net',
    'mx.example.com.evil.test',
    'xmx.example.com',
    'local',
  ])('does not allow %s', (host) => expect(policyAllowsHost(policy, host)).toBe(false));
});

describe('the TXT record', () => {
  test.each([
    [[['v=STSv1; id=20160831085700Z;']], '20160831085700Z'],
    [[['v=STSv1;id=abc']], 'abc'],
    [[['v=STSv1; ', 'id=ab', 'c;']], 'abc'],
    [[['v=spf1 -all'], ['v=STSv1; id=1; ext=x']], '1'],
  ])('%j has the id %s', (records, id) => expect(readStsId(records)).toBe(id));

  test.each([
    [[['v=STSv1; id=1;'], ['v=STSv1; id=2;']]],
    [[['id=1; v=STSv1;']]],
    [[['v=STSv1; id=not-alphanumeric;']]],
    [[['v=STSv1; id=;']]],
    [[['v=STSv10; id=1;']]],
    [[]],
  ])('%j has none', (records: string[][]) => expect(readStsId(records)).toBeUndefined());
});
