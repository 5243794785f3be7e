import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { PendingSignIns, valuesOf } from './pending-sign-in.ts';

const pendings = new PendingSignIns(randomBytes(32));

test('the cookie returns what was started', () => {
  const { pending, text } = pendings.start('a workspace', '/messages', 1_000);
  expect(pendings.read(text)).toEqual(pending);
  expect(text).toMatch(/^[\w-]+\.[\w-]+$/);
});

test('a changed cookie, or one of another server, is rejected', () => {
  const { text } = pendings.start('a workspace', '/', 1_000);
  const [body = '', signature = ''] = text.split('.');
  const other = Buffer.from('{"workspaceId":"another"}').toString('base64url');
  for (const bad of ['', body, `${other}.${signature}`, `${body}.${signature.slice(1)}`, 'a.b']) {
    expect(pendings.read(bad)).toBeUndefined();
  }
  expect(new PendingSignIns(randomBytes(32)).read(text)).toBeUndefined();
});

test('every sign-in has its own state, nonce and verifier', () => {
  const first = valuesOf(pendings.start('a workspace', '/', 1_000).pending);
  const second = valuesOf(pendings.start('a workspace', '/', 1_000).pending);
  const all = [...Object.values(first), ...Object.values(second)];
  expect(new Set(all).size).toBe(all.length);
  // RFC 7636 section 4.1: 43 to 128 unreserved characters.
  expect(first.codeVerifier).toMatch(/^[\w-]{43}$/);
});
