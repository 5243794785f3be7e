import { expect, test } from 'vitest';
import { decodeLine, invalidMailParameter, isHttpRequest, parsePath } from './smtp-command.ts';

test.each([
  ['FROM', 'FROM:<a@example.org>', 'a@example.org'],
  ['FROM', 'from: <a@example.org>', 'a@example.org'],
  ['FROM', 'FROM:<>', ''],
  ['TO', 'TO:<postmaster>', 'postmaster'],
  ['TO', 'TO:<@relay.example,@other.example:a@example.org>', 'a@example.org'],
  ['TO', 'TO:<"a b>@c"@example.org>', '"a b>@c"@example.org'],
  ['TO', 'TO:<jürgen@bücher.example>', 'jürgen@bücher.example'],
  ['FROM', 'FROM:<root@localhost>', 'root@localhost'],
] as const)('%s %j is an address', (keyword, argument, address) => {
  expect(parsePath(keyword, argument)).toMatchObject({ ok: true, path: { address } });
});

test.each([
  'FROM:a@example.org',
  'FROM <a@example.org>',
  'TO:<a@example.org>',
  'FROM:<a@@example.org>',
  'FROM:<@example.org>',
  'FROM:<a@>',
  'FROM:<a b@example.org>',
  'FROM:<a@example.org',
  'FROM:<<a@example.org>>',
  'FROM:<a@example.org>SIZE=1',
  'FROM:<a\u200b@example.org>',
  'FROM:<a\u0085@example.org>',
  `FROM:<${'a'.repeat(250)}@example.org>`,
])('%j is not', (argument) => {
  expect(parsePath('FROM', argument)).toEqual({ ok: false, reason: 'address' });
});

test('parameters are read once each and checked', () => {
  const read = (text: string) => {
    const parsed = parsePath('FROM', `FROM:<> ${text}`);
    return parsed.ok ? parsed.path.parameters : parsed.reason;
  };
  const parameters = read('SIZE=10 body=8BITMIME SMTPUTF8 AUTH=<> X-OTHER=a=b');
  expect(parameters).toEqual(
    new Map(
      Object.entries({
        SIZE: '10',
        BODY: '8BITMIME',
        SMTPUTF8: '',
        AUTH: '<>',
        'X-OTHER': 'a=b',
      }),
    ),
  );
  for (const text of ['SIZE=1 SIZE=2', 'SIZE=1 size=1', '=1', '<x>']) {
    expect(read(text)).toBe('parameters');
  }
  for (const [text, name] of [
    ['SIZE', 'SIZE'],
    ['SIZE=-1', 'SIZE'],
    ['BODY=BINARYMIME', 'BODY'],
    ['SMTPUTF8=1', 'SMTPUTF8'],
    ['SIZE=1 BODY=7BIT', undefined],
  ] as const) {
    expect(invalidMailParameter(read(text) as Map<string, string>)).toBe(name);
  }
});

test('a line is UTF-8 or nothing', () => {
  expect(decodeLine(Buffer.from('RCPT TO:<jürgen@example.org>'))).toContain('jürgen');
  expect(decodeLine(Buffer.from('RCPT TO:<jürgen@example.org>', 'latin1'))).toBeUndefined();
});

test('HTTP requests are recognized', () => {
  expect(isHttpRequest('POST / HTTP/1.1')).toBe(true);
  expect(isHttpRequest('QUERY /x?y HTTP/2.0')).toBe(true);
  expect(isHttpRequest('HELP / HTTP')).toBe(false);
});
