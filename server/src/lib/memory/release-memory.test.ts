import { expect, test } from 'vitest';
import { releaseMemory, youngGenerationBytes } from './release-memory.ts';

test('the young generation shrinks', () => {
  growYoungGeneration();
  const grown = youngGenerationBytes();
  expect(grown).toBeGreaterThan(8 * 1024 * 1024);
  releaseMemory();
  expect(youngGenerationBytes()).toBeLessThan(grown / 2);
});

/** It grows when much of it survives. */
function growYoungGeneration(): void {
  let survivors: object[] = [];
  for (let n = 0; n < 300_000; n++) {
    survivors.push({ n, list: [n] });
    if (survivors.length > 100_000) survivors = [];
  }
}
