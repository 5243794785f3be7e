import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectFiles, ROOT } from './project-files.ts';

/** What no tool looks at and what should still not lie about; one line for each thing found. */
export function tidyMistakes(root: string = ROOT): string[] {
  const files = projectFiles(root).filter((file) => TEXT.test(file));
  return files.flatMap((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const found = LINE_RULES.filter((rule) => rule.where(file)).flatMap((rule) =>
      linesWith(text, rule.pattern).map(
        ({ line, match }) => `${file}:${line}: ${rule.says(match)}`,
      ),
    );
    if (file.endsWith('.md')) found.push(...deadLinks(root, file, text));
    if (file === 'package-lock.json') found.push(...foreignPackages(text));
    return found;
  });
}

const TEXT = /\.(ts|js|mjs|cjs|json|sql|md|sh|yaml|yml|css|html)$|^\.ci\/run$/;

interface LineRule {
  where: (file: string) => boolean;
  pattern: RegExp;
  says: (match: string) => string;
}

const isCode = (file: string): boolean => /\.(ts|js|mjs|cjs|sql|sh|css)$/.test(file);

const LINE_RULES: LineRule[] = [
  {
    where: isCode,
    pattern: /\b(?:FIX[M]E|TO[D]O|X[X]X)\b/,
    says: (match) => `"${match}" was left behind`,
  },
  {
    where: (file) => file.endsWith('.test.ts'),
    pattern: /\b(?:it|test|describe|suite)(?:\.\w+)*\.(?:only|skip|todo)\b/,
    says: (match) => `${match} leaves tests out`,
  },
  {
    where: (file) => isCode(file) && /^server\/(src|bin)\//.test(file) && !isConfig(file),
    pattern: /\bprocess\.env\b/,
    says: () => 'only server/src/config reads the environment',
  },
  {
    where: (file) => file !== 'package-lock.json',
    pattern: /(?<![\w.:}/-])\/(?:work|root|Users\/\w+|home\/\w+)\/[\w.]/,
    says: (match) => `${match}… is a path of one machine`,
  },
];

function isConfig(file: string): boolean {
  // Samples show how others read theirs.
  return /^server\/src\/config\/|\.test\.ts$|\/docs\/samples\.ts$/.test(file);
}

function linesWith(text: string, pattern: RegExp): { line: number; match: string }[] {
  return text.split('\n').flatMap((line, index) => {
    const match = pattern.exec(line);
    return match ? [{ line: index + 1, match: match[0] }] : [];
  });
}

/** Links from one page of ours to another file, and to a heading in it. */
function deadLinks(root: string, file: string, text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
  const targets = [
    ...[...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] as string),
    ...[...prose.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] as string),
  ];
  return targets
    .filter((target) => !/^[a-z]+:/i.test(target))
    .filter((target) => !leadsSomewhere(root, file, target))
    .map((target) => `${file}: the link to ${target} leads nowhere`);
}

function leadsSomewhere(root: string, file: string, target: string): boolean {
  const [name = '', heading] = target.split('#');
  const page = name === '' ? path.join(root, file) : path.join(root, path.dirname(file), name);
  if (!existsSync(page)) return false;
  if (heading === undefined || !page.endsWith('.md')) return true;
  return headingsOf(readFileSync(page, 'utf8')).has(heading);
}

/** As GitHub names them. */
function headingsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ +(.+)$/gm)].map((match) => match[1] as string);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}

/** An address of a mirror in the lock file would send everybody else there. */
function foreignPackages(text: string): string[] {
  const { packages } = JSON.parse(text) as {
    packages: Record<string, { resolved?: string; link?: boolean }>;
  };
  return Object.entries(packages)
    .filter(
      ([, { resolved, link }]) =>
        resolved !== undefined && !link && !resolved.startsWith('https://registry.npmjs.org/'),
    )
    .map(([name, { resolved }]) => `package-lock.json: ${name} comes from ${resolved}`);
}
