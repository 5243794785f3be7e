import { describe, expect, test } from 'vitest';
import { type Script, startDnsServer } from '../../test/harness/smtp/dns-server.ts';
import { systemClock } from '../lib/time/clock.ts';
import { createResolver } from '../mail/dns/resolver.ts';
import { checkRecords } from './check-records.ts';
import { parseTags } from './check-result.ts';
import { type DomainRecord, type RecordPurpose, recordsToPublish } from './dns-records.ts';

// Goal: a correct record is found however it is written, and every common mistake is named. Method:
// the records of one domain, and a scripted DNS server with what its owner published.

const KEY = `MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A${'Abc+/9'.repeat(58)}wIDAQAB`;
const DKIM = `v=DKIM1; k=rsa; p=${KEY}`;
const SELECTOR = 's1._domainkey.example.test';
const BOUNCE = 'bounce.example.test';
const TOKEN = 'postrider-verification=token';
const SPF = 'v=spf1 include:spf.postrider.test ~all';

const records = recordsToPublish({
  domain: 'example.test',
  ownershipToken: 'token',
  keys: [{ selector: 's1', algorithm: 'rsa', slot: 'current', dnsValue: DKIM }],
  returnPathHost: BOUNCE,
  bounceHost: 'mail.postrider.test',
  spfMechanism: 'include:spf.postrider.test',
  tracking: { host: 'links.example.test', target: 'track.postrider.test' },
  receiving: true,
});

async function check(purpose: RecordPurpose, script: Script, of = records) {
  const record = of.find((one) => one.purpose === purpose) as DomainRecord;
  await using server = await startDnsServer(script);
  const resolver = createResolver({ servers: [server.address], clock: systemClock });
  const [checked] = await checkRecords([record], resolver);
  return checked!;
}

/** A short form: status and mistake codes. */
async function verdict(purpose: RecordPurpose, script: Script, of = records): Promise<string> {
  const { status, mistakes } = await check(purpose, script, of);
  return [status, ...mistakes.map(({ code }) => code)].join(' ');
}

const txt = (name: string, ...values: (string | string[])[]): Script => ({
  [name]: { TXT: values },
});

test('finds every record of a domain that publishes all of them', async () => {
  await using server = await startDnsServer({
    '_postrider.example.test': { TXT: [TOKEN] },
    [SELECTOR]: { TXT: [DKIM] },
    [BOUNCE]: { MX: ['10 mail.postrider.test'], TXT: [SPF] },
    '_dmarc.example.test': { TXT: ['v=DMARC1; p=none'] },
    'links.example.test': { CNAME: 'track.postrider.test' },
    'example.test': { MX: ['10 mail.postrider.test'] },
  });
  const resolver = createResolver({ servers: [server.address], clock: systemClock });
  const checked = await checkRecords(records, resolver);
  expect(checked.map(({ status, mistakes }) => [status, mistakes])).toEqual(
    records.map(() => ['found', []]),
  );
  expect(checked.map(({ found }) => found)).toEqual(records.map(({ value }) => [value]));
});

test('a failed lookup says nothing about the record', async () => {
  const checked = await check('ownership', { '_postrider.example.test': 'SERVFAIL' });
  expect(checked).toMatchObject({
    status: 'lookup_failed',
    found: [],
    mistakes: [{ code: 'lookup_failed', detail: expect.stringContaining('SERVFAIL') }],
  });
});

test('a corrected record is seen at once, bypassing the cache', async () => {
  await using server = await startDnsServer({
    '_postrider.example.test': { TXT: ['other'], ttlSeconds: 3600 },
  });
  const resolver = createResolver({ servers: [server.address], clock: systemClock });
  const status = async () => (await checkRecords(records.slice(0, 1), resolver))[0]?.status;
  expect(await status()).toBe('missing');
  server.set('_postrider.example.test', 'TXT', [TOKEN]);
  expect(await status()).toBe('found');
});

