import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectFiles, ROOT } from './project-files.ts';

/**
 * The walls between rooms: imports as .dependency-cruiser.js allows them, and SQL only where it
 * belongs. A cruise that saw next to nothing counts as broken, not as passed: dependency-cruiser
 * says "no violations" of a language it cannot read.
 */

const MODULES_MIN = 50;

interface Cruise {
  modules: { source: string }[];
  summary: {
    violations: { from: string; to: string; rule: { name: string } }[];
    ruleSetUsed: { forbidden: { name: string; comment: string }[] };
  };
}

export function wallMistakes(): string[] {
  const source = projectFiles().filter((file) => /^(server|sdk)\/src\/.*\.ts$/.test(file));
  return [...importMistakes(source), ...sqlMistakes(source)];
}

function importMistakes(source: readonly string[]): string[] {
  const { stdout, stderr } = spawnSync(
    'depcruise',
    ['--config', '.dependency-cruiser.js', '--output-type', 'json', 'server/src', 'sdk/src'],
    { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  if (!stdout.startsWith('{')) return [`dependency-cruiser did not run: ${stderr}`];
  const { modules, summary } = JSON.parse(stdout) as Cruise;
  const cruised = new Set(modules.map((module) => module.source));
  const comments = new Map(
    summary.ruleSetUsed.forbidden.map(({ name, comment }) => [name, comment]),
  );
  return [
    ...(modules.length < MODULES_MIN
      ? [`dependency-cruiser saw only ${modules.length} files`]
      : []),
    ...source
      .filter((file) => !cruised.has(file))
      .map((file) => `${file}: dependency-cruiser did not look at it`),
    ...summary.violations.map(
      ({ from, to, rule }) => `${from} imports ${to}: ${comments.get(rule.name) ?? rule.name}`,
    ),
  ];
}

function sqlMistakes(source: readonly string[]): string[] {
  return source
    .filter((file) => !/^server\/src\/db\/|-store\.ts$|\.test\.ts$/.test(file))
    .filter((file) => /\.query(<[^(]*>)?\(/.test(readFileSync(path.join(ROOT, file), 'utf8')))
    .map((file) => `${file}: only db/ and *-store.ts hold SQL`);
}
