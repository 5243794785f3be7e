import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectFiles, ROOT } from './project-files.ts';

/**
 * Finds what no other tool reports: leftover markers, excluded tests, dead links, paths of one
 * machine, packages from elsewhere. Returns one line per finding.
 */
export function hygieneErrors(root: string = ROOT): string[] {
  const files = projectFiles(root).filter((file) => TEXT.test(file));
  return files.flatMap((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const found = LINE_RULES.filter((rule) => rule.appliesTo(file)).flatMap((rule) =>
      linesWith(text, rule.pattern).map(
        ({ line, match }) => `${file}:${line}: ${rule.message(match)}`,
      ),
    );
    if (file.endsWith('.md')) found.push(...deadLinks(root, file, text));
    if (file === 'package-lock.json') found.push(...lockFileErrors(root, text));
    return found;
  });
}

const TEXT = /\.(ts|js|mjs|cjs|json|sql|md|sh|yaml|yml|css|html)$|^\.ci\/run$/;

interface LineRule {
  appliesTo: (file: string) => boolean;
  pattern: RegExp;
  message: (match: string) => string;
}

const isCode = (file: string): boolean => /\.(ts|js|mjs|cjs|sql|sh|css)$/.test(file);

const LINE_RULES: LineRule[] = [
  {
    appliesTo: isCode,
    pattern: /\b(?:FIX[M]E|TO[D]O|X[X]X)\b/,
    message: (match) => `leftover "${match}"`,
  },
  {
    appliesTo: (file) => file.endsWith('.test.ts'),
    pattern: /\b(?:it|test|describe|suite)(?:\.\w+)*\.(?:only|skip|todo)\b/,
    message: (match) => `${match} excludes tests`,
  },
  {
    appliesTo: (file) => isCode(file) && /^server\/(src|bin)\//.test(file) && !isConfig(file),
    pattern: /\bprocess\.env\b/,
    message: () => 'read the environment in server/src/config only',
  },
  {
    appliesTo: (file) =>
      file.endsWith('.test.ts') &&
      !file.endsWith('.db.test.ts') &&
      !file.startsWith('server/test/'),
    pattern: /\/harness\/(?:app|database\/.*)\.ts'/,
    message: () => 'a test that needs PostgreSQL is named *.db.test.ts',
  },
  {
    appliesTo: (file) => file !== 'package-lock.json',
    pattern: /(?<![\w.:}/-])\/(?:work|root|Users\/\w+|home\/\w+)\/[\w.]/,
    message: (match) => `${match}… is a path on one machine`,
  },
];

function isConfig(file: string): boolean {
  // Samples show how users read their own environment.
  return /^server\/src\/config\/|\.test\.ts$|\/docs\/code-samples\.ts$/.test(file);
}

function linesWith(text: string, pattern: RegExp): { line: number; match: string }[] {
  return text.split('\n').flatMap((line, index) => {
    const match = pattern.exec(line);
    return match ? [{ line: index + 1, match: match[0] }] : [];
  });
}

/** Relative links to files, or to headings in them, that do not exist. */
function deadLinks(root: string, file: string, text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
  const targets = [
    ...[...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] as string),
    ...[...prose.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] as string),
  ];
  return targets
    .filter((target) => !/^[a-z]+:/i.test(target))
    .filter((target) => !linkExists(root, file, target))
    .map((target) => `${file}: dead link to ${target}`);
}

function linkExists(root: string, file: string, target: string): boolean {
  const [name = '', heading] = target.split('#');
  const page = name === '' ? path.join(root, file) : path.join(root, path.dirname(file), name);
  if (!existsSync(page)) return false;
  if (heading === undefined || !page.endsWith('.md')) return true;
  return anchorsOf(readFileSync(page, 'utf8')).has(heading);
}

/** Anchors as GitHub derives them from headings. */
function anchorsOf(text: string): Set<string> {
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

/** Everything that is installed comes from the registry, has a checksum, and runs no script unasked. */
function lockFileErrors(root: string, text: string): string[] {
  const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> };
  const manifest = path.join(root, 'package.json');
  const { allowScripts = {} } = (
    existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {}
  ) as { allowScripts?: Record<string, boolean> };
  return Object.entries(packages).flatMap(([folder, { resolved, link, ...locked }]) => {
    const name = folder.split('node_modules/').at(-1) as string;
    if (link || name === folder) return [];
    const errors: string[] = [];
    // A mirror's URL would be used by everyone who installs from the lock file.
    if (resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'))
      errors.push(`is resolved from ${resolved}`);
    if (!locked.inBundle && !locked.integrity?.startsWith('sha512-'))
      errors.push('has no SHA-512 checksum');
    if (locked.hasInstallScript && allowScripts[name] === undefined)
      errors.push('has an install script, and package.json does not say whether it may run');
    return errors.map((error) => `package-lock.json: ${folder} ${error}`);
  });
}

interface LockedPackage {
  resolved?: string;
  link?: boolean;
  integrity?: string;
  inBundle?: boolean;
  hasInstallScript?: boolean;
}
