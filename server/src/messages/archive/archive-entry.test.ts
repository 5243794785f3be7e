import { expect, test } from 'vitest';
import type { MessageContent } from '../content/message-content.ts';
import { openEntry, sealEntry } from './archive-entry.ts';

const CONTENT: MessageContent = {
  subject: 'Grüße',
  head: { from: { email: 'a@example.com' }, to: [], cc: [], reply_to: [], headers: [] },
  html: '<p>Hello</p>'.repeat(500),
  text: null,
  attachments: [
    { filename: 'a.bin', contentType: 'application/octet-stream', content: Buffer.from([0, 255]) },
    { filename: 'e', contentType: 'text/plain', content: Buffer.alloc(0), contentId: 'e@x' },
  ],
};

test('an entry is read as it was written, and takes less space', async () => {
  const sealed = await sealEntry(CONTENT);
  expect(await openEntry(sealed)).toEqual(CONTENT);
  expect(sealed.bytes.length).toBeLessThan(CONTENT.html.length / 10);
  expect(sealed.bytes.includes('Hello')).toBe(false);
});

test('an entry that was changed, or read with another key, is refused', async () => {
  const { key, bytes } = await sealEntry(CONTENT);
  const changed = Buffer.from(bytes);
  changed[bytes.length - 1] = (changed[bytes.length - 1] as number) ^ 1;
  await expect(openEntry({ key, bytes: changed })).rejects.toThrow();
  await expect(openEntry({ key, bytes: bytes.subarray(0, -1) })).rejects.toThrow();
  const { key: other } = await sealEntry(CONTENT);
  await expect(openEntry({ key: other, bytes })).rejects.toThrow();
});
