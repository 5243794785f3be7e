import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { CHALLENGE_MS, SignInChallenges } from './sign-in-challenge.ts';

const challenges = new SignInChallenges(randomBytes(32));

test('a challenge is valid for five minutes', () => {
  const challenge = challenges.create(1_000);
  expect(challenges.endOf(challenge, 1_000)).toBe(1_000 + CHALLENGE_MS);
  expect(challenges.endOf(challenge, 1_000 + CHALLENGE_MS)).toBeUndefined();
});

test('a changed, shortened or foreign challenge is rejected', () => {
  const challenge = challenges.create(1_000);
  const later = Buffer.from(challenge);
  later.writeBigUInt64BE(2n ** 50n);
  for (const bad of [later, challenge.subarray(1), challenge.subarray(0, 40), Buffer.alloc(0)]) {
    expect(challenges.endOf(bad, 1_000)).toBeUndefined();
  }
  expect(new SignInChallenges(randomBytes(32)).endOf(challenge, 1_000)).toBeUndefined();
});
