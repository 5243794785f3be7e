import { expect, test } from 'vitest';
import { relativeName, splitValue, zoneFile } from './zone-file.ts';

test('a zone file contains each record on a line, with absolute names', () => {
  const long = `v=DKIM1; p=${'A'.repeat(300)}`;
  const file = zoneFile([
    { type: 'TXT', name: 'a.acme.test', value: 'say "hi"' },
    { type: 'TXT', name: 'k._domainkey.acme.test', value: long },
    { type: 'MX', name: 'bounce.acme.test', value: '10 mail.postrider.test' },
    { type: 'CNAME', name: 'links.acme.test', value: 'track.postrider.test' },
  ]);
  expect(file.split('\n')).toEqual([
    'a.acme.test. 3600 IN TXT "say \\"hi\\""',
    `k._domainkey.acme.test. 3600 IN TXT "${long.slice(0, 255)}" "${long.slice(255)}"`,
    'bounce.acme.test. 3600 IN MX 10 mail.postrider.test.',
    'links.acme.test. 3600 IN CNAME track.postrider.test.',
    '',
  ]);
});

test('only MX records have a priority', () => {
  expect(splitValue({ type: 'MX', name: '', value: '10 mx.test' })).toEqual({
    priority: '10',
    value: 'mx.test',
  });
  expect(splitValue({ type: 'TXT', name: '', value: '10 mx.test' }).priority).toBe('');
});

test('names are relative to their zone', () => {
  expect(relativeName('bounce.mail.acme.test', 'acme.test')).toBe('bounce.mail');
  expect(relativeName('acme.test', 'acme.test')).toBe('@');
  expect(relativeName('bounce.notacme.test', 'acme.test')).toBe('bounce.notacme.test');
});
