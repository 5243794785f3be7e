import { describe, expect, test } from 'vitest';
import { newOwnershipToken, recordsToPublish } from './dns-records.ts';

const key = (
  selector: string,
  algorithm: 'rsa' | 'ed25519',
  slot: 'current' | 'next' | 'retired',
) => ({
  selector,
  algorithm,
  slot,
  dnsValue: `v=DKIM1; k=${algorithm}; p=${selector}`,
});

const WANTED = {
  domain: 'example.com',
  ownershipToken: 'token',
  keys: [
    key('r1', 'rsa', 'current'),
    key('r2', 'rsa', 'next'),
    key('e1', 'ed25519', 'current'),
    key('e2', 'ed25519', 'next'),
    key('r0', 'rsa', 'retired'),
  ],
  returnPathHost: 'bounce.example.com',
  bounceHost: 'mail.postrider.test',
  spfMechanism: 'include:spf.postrider.test',
  receiving: false,
};
const records = recordsToPublish(WANTED);

describe('the DNS records of a domain', () => {
  test('are listed in order', () => {
    const lines = records.map(
      ({ type, name, value, required }) =>
        `${type} ${name} ${value}${required ? '' : ' (optional)'}`,
    );
    expect(lines).toEqual([
      'TXT _postrider.example.com postrider-verification=token',
      'TXT r1._domainkey.example.com v=DKIM1; k=rsa; p=r1',
      'TXT r2._domainkey.example.com v=DKIM1; k=rsa; p=r2',
      'TXT e1._domainkey.example.com v=DKIM1; k=ed25519; p=e1 (optional)',
      'TXT e2._domainkey.example.com v=DKIM1; k=ed25519; p=e2 (optional)',
      'TXT r0._domainkey.example.com v=DKIM1; k=rsa; p=r0 (optional)',
      'MX bounce.example.com 10 mail.postrider.test',
      'TXT bounce.example.com v=spf1 include:spf.postrider.test ~all',
      'TXT _dmarc.example.com v=DMARC1; p=none (optional)',
    ]);
  });

  test('each have a one-sentence explanation', () => {
    for (const { explanation } of records) expect(explanation).toMatch(/^[A-Z].+\.$/);
  });

  test('explain when the server has no fully qualified name', () => {
    const ofHost = (host: string) =>
      recordsToPublish({ ...WANTED, bounceHost: host, spfMechanism: `a:${host}` })
        .filter(({ purpose }) => purpose.startsWith('return_path'))
        .map(({ explanation }) => /“laptop” is not a fully qualified host name/.test(explanation));
    expect(ofHost('laptop')).toEqual([true, true]);
    expect(ofHost('mail.example.net')).toEqual([false, false]);
  });

  test('include the tracking host, if there is one', () => {
    const more = recordsToPublish({
      domain: 'example.com',
      ownershipToken: 'token',
      keys: [],
      returnPathHost: 'bounce.example.com',
      bounceHost: 'mail.postrider.test',
      spfMechanism: 'a:mail.postrider.test',
      tracking: { host: 'links.example.com', target: 'track.postrider.test' },
      receiving: false,
    });
    expect(more.at(-1)).toMatchObject({
      purpose: 'tracking',
      type: 'CNAME',
      name: 'links.example.com',
      value: 'track.postrider.test',
      required: false,
    });
  });

  test('include an MX record for the domain that receives mail, which sending does not need', () => {
    const more = recordsToPublish({ ...WANTED, receiving: true });
    expect(more.slice(0, -1)).toEqual(records);
    expect(more.at(-1)).toMatchObject({
      purpose: 'receiving',
      type: 'MX',
      name: 'example.com',
      value: '10 mail.postrider.test',
      required: false,
    });
  });
});

test('ownership tokens are long and unique', () => {
  const tokens = new Set(Array.from({ length: 100 }, newOwnershipToken));
  expect(tokens.size).toBe(100);
  for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{48}$/);
});
