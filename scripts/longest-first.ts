import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts the longest test files of each project first, so that no worker sits idle at the end of a run
 * while the other one works through a file of several minutes. Projects stay together: a worker that
 * changes to another project is replaced, and the new one loads the server and starts PostgreSQL again.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    const order = ({ project }: TestSpecification): number => projects.indexOf(project.name);
    return sorted.toSorted((a, b) => order(a) - order(b) || rank(a) - rank(b));
  }
}

/** Files that take forty seconds or more, longest first. */
const LONGEST = [
  'accessibility-and-layout',
  'docs-and-dashboard-share-theme',
  'nodes-survive-crashes',
  'unsaved-changes-are-kept',
  'accepted-mail-survives-crashes',
  'first-start',
  'first-run-to-first-message',
  'keyboard-navigation',
  'http-api-fuzzing',
  'backup-and-restore',
  'bounce-explanations',
  'bundle-size-and-long-lists',
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.indexOf(path.basename(moduleId, '.test.ts'));
  return at < 0 ? LONGEST.length : at;
}
