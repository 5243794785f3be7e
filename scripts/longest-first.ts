import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts the longest test files first, so that no worker sits idle at the end of a run while the
 * other one works through a file of several minutes.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Files that take a minute or more, longest first. */
const LONGEST = [
  'accessibility-and-layout',
  'crash-consistency',
  'unsaved-changes-are-kept',
  'http-api-fuzzing',
  'bounce-explanations',
  'keyboard-navigation',
  'accepted-mail-survives-crashes',
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.indexOf(path.basename(moduleId, '.test.ts'));
  return at < 0 ? LONGEST.length : at;
}
