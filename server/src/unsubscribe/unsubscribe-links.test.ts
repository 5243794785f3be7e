import { expect, it } from 'vitest';
import { UnsubscribeLinks } from './unsubscribe-links.ts';

/** Goal: only links that we issued are accepted, and they do not show the address. */

const secretKey = Buffer.alloc(32, 7);
const parts = {
  ...{ secretKey, baseUrl: 'https://mail.example.com' },
  ...{ bounceHost: 'bounces.example.com', returnPathKey: secretKey },
};
const links = new UnsubscribeLinks(parts);
const link = {
  workspaceId: '01890a5d-ac96-774b-bcce-b302099a8057',
  mode: 'live' as const,
  messageId: '01890a5d-ac96-774b-bcce-b302099a8058',
  stream: 'weekly-digest',
  recipientKey: '"jane doe"@example.com',
};

function tokenOf(given: typeof link | (Omit<typeof link, 'mode'> & { mode: 'test' })): string {
  return links.urlFor(given).slice('https://mail.example.com/u/'.length);
}

it('a link says who leaves what, in both modes, without showing the address', () => {
  for (const mode of ['live', 'test'] as const) {
    const given = { ...link, mode } as typeof link;
    const token = tokenOf(given);
    expect(links.read(token)).toEqual(given);
    expect(Buffer.from(token, 'base64url').toString('latin1')).not.toContain('jane');
  }
});

it('no bit can be changed, and nothing can be added or removed', () => {
  const token = tokenOf(link);
  const bytes = Buffer.from(token, 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    expect(links.read(changed.toString('base64url'))).toBeUndefined();
  }
  for (let length = 0; length < bytes.length; length++) {
    expect(links.read(bytes.subarray(0, length).toString('base64url'))).toBeUndefined();
  }
  const longer = Buffer.concat([bytes, Buffer.from('x')]).toString('base64url');
  for (const text of [longer, `${token}=`, `${token}!`, '', 'x', 'a'.repeat(10_000)]) {
    expect(links.read(text)).toBeUndefined();
  }
});

it('another key does not accept it', () => {
  const other = new UnsubscribeLinks({ ...parts, secretKey: Buffer.alloc(32, 8) });
  expect(other.read(tokenOf(link))).toBeUndefined();
});

it('mail can be sent instead, if it is received and the message was delivered', () => {
  expect(links.mailtoFor(link)).toMatch(
    /^mailto:u-[a-z2-7]+@bounces\.example\.com\?subject=unsubscribe$/,
  );
  expect(links.mailtoFor({ ...link, mode: 'test' })).toBeUndefined();
  const closed = new UnsubscribeLinks({ ...parts, bounceHost: undefined });
  expect(closed.mailtoFor(link)).toBeUndefined();
});