describe('a name', () => {
  test.each([
    ['ownership', '_postrider.example.test.example.test', TOKEN, 'Enter only _postrider as'],
    ['dkim', `${SELECTOR}.example.test`, DKIM, 'Enter only s1._domainkey as'],
    ['return_path_spf', `${BOUNCE}.example.test`, SPF, 'Enter only bounce as'],
    ['dmarc', '_dmarc.example.test.example.test', 'v=DMARC1; p=reject', 'Enter only _dmarc as'],
  ] as const)(
    'of %s that the DNS provider appended the domain to is recognized',
    async (purpose, name, value, cure) => {
      const checked = await check(purpose, txt(name, value));
      expect(checked).toMatchObject({
        status: 'missing',
        mistakes: [{ code: 'name_doubled', detail: expect.stringContaining(cure) }],
      });
      expect(checked.mistakes[0]?.detail).toContain(name);
    },
  );

  test('of an MX that the DNS provider appended the domain to is recognized', async () => {
    const script: Script = { [`${BOUNCE}.example.test`]: { MX: ['10 mail.postrider.test'] } };
    expect(await verdict('return_path', script)).toBe('missing name_doubled');
  });

  test('with the parent domain appended to a subdomain is recognized', async () => {
    const below = records.map((record) => ({
      ...record,
      name: record.name.replace('example.test', 'mail.example.test'),
    }));
    const script = txt('s1._domainkey.mail.example.test.example.test', DKIM);
    const checked = await check('dkim', script, below);
    expect(checked.mistakes[0]?.detail).toContain('Enter only s1._domainkey.mail as');
  });

  test('doubled, but with another value published there, is reported as missing', async () => {
    const script = txt('_postrider.example.test.example.test', 'something else');
    expect(await verdict('ownership', script)).toBe('missing');
  });

  test('omitted is recognized', async () => {
    expect(await verdict('ownership', txt('example.test', TOKEN))).toBe('missing wrong_name');
  });

  test('that is a CNAME of something else is reported', async () => {
    const script: Script = {
      [BOUNCE]: { CNAME: 'elsewhere.test' },
      'elsewhere.test': { MX: ['10 mx.elsewhere.test'], TXT: ['v=spf1 -all'] },
    };
    expect(await verdict('return_path', script)).toBe('wrong other_mx cname_in_the_way');
    expect(await verdict('return_path_spf', script)).toBe(
      'wrong spf_mechanism_missing cname_in_the_way',
    );
    expect(await verdict('dkim', { [SELECTOR]: { CNAME: 'nowhere.test' } })).toBe(
      'missing cname_in_the_way',
    );
  });

  test('that is a CNAME of the right record is accepted', async () => {
    const script: Script = { [SELECTOR]: { CNAME: 'keys.test' }, 'keys.test': { TXT: [DKIM] } };
    expect(await verdict('dkim', script)).toBe('found');
  });
});

describe('the ownership record', () => {
  const name = '_postrider.example.test';

  test.each([
    ['alone', [TOKEN], 'found'],
    ['beside other records', ['google-site-verification=x', TOKEN], 'found'],
    ['in two strings', [['postrider-verific', 'ation=token']], 'found'],
    ['with a space at the end', [`${TOKEN} `], 'found'],
    ['in quotes', [`"${TOKEN}"`], 'wrong quotes_in_value'],
    ['in curly quotes', [`“${TOKEN}”`], 'wrong quotes_in_value'],
    ['split by a space', ['postrider-verification= token'], 'wrong split_with_spaces'],
    ['split into records', ['postrider-verific', 'ation=token'], 'wrong split_into_records'],
    ['of another workspace', ['postrider-verification=other'], 'wrong other_value'],
    ['absent', ['v=spf1 -all'], 'missing'],
  ])('%s', async (_, values, expected) => {
    expect(await verdict('ownership', txt(name, ...values))).toBe(expected);
  });
});

