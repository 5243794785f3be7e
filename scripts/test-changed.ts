import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project-files.ts';

/**
 * `npm run test:changed` runs the tests that a change most likely affects: unit tests that import a
 * changed file, changed test files, and the scenarios of the changed modules. Every scenario runs the
 * whole server, so imports cannot select among them; their folders do. The changes are the uncommitted
 * ones, or those since a commit: `npm run test:changed -- main`. With `--list` nothing is run.
 */

/**
 * Scenarios by module in server/src: their folder, or how their path begins. Modules that every scenario
 * uses have none of their own; their unit tests and those of the modules above find most mistakes.
 */
export const SCENARIOS: Record<string, readonly string[]> = {
  accounts: ['accounts/', 'workspaces/'],
  bootstrap: ['operations/first-start', 'failures/restart', 'delivery/delivery-thread'],
  bounces: ['bounces/', 'failures/bounce'],
  cli: ['cli/'],
  compat: ['compat/'],
  config: ['operations/first-start', 'delivery/live-delivery-configuration'],
  contacts: ['contacts/'],
  db: ['operations/', 'failures/database', 'failures/restart', 'failures/storage', 'failures/read'],
  delivery: ['delivery/', 'failures/delivery', 'failures/two-nodes'],
  domains: ['domains/', 'inbound/receiving-domains', 'delivery/live-delivery-dkim-signed'],
  events: ['events/'],
  http: ['http/'],
  inbound: ['inbound/', 'failures/inbound'],
  lib: [],
  logs: ['logs/'],
  mail: ['delivery/', 'domains/dkim-key-rotation', 'smtp/'],
  messages: ['messages/', 'smtp/submitted-mail-is-kept'],
  privacy: ['contacts/contact-erasure', 'inbound/inbound-mail-is-kept', 'cells/workspace-move'],
  quotas: ['workspaces/automatic-brake', 'workspaces/workspace-quotas', 'cells/quotas'],
  queue: ['failures/two-nodes', 'failures/delivery-node', 'failures/webhooks-survive-worker'],
  router: ['cells/'],
  smtp: ['smtp/', 'bounces/return-path', 'inbound/inbound-mail'],
  stats: ['stats/'],
  streams: ['streams/'],
  suppressions: ['suppressions/'],
  templates: ['templates/'],
  tracking: ['tracking/'],
  unsubscribe: ['streams/unsubscribe'],
  webhooks: ['webhooks/', 'failures/webhooks'],
};

const SCENARIO_FOLDER = 'server/test/scenarios';

if (import.meta.main) process.exitCode = main(process.argv.slice(2));

function main(args: readonly string[]): number {
  const since = args.find((argument) => !argument.startsWith('--'));
  const { related, tests } = testsFor(changedFiles(since));
  if (related.length === 0 && tests.length === 0) {
    console.log('No change that a test covers.');
    return 0;
  }
  if (tests.length > 0) console.log(`Scenarios and browser tests:\n  ${tests.join('\n  ')}`);
  if (args.includes('--list')) return 0;
  const statuses = [
    related.length > 0 ? vitest('related', '--run', ...RELATED_OPTIONS, ...related) : 0,
    tests.length > 0 ? vitest('run', ...tests) : 0,
  ];
  return Math.max(...statuses);
}

const RELATED_OPTIONS = ['--project=unit', '--project=db', '--passWithNoTests'];

/** The source files whose importers are tested, and the test files to run besides. */
export function testsFor(changed: readonly string[]): { related: string[]; tests: string[] } {
  const starts = changed.flatMap((file) => SCENARIOS[moduleOf(file) ?? ''] ?? []);
  const ofModules = scenarioFiles()
    .filter((name) => starts.some((start) => name.startsWith(start)))
    .map((name) => `${SCENARIO_FOLDER}/${name}`);
  const changedTests = changed.filter((file) => isSlow(file) && file.endsWith('.test.ts'));
  return {
    related: changed.filter((file) => /\.tsx?$/.test(file) && !isSlow(file)),
    tests: [...new Set([...changedTests, ...ofModules])],
  };
}

export function scenarioFiles(): string[] {
  const files = readdirSync(path.join(ROOT, SCENARIO_FOLDER), {
    recursive: true,
    encoding: 'utf8',
  });
  return files.filter((file) => file.endsWith('.test.ts')).sort();
}

/** A changed unit test says nothing about the behavior of its module. */
function moduleOf(file: string): string | undefined {
  return file.endsWith('.test.ts') ? undefined : /^server\/src\/([\w-]+)\//.exec(file)?.[1];
}

/** Scenarios, browser tests and their harness, of which `vitest related` would select all at once. */
function isSlow(file: string): boolean {
  return file.startsWith('server/test/');
}

function changedFiles(since = 'HEAD'): string[] {
  const tracked = git('diff', '--name-only', '--diff-filter=d', since);
  const untracked = git('ls-files', '--others', '--exclude-standard');
  return [...tracked, ...untracked];
}

function git(...args: string[]): string[] {
  const { stdout, stderr, status } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout.split('\n').filter(Boolean);
}

function vitest(...args: string[]): number {
  return spawnSync('vitest', args, { cwd: ROOT, stdio: 'inherit' }).status ?? 1;
}
