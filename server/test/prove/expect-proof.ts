import { expect } from 'vitest';
import { createTempDir } from '../harness/temp-dir.ts';
import { type ProveOptions, prove } from './prove.ts';
import { summaryOf } from './report.ts';

/** The short form of `npm run prove` for the gate. */
export async function expectProof(
  options: Omit<ProveOptions, 'seed' | 'out' | 'settleMs'>,
): Promise<void> {
  await using folder = await createTempDir();
  const seed = Date.now() % 2 ** 31;
  const { findings } = await prove({ ...options, seed, settleMs: 1_000, out: folder.path });
  expect({ seed, violations: findings.violations }).toEqual({ seed, violations: [] });
  expect(findings.counts.recipientsAccepted).toBeGreaterThan(options.failures * 3);
  console.log(`Seed ${seed}: ${summaryOf(findings)}`);
}