describe('the DKIM record', () => {
  const half = Math.floor(KEY.length / 2);
  const quotedParts = `v=DKIM1; k=rsa; p=${KEY.slice(0, half)}" "${KEY.slice(half)}`;

  test.each([
    ['as given', [DKIM], 'found'],
    ['with different whitespace', [`v=DKIM1;k=rsa ;  p = ${KEY} ;`], 'found'],
    ['with tags in another order', [`v=DKIM1; p=${KEY}; k=rsa`], 'found'],
    ['without v and k, which have defaults', [`p=${KEY}`], 'found'],
    ['with additional tags', [`v=DKIM1; t=s; h=sha1:sha256; s=email; n=ours; p=${KEY}`], 'found'],
    [
      'in strings of any length',
      [[DKIM.slice(0, 10), DKIM.slice(10, 200), DKIM.slice(200)]],
      'found',
    ],
    ['in quotes', [`"${DKIM}"`], 'wrong quotes_in_value'],
    ['in quoted parts', [`"${quotedParts}"`], 'wrong quotes_in_value'],
    ['with quotes in the middle', [quotedParts], 'wrong quotes_in_value'],
    ['with escaped semicolons', [DKIM.replaceAll(';', '\\;')], 'wrong backslashes_in_value'],
    ['with escaped quotes', [`\\"${DKIM}\\"`], 'wrong quotes_in_value'],
    [
      'with a space where strings were joined',
      [[`v=DKIM1; k=rsa; p=${KEY.slice(0, half)} `, KEY.slice(half)]],
      'wrong split_with_spaces',
    ],
    ['split into records', [DKIM.slice(100), DKIM.slice(0, 100)], 'wrong split_into_records'],
    ['truncated', [DKIM.slice(0, 255)], 'wrong value_cut_off'],
    ['twice', [DKIM, 'v=DKIM1; k=rsa; p=MIIBold'], 'wrong several_records'],
    ['with an old key', ['v=DKIM1; k=rsa; p=MIIBold'], 'wrong other_key'],
    ['withdrawn', ['v=DKIM1; p='], 'wrong key_revoked'],
    ['of another version', [`v=DKIM2; p=${KEY}`], 'wrong broken_syntax'],
    ['with the version last', [`p=${KEY}; v=DKIM1`], 'wrong broken_syntax'],
    ['for another algorithm', [`v=DKIM1; k=ed25519; p=${KEY}`], 'wrong broken_syntax'],
    ['for another hash', [`v=DKIM1; h=sha1; p=${KEY}`], 'wrong broken_syntax'],
    ['for another service', [`v=DKIM1; s=other; p=${KEY}`], 'wrong broken_syntax'],
    ['without a key', ['v=DKIM1; k=rsa'], 'wrong broken_syntax'],
    ['with a tag twice', [`v=DKIM1; p=${KEY}; p=${KEY}`], 'wrong broken_syntax'],
    ['hidden by a wildcard', ['v=spf1 -all'], 'missing other_value'],
  ])('%s', async (_, values, expected) => {
    expect(await verdict('dkim', txt(SELECTOR, ...values))).toBe(expected);
  });

  test('that is truncated reports the length', async () => {
    const { mistakes } = await check('dkim', txt(SELECTOR, DKIM.slice(0, 255)));
    expect(mistakes[0]?.detail).toContain(
      `after ${255 - 'v=DKIM1; k=rsa; p='.length} of ${KEY.length}`,
    );
  });
});

describe('the SPF record', () => {
  test.each([
    ['as given', [SPF], 'found'],
    [
      'with others and another end',
      ['v=spf1  a mx INCLUDE:spf.postrider.test ip4:192.0.2.1 -all'],
      'found',
    ],
    ['with a plus', ['v=spf1 +include:spf.postrider.test ~all'], 'found'],
    ['beside other texts', ['verification=1', SPF], 'found'],
    ['without an end', ['v=spf1 include:spf.postrider.test'], 'found'],
    [
      'that allows everyone',
      ['v=spf1 include:spf.postrider.test +all'],
      'found spf_allows_everyone',
    ],
    ['twice', [SPF, 'v=spf1 mx -all'], 'wrong several_records'],
    [
      'without our mechanism',
      ['v=spf1 include:_spf.other.test ~all'],
      'wrong spf_mechanism_missing',
    ],
    [
      'with our mechanism negated',
      ['v=spf1 -include:spf.postrider.test ~all'],
      'wrong spf_mechanism_missing',
    ],
    [
      'with our mechanism after all',
      ['v=spf1 -all include:spf.postrider.test'],
      'wrong spf_mechanism_unread',
    ],
    ['with a space in it', ['v=spf1 include:spf. postrider.test ~all'], 'wrong split_with_spaces'],
    ['in quotes', [`"${SPF}"`], 'wrong quotes_in_value'],
    [
      'split into records',
      ['v=spf1 include:spf.', 'postrider.test ~all'],
      'wrong split_into_records',
    ],
    ['absent', ['hello'], 'missing'],
  ])('%s', async (_, values, expected) => {
    expect(await verdict('return_path_spf', txt(BOUNCE, ...values))).toBe(expected);
  });

  test('duplicated comes with a merged value', async () => {
    const { mistakes } = await check(
      'return_path_spf',
      txt(BOUNCE, 'v=spf1 mx -all', 'v=spf1 a ~all'),
    );
    expect(mistakes[0]?.detail).toContain('v=spf1 mx a include:spf.postrider.test ~all');
  });

  test('requires each of our mechanisms', async () => {
    const both = records.map((record) => ({
      ...record,
      value: record.value.replace('include:spf.postrider.test', 'ip4:192.0.2.1 ip6:2001:db8::1'),
    }));
    const half = await check('return_path_spf', txt(BOUNCE, 'v=spf1 ip4:192.0.2.1 ~all'), both);
    expect(half.mistakes[0]?.detail).toContain('Add "ip6:2001:db8::1"');
  });
});

