import { type GeneratedDkimKeys, generateDkimKeys } from '../../../src/mail/dkim/keys.ts';

/**
 * DKIM keys for the domains of tests. Finding the primes of an RSA key takes as long as most tests, so
 * that a worker generates a few pairs with the server's generator and hands them out in turn. The keys
 * of one test differ unless it needs more than that; servers in processes of their own generate theirs.
 */

const PAIRS = 12;

const pairs: Promise<GeneratedDkimKeys>[] = [];
let handedOut = 0;

export function nextDkimKeys(): Promise<GeneratedDkimKeys> {
  const index = handedOut % PAIRS;
  handedOut += 1;
  pairs[index] ??= generateDkimKeys();
  return pairs[index];
}
