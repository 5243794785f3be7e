import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project-files.ts';

/**
 * The list of the API's routes, made from the route files. Every file below `http/routes/<resource>/`
 * takes part: each function that it exports with the return type `Operation` or `Operation[]` is a
 * route. A new route file therefore needs no other edit than `npm run generate`.
 */

const FOLDER = 'server/src/http/routes';
export const ROUTES_FILE = `${FOLDER}/routes.generated.ts`;

const ROUTE = /^export function (\w+)\((?:(?!^\}\n).)*?\): Operation(?:\[\])? \{$/gms;

export function routesFile(): string {
  const imports: string[] = [];
  const names: string[] = [];
  for (const file of routeFiles()) {
    const source = readFileSync(path.join(ROOT, FOLDER, file), 'utf8');
    const found = [...source.matchAll(ROUTE)].map(([, name]) => name as string);
    if (found.length > 0) imports.push(`import { ${found.join(', ')} } from './${file}';`);
    names.push(...found);
  }
  return [
    '// Generated from the route files by `npm run generate`. Do not edit.',
    ...imports,
    '',
    'export const ROUTES = [',
    ...names.map((name) => `  ${name},`),
    '] as const;',
    '',
  ].join('\n');
}

function routeFiles(): string[] {
  return readdirSync(path.join(ROOT, FOLDER), { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => file.includes('/') && /\.ts$/.test(file) && !/\.test\.ts$/.test(file))
    .sort();
}
