import { expect, test } from 'vitest';
import { parseCapabilities } from './capabilities.ts';

test('extensions are parsed in any case, and the first line is a name, not an extension', () => {
  const offered = parseCapabilities([
    '250-PIPELINING.example.test says hello',
    '250-pipelining',
    '250-chunking',
    '250-SIZE 10485760',
    '250-8BitMime',
    '250-SMTPUTF8',
    '250-STARTTLS',
    '250-DSN',
    '250-AUTH PLAIN login',
    '250 HELP',
  ]);
  expect(offered).toEqual({
    pipelining: true,
    chunking: true,
    eightBitMime: true,
    smtpUtf8: true,
    startTls: true,
    dsn: true,
    size: true,
    sizeMaxBytes: 10485760,
    auth: new Set(['PLAIN', 'LOGIN']),
  });
  expect(parseCapabilities(['250 PIPELINING']).pipelining).toBe(false);
});

test.each(['250 SIZE', '250 SIZE 0', '250 SIZE lots'])('%j means no limit', (line) => {
  const offered = parseCapabilities(['250-mx', line]);
  expect(offered).toMatchObject({ size: true, sizeMaxBytes: null });
});

test('the old spelling of AUTH is parsed too', () => {
  expect(parseCapabilities(['250-mx', '250 AUTH=LOGIN PLAIN']).auth).toEqual(
    new Set(['LOGIN', 'PLAIN']),
  );
});