describe('the DMARC record', () => {
  const name = '_dmarc.example.test';

  test.each([
    ['as given', ['v=DMARC1; p=none'], 'found'],
    [
      'with another policy',
      ['v=DMARC1;p=Reject;sp=quarantine;np=reject;adkim=s;aspf=r;t=y;psd=n;fo=1:d;'],
      'found',
    ],
    ['with reports', ['v=DMARC1; p=none; rua=mailto:a@x.test, mailto:b@y.test'], 'found'],
    ['with unknown tags', ['v=DMARC1; p=none; x_new=1'], 'found'],
    ['with pct', ['v=DMARC1; p=none; pct=100'], 'found obsolete_tag'],
    [
      'with all obsolete tags',
      ['v=DMARC1; p=none; pct=1; rf=afrf; ri=86400'],
      'found obsolete_tag obsolete_tag obsolete_tag',
    ],
    ['without a policy', ['v=DMARC1; rua=mailto:a@x.test'], 'found broken_syntax'],
    ['with an unknown policy', ['v=DMARC1; p=monitor'], 'wrong broken_syntax'],
    ['with an invalid alignment', ['v=DMARC1; p=none; adkim=relaxed'], 'wrong broken_syntax'],
    ['with a bare report address', ['v=DMARC1; p=none; rua=a@x.test'], 'wrong broken_syntax'],
    ['separated by commas', ['v=DMARC1, p=none'], 'wrong broken_syntax'],
    ['in lower case', ['v=dmarc1; p=none'], 'wrong broken_syntax'],
    ['with the version last', ['p=none; v=DMARC1'], 'wrong broken_syntax'],
    ['with a tag without a value', ['v=DMARC1; p=none; fo'], 'wrong broken_syntax'],
    ['twice', ['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 'wrong several_records'],
    ['in quotes', ['"v=DMARC1; p=none"'], 'wrong quotes_in_value'],
    ['escaped', ['v=DMARC1\\; p=none'], 'wrong backslashes_in_value'],
    ['split into records', ['v=DMARC1;', 'p=none'], 'wrong split_into_records'],
    ['absent', ['v=spf1 -all'], 'missing'],
  ])('%s', async (_, values, expected) => {
    expect(await verdict('dmarc', txt(name, ...values))).toBe(expected);
  });

  describe('of a subdomain', () => {
    const below = records.map((record) => ({
      ...record,
      name: record.name.replace('example.test', 'a.mail.example.test'),
    }));

    test('may be published at the parent domain', async () => {
      const checked = await check('dmarc', txt('_dmarc.example.test', 'v=DMARC1; p=reject'), below);
      expect(checked).toMatchObject({
        status: 'found',
        found: ['_dmarc.example.test: v=DMARC1; p=reject'],
      });
    });

    test('may be published far above, where receivers look for it', async () => {
      const deep = below.map((one) => ({ ...one, name: one.name.replace('.a.', '.a.b.c.d.e.f.') }));
      const script = txt('_dmarc.example.test', 'v=DMARC1; p=reject');
      expect(await verdict('dmarc', script, deep)).toBe('found');
      // RFC 9989 section 4.10: from a name of nine labels, receivers continue at seven.
      const skipped = txt('_dmarc.b.c.d.e.f.mail.example.test', 'v=DMARC1; p=reject');
      expect(await verdict('dmarc', skipped, deep)).toBe('missing');
    });

    test('of a public suffix does not count', async () => {
      const script = txt('_dmarc.example.test', 'v=DMARC1; p=reject; psd=y');
      expect(await verdict('dmarc', script, below)).toBe('missing');
    });
  });
});

describe('the return path', () => {
  test.each([
    ['points to us', ['10 mail.postrider.test'], 'found'],
    ['with another preference', ['50 MAIL.postrider.test'], 'found'],
    ['with a backup of lower priority', ['10 mail.postrider.test', '20 backup.test'], 'found'],
    ['points elsewhere', ['10 mx.other.test'], 'wrong other_mx'],
    ['null MX', ['0 .'], 'wrong other_mx'],
    ['points elsewhere first', ['5 mx.other.test', '10 mail.postrider.test'], 'wrong other_mx'],
    ['shared with another host', ['10 mx.other.test', '10 mail.postrider.test'], 'wrong other_mx'],
    ['with the domain appended', ['10 mail.postrider.test.example.test'], 'wrong target_doubled'],
    ['points to us twice', ['20 mail.postrider.test', '10 Mail.postrider.test'], 'found'],
    [
      'points to us twice, with another host between',
      ['20 mail.postrider.test', '15 mx.other.test', '10 mail.postrider.test'],
      'found',
    ],
  ])('%s', async (_, MX, expected) => {
    expect(await verdict('return_path', { [BOUNCE]: { MX } })).toBe(expected);
  });
});

describe('the domain that receives mail', () => {
  test.each([
    ['points to us', ['10 mail.postrider.test'], 'found'],
    ['nothing published', [], 'missing'],
    ['points elsewhere', ['1 aspmx.mailboxes.test'], 'wrong other_mx'],
    ['shared with another host', ['10 mx.other.test', '10 mail.postrider.test'], 'wrong other_mx'],
    ['with a backup', ['10 mail.postrider.test', '20 backup.test'], 'found other_mx'],
    ['with the domain appended', ['10 mail.postrider.test.example.test'], 'wrong target_doubled'],
  ])('%s', async (_, MX, expected) => {
    expect(await verdict('receiving', { 'example.test': { MX } })).toBe(expected);
  });

  test('suggests a subdomain where mailboxes may be elsewhere', async () => {
    const { mistakes } = await check('receiving', {
      'example.test': { MX: ['1 aspmx.mailboxes.test'] },
    });
    expect(mistakes[0]?.detail).toBe(
      'Mail to example.test is delivered to aspmx.mailboxes.test instead of this server. If that is where your mailboxes are, keep the record and receive mail at a subdomain.',
    );
  });
});

describe('the tracking host', () => {
  test.each([
    ['points to us', { CNAME: 'Track.postrider.test' }, 'found'],
    ['points elsewhere', { CNAME: 'other.test' }, 'wrong other_value'],
    [
      'with the domain appended',
      { CNAME: 'track.postrider.test.example.test' },
      'wrong target_doubled',
    ],
    ['published as an address', { A: ['192.0.2.1'] }, 'missing'],
  ])('%s', async (_, of, expected) => {
    expect(await verdict('tracking', { 'links.example.test': of })).toBe(expected);
  });
});

test('the values of an oversized zone are truncated', async () => {
  const values = Array.from({ length: 12 }, (_, i) => `${i}${'x'.repeat(2500)}`);
  const { found } = await check('ownership', txt('_postrider.example.test', ...values));
  expect(found).toHaveLength(10);
  expect(found.every((value) => value.length === 2000)).toBe(true);
});

test('a mistake quotes only a limited part of the zone', async () => {
  const long = `v=spf1 ${Array.from({ length: 1000 }, (_, i) => `a:${i}.test`).join(' ')}`;
  const { mistakes } = await check('return_path_spf', txt(BOUNCE, long, `${long} ~all`));
  expect(mistakes.map(({ code, detail }) => [code, detail.length])).toEqual([
    ['several_records', 2000],
  ]);
});

test.each([
  ['a NUL', 'a\0b', 'a\ufffdb'],
  ['a surrogate pair cut in half', `${'x'.repeat(1999)}😀`, `${'x'.repeat(1999)}\ufffd`],
])('found values can be stored, also with %s', async (_, published, kept) => {
  expect((await check('ownership', txt('_postrider.example.test', published))).found).toEqual([
    kept,
  ]);
});

test('a record of thousands of tags is parsed in linear time', () => {
  const tags = Array.from({ length: 400_000 }, (_, i) => `a${i}=`).join(';');
  // With a quadratic algorithm, this test would time out.
  expect(parseTags(tags)).toHaveLength(400_000);
  expect(parseTags(`${tags};a0=`)).toBeUndefined();
});
