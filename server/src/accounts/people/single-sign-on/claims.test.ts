import { expect, test } from 'vitest';
import { toClaims } from './claims.ts';

const subject = { sub: 'kim' };

test('claims that the ID token lacks are read from the user info', () => {
  const idToken = { ...subject, email: 'kim@shop.example', email_verified: 'true' };
  const userInfo = { ...subject, name: 'Kim', groups: ['a'], email: 'other@shop.example' };
  expect(toClaims(idToken, userInfo, 'groups')).toEqual({
    subject: 'kim',
    email: 'kim@shop.example',
    emailVerified: true,
    name: 'Kim',
    groups: ['a'],
  });
});

test('one source does not prove the address of the other', () => {
  const idToken = { ...subject, email: 'owner@shop.example' };
  const verified = { ...subject, email: 'kim@shop.example', email_verified: true };
  expect(toClaims(idToken, verified, 'groups')).toMatchObject({
    email: 'kim@shop.example',
    emailVerified: true,
  });
  const { email: _, ...without } = verified;
  expect(toClaims(idToken, without, 'groups')).toMatchObject({
    email: 'owner@shop.example',
    emailVerified: undefined,
  });
});

test('a subject that identifies no one is refused, and control characters in a name are spaces', () => {
  for (const sub of [undefined, 7, '', 'a\0b', 'é', 'a'.repeat(256)]) {
    expect(() => toClaims({ sub }, {}, 'groups')).toThrow('invalid_response');
  }
  const claims = toClaims({ ...subject, name: ' Kim\0\n Lee ' }, {}, 'groups');
  expect(claims.name).toBe('Kim Lee');
});
