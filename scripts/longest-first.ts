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

/** Files that take twenty seconds or more, longest first. */
const LONGEST = [
  'accessibility-and-layout',
  'unsaved-changes-are-kept',
  'docs-and-dashboard-share-theme',
  'first-start',
  'cell-router',
  'nodes-survive-crashes',
  'delivery-node-failover',
  'backup-and-restore',
  'first-run-to-first-message',
  'workspace-move',
  'keyboard-navigation',
  'bounce-explanations',
  'webhooks-survive-worker-crashes',
  'list-search',
  'http-api-fuzzing',
  'rolling-restart',
  'template-authoring',
  'cli-over-http',
  'webhook-endpoint-isolation',
  'live-delivery-configuration',
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.indexOf(path.basename(moduleId, '.test.ts'));
  return at < 0 ? LONGEST.length : at;
}
