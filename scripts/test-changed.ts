import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project-files.ts';

/**
 * `npm run test:changed` runs the tests that a change most likely affects: unit tests that import a
 * changed file, changed test files, and the scenarios of the changed modules. Every scenario runs the
 * whole server, so imports cannot select among them; file names do. The changes are the uncommitted
 * ones, or those since a commit: `npm run test:changed -- main`.
 */

/** Scenarios by module in server/src, matched against their file names. */
const SCENARIOS: Record<string, RegExp> = {
  accounts: /api-key|sign-in|session|password|two-factor|invitation|role|owner|recovery|tenant/,
  bounces: /bounce|complaint|return-path/,
  cli: /^cli-/,
  config: /first-start|configuration/,
  contacts: /contact/,
  db: /database|backup|failover|secret-key/,
  delivery: /deliver|mail-server|relay|tls|undeliverable|receiver|loop|source-address|two-nodes/,
  domains: /domain|dkim/,
  events: /event/,
  http: /request|validation|pagination|http|idempotency|problem|session/,
  messages: /send|message|batch|idempotency|simulator|inbox/,
  privacy: /erasure/,
  smtp: /smtp|submission|return-path/,
  stats: /statistics|alarm/,
  suppressions: /suppression/,
  templates: /template|layouts|placeholder/,
  tracking: /tracking/,
  webhooks: /webhook/,
};

process.exitCode = main(process.argv[2]);

function main(since: string | undefined): number {
  const changed = changedFiles(since);
  if (changed.length === 0) {
    console.log('No changed files.');
    return 0;
  }
  const tests = [...new Set([...changedTests(changed), ...scenariosFor(changed)])];
  const sources = changed.filter((file) => /\.(?:ts|tsx)$/.test(file) && !isSlowTest(file));
  const projects = ['--project=unit', '--project=db', '--passWithNoTests'];
  const statuses = [
    sources.length > 0 ? vitest('related', '--run', ...projects, ...sources) : 0,
    tests.length > 0 ? vitest('run', ...tests) : 0,
  ];
  return Math.max(...statuses);
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

/** Scenarios and browser tests, which `vitest related` would select all at once. */
function isSlowTest(file: string): boolean {
  return file.startsWith('server/test/');
}

function changedTests(changed: readonly string[]): string[] {
  return changed.filter((file) => isSlowTest(file) && file.endsWith('.test.ts'));
}

function scenariosFor(changed: readonly string[]): string[] {
  const modules = new Set(
    changed.flatMap((file) => /^server\/src\/(\w+)\//.exec(file)?.slice(1) ?? []),
  );
  const patterns = [...modules].flatMap((name) => SCENARIOS[name] ?? []);
  const folder = 'server/test/scenarios';
  return readdirSync(path.join(ROOT, folder))
    .filter((name) => patterns.some((pattern) => pattern.test(name)))
    .map((name) => `${folder}/${name}`);
}

function vitest(...args: string[]): number {
  return spawnSync('vitest', args, { cwd: ROOT, stdio: 'inherit' }).status ?? 1;
}
