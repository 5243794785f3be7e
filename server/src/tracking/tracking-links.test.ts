import { expect, it } from 'vitest';
import { TrackingLinks } from './tracking-links.ts';

/** Goal: only URLs that we signed are accepted. */

const links = new TrackingLinks(Buffer.alloc(32, 7));
const message = {
  workspaceId: '01890a5d-ac96-774b-bcce-b302099a8057',
  mode: 'live' as const,
  messageId: '01890a5d-ac96-774b-bcce-b302099a8058',
};
const URL_ = 'https://shop.example/a?b=1';

function clickOf(path: string): [token: string, url: string] {
  const [, , , token = '', url = ''] = path.split('/');
  return [token, url];
}

it('a click is parsed', () => {
  expect(links.readClick(...clickOf(links.clickPath(message, URL_)))).toEqual({
    ...message,
    url: URL_,
  });
});

it('an open is parsed, in both modes', () => {
  for (const mode of ['live', 'test'] as const) {
    const token = links.openPath({ ...message, mode }).slice('/t/o/'.length, -'.gif'.length);
    expect(links.readOpen(token)).toEqual({ ...message, mode });
  }
});

it('another URL with the same signature is rejected', () => {
  const [token] = clickOf(links.clickPath(message, URL_));
  const evil = Buffer.from('https://evil.example/').toString('base64url');
  expect(links.readClick(token, evil)).toBeUndefined();
});

it('no bit can be changed', () => {
  const [token, url] = clickOf(links.clickPath(message, URL_));
  const bytes = Buffer.from(token, 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    expect(links.readClick(changed.toString('base64url'), url)).toBeUndefined();
  }
});

it('an open token is not a click token, and vice versa', () => {
  const open = links.openPath(message).slice('/t/o/'.length, -'.gif'.length);
  expect(links.readClick(open, '')).toBeUndefined();
  const [click] = clickOf(links.clickPath(message, ''));
  expect(links.readOpen(click)).toBeUndefined();
});

it('tokens of another SECRET_KEY are rejected', () => {
  const other = new TrackingLinks(Buffer.alloc(32, 8));
  expect(other.readClick(...clickOf(links.clickPath(message, URL_)))).toBeUndefined();
});

it.each(['', 'x', '%%%', 'A'.repeat(66), 'A'.repeat(5_000)])('%j is rejected', (token) => {
  expect(links.readOpen(token)).toBeUndefined();
});
