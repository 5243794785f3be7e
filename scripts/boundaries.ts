import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { projectFiles, ROOT } from './project-files.ts';
import { foreignWriteErrors } from './table-writes.ts';

/**
 * Checks module boundaries: imports as .dependency-cruiser.js allows them, SQL only in db/ and the
 * stores, writes only to tables of the own module, no statement that crashes PostgreSQL, and no
 * notification on the channel of another schema.
 * dependency-cruiser reports "no violations" for a language that it cannot parse, so a run that saw
 * hardly any files counts as failed.
 */

const MODULES_MIN = 50;

/** Module boundaries concern the source only, import cycles the tests and tools as well. */
const CRUISED = ['server/src', 'server/test', 'sdk/src', 'dashboard/src', 'bench/src', 'scripts'];

interface CruiseResult {
  modules: { source: string }[];
  summary: {
    violations: { from: string; to: string; rule: { name: string } }[];
    ruleSetUsed: { forbidden: { name: string; comment: string }[] };
  };
}

export async function boundaryErrors(): Promise<string[]> {
  const source = projectFiles().filter((file) => /^(server|sdk)\/src\/.*\.ts$/.test(file));
  return [
    ...(await importErrors(source)),
    ...sqlErrors(source),
    ...writeErrors(source),
    ...lockErrors(source),
    ...channelErrors(source),
  ];
}

const run = promisify(execFile);

/** Not synchronous, because other checks run at the same time. */
async function importErrors(source: readonly string[]): Promise<string[]> {
  const { stdout, stderr } = await run(
    'depcruise',
    ['--config', '.dependency-cruiser.js', '--output-type', 'json', ...CRUISED],
    { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
    // It ends with the number of violations, which its output has.
  ).catch((error: { stdout: string; stderr: string }) => error);
  if (!stdout.startsWith('{')) return [`dependency-cruiser did not run: ${stderr}`];
  const { modules, summary } = JSON.parse(stdout) as CruiseResult;
  const cruised = new Set(modules.map((module) => module.source));
  const comments = new Map(
    summary.ruleSetUsed.forbidden.map(({ name, comment }) => [name, comment]),
  );
  return [
    ...(modules.length < MODULES_MIN
      ? [`dependency-cruiser parsed only ${modules.length} files`]
      : []),
    ...source
      .filter((file) => !cruised.has(file))
      .map((file) => `${file}: not parsed by dependency-cruiser`),
    ...summary.violations.map(
      ({ from, to, rule }) => `${from} imports ${to}: ${comments.get(rule.name) ?? rule.name}`,
    ),
  ];
}

function sqlErrors(source: readonly string[]): string[] {
  return source
    .filter((file) => !/^server\/src\/db\/|-store\.ts$|\.test\.ts$/.test(file))
    .filter((file) => /\.query(<[^(]*>)?\(/.test(readFileSync(path.join(ROOT, file), 'utf8')))
    .map((file) => `${file}: SQL belongs in db/ or a *-store.ts file`);
}

function writeErrors(source: readonly string[]): string[] {
  return source
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => foreignWriteErrors(file, readFileSync(path.join(ROOT, file), 'utf8')));
}

/**
 * A statement that locks rows and changes a partitioned table can crash PostgreSQL 18: see
 * docs/decisions/0048-lock-and-update-in-two-statements.md.
 */
function lockErrors(source: readonly string[]): string[] {
  const partitioned = partitionedTables();
  return source
    .filter((file) => file.endsWith('-store.ts'))
    .filter((file) => {
      const statements = readFileSync(path.join(ROOT, file), 'utf8').match(/`[^`]*`/g) ?? [];
      return statements.some((text) => locksAndChanges(text, partitioned));
    })
    .map((file) => `${file}: lock rows of a partitioned table and change them in two statements`);
}

export function locksAndChanges(statement: string, partitioned: ReadonlySet<string>): boolean {
  if (!/\bfor (no key )?update\b/.test(statement)) return false;
  const changed = statement.matchAll(/\b(?:update|delete from) (\w+)/g);
  return [...changed].some(([, table = '']) => partitioned.has(table));
}

function channelErrors(source: readonly string[]): string[] {
  return source
    .filter((file) => !file.endsWith('.test.ts'))
    .filter((file) => hasFixedChannel(readFileSync(path.join(ROOT, file), 'utf8')))
    .map(
      (file) => `${file}: use channel() of db/connections/notification-channels.ts for pg_notify`,
    );
}

/** It would be that of the schema `public`, and reach no node of an installation in another one. */
export function hasFixedChannel(source: string): boolean {
  return /\b(?:pg_notify\(\s*'|notify\s+\w+\s*[,`';])/.test(source);
}

function partitionedTables(): Set<string> {
  const migrations = projectFiles().filter((file) => /db\/migrations\/.*\.sql$/.test(file));
  const sql = migrations.map((file) => readFileSync(path.join(ROOT, file), 'utf8')).join('\n');
  const tables = sql.matchAll(/create table (\w+) \([^;]*\) partition by/g);
  return new Set([...tables].map(([, table = '']) => table));
}
