import { expect, it } from 'vitest';
import { isMachine } from './machine-detection.ts';

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';

it.each<[string, Record<string, string>]>([
  ['a browser', { 'user-agent': CHROME }],
  [
    'a phone',
    { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15' },
  ],
  ['Outlook', { 'user-agent': 'Mozilla/4.0 (compatible; ms-office; MSOffice 16)' }],
  [
    'Gmail',
    {
      'user-agent':
        'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    },
  ],
  [
    'Thunderbird',
    { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.0' },
  ],
])('%s counts as human', (_, headers) => {
  expect(isMachine({ method: 'GET', headers })).toBe(false);
});

it.each<[string, Record<string, string>]>([
  ['a client without a user agent', {}],
  ['a prefetching browser', { 'user-agent': CHROME, 'sec-purpose': 'prefetch;prerender' }],
  ['an older prefetching browser', { 'user-agent': CHROME, purpose: 'prefetch' }],
  ['Apple Mail Privacy Protection', { 'user-agent': 'Mozilla/5.0' }],
  [
    'a crawler',
    { 'user-agent': 'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)' },
  ],
  ['a script', { 'user-agent': 'python-requests/2.32' }],
  ['curl', { 'user-agent': 'curl/8.9.1' }],
  [
    'a chat link preview',
    { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' },
  ],
  ['a scanner', { 'user-agent': 'Mozilla/5.0 (compatible; BarracudaCentral/1.0)' }],
])('%s counts as a machine', (_, headers) => {
  expect(isMachine({ method: 'GET', headers })).toBe(true);
});

it('HEAD requests count as machine traffic', () => {
  expect(isMachine({ method: 'HEAD', headers: { 'user-agent': CHROME } })).toBe(true);
});
