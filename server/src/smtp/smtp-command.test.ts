import { expect, test } from 'vitest';
import { decodeLine, isHttpRequest, parsePath, refusedParameter } from './smtp-command.ts';

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

function parametersOf(text: string): ReadonlyMap<string, string> | string {
  const parsed = parsePath('FROM', `FROM:<> ${text}`);
  return parsed.ok ? parsed.path.parameters : parsed.reason;
}

test('parameters are read once each', () => {
  const entries = { SIZE: '10', BODY: '8BITMIME', SMTPUTF8: '', AUTH: '<>', 'X-OTHER': 'a=b' };
  expect(parametersOf('SIZE=10 body=8BITMIME SMTPUTF8 AUTH=<> X-OTHER=a=b')).toEqual(
    new Map(Object.entries(entries)),
  );
  for (const text of ['SIZE=1 SIZE=2', 'SIZE=1 size=1', '=1', '<x>']) {
    expect(parametersOf(text)).toBe('parameters');
  }
});

test.each([
  ['MAIL', ''],
  ['MAIL', 'SIZE=1 BODY=7BIT'],
  ['MAIL', 'size=00012345 body=8bitmime smtputf8 auth=<>'],
  ['MAIL', 'AUTH=e+2Bmc2@example.com'],
  ['RCPT', ''],
  ['RCPT', 'NOTIFY=NEVER'],
  ['RCPT', 'notify=success,FAILURE,DELAY'],
] as const)('%s accepts the parameters %j', (command, text) => {
  const parameters = parametersOf(text) as Map<string, string>;
  expect(refusedParameter(command, parameters)).toBeUndefined();
});

test.each([
  ['MAIL', 'SIZE', 'SIZE'],
  ['MAIL', 'SIZE=-1', 'SIZE'],
  ['MAIL', 'BODY', 'BODY'],
  ['MAIL', 'BODY=BINARYMIME', 'BODY'],
  ['MAIL', 'SMTPUTF8=1', 'SMTPUTF8'],
  ['MAIL', 'AUTH', 'AUTH'],
  ['MAIL', 'AUTH=a+b', 'AUTH'],
  ['MAIL', 'AUTH=a=b', 'AUTH'],
  ['RCPT', 'NOTIFY=', 'NOTIFY'],
  ['RCPT', 'NOTIFY=NEVER,DELAY', 'NOTIFY'],
] as const)('%s has an invalid parameter in %j', (command, text, name) => {
  const parameters = parametersOf(text) as Map<string, string>;
  expect(refusedParameter(command, parameters)).toEqual({ name, reason: 'invalid' });
});

test.each([
  ['MAIL', 'RET=HDRS'],
  ['MAIL', 'SIZE=10 ENVID=QQ314159'],
  ['MAIL', 'REQUIRETLS'],
  ['MAIL', 'HOLDFOR=3600'],
  ['MAIL', 'BY=120;R'],
  ['MAIL', 'NOTIFY=NEVER'],
  ['MAIL', 'CONSTRUCTOR'],
  ['RCPT', 'ORCPT=rfc822;a@example.com'],
  ['RCPT', 'NOTIFY=NEVER RRVS=2014-04-03T23:01:00Z'],
  ['RCPT', 'SIZE=10'],
] as const)('%s does not support a parameter in %j', (command, text) => {
  const parameters = parametersOf(text) as Map<string, string>;
  expect(refusedParameter(command, parameters)).toMatchObject({ reason: 'unknown' });
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
