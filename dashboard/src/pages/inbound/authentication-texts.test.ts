import { expect, test } from 'vitest';
import { explainAuthentication } from './authentication-texts.ts';

const DMARC = { result: 'pass', policy: 'none', domain: 'shop.example' } as const;
const SPF = { result: 'pass', domain: 'shop.example' } as const;

test('each signature is explained, and a message without any is not signed', () => {
  const signed = { result: 'pass', domain: 'shop.example', selector: 's1' } as const;
  const checks = explainAuthentication({ spf: SPF, dkim: [signed, signed], dmarc: DMARC });
  expect(checks.map(({ check }) => check)).toEqual(['DMARC', 'SPF', 'DKIM', 'DKIM']);
  expect(checks[3]).toMatchObject({ tone: 'good', result: 'pass' });
  expect(explainAuthentication({ spf: SPF, dkim: [], dmarc: DMARC })[2]).toEqual({
    check: 'DKIM',
    result: 'none',
    tone: 'plain',
    explanation: 'The message is not signed.',
  });
});

test.each([
  ['reject', /confirms that it comes from shop\.example, which asks receivers to reject it\.$/],
  ['quarantine', /to treat it as suspicious\.$/],
  [null, /confirms that it comes from shop\.example\.$/],
] as const)('a failure with the policy %s says what its domain asks for', (policy, expected) => {
  const dmarc = { result: 'fail', policy, domain: 'shop.example' } as const;
  const [first] = explainAuthentication({ spf: SPF, dkim: [], dmarc });
  expect(first).toMatchObject({ check: 'DMARC', tone: 'bad' });
  expect(first?.explanation).toMatch(expected);
});

test('an empty envelope sender has no domain to check', () => {
  const spf = { result: 'none', domain: null } as const;
  const [, second] = explainAuthentication({ spf, dkim: [], dmarc: DMARC });
  expect(second).toMatchObject({ tone: 'plain', explanation: 'There is no domain to check.' });
});
