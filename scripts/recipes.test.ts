import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './project-files.ts';

/** What operators copy is safe: the recipes in docs/production.md and deploy/, and a production install. */

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const PRODUCTION = read('docs/production.md');

it.each(['nginx', 'caddyfile'])('the %s recipe does not publish the metrics', (language) => {
  const recipes = [...PRODUCTION.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))];
  const proxies = recipes.filter(([, text = '']) => /proxy_pass|reverse_proxy/.test(text));
  expect(proxies).not.toEqual([]);
  for (const [, text] of proxies) expect(text).toMatch(/\/metrics .*404/);
});

it.each([
  ['the systemd unit', PRODUCTION],
  ['the image', read('deploy/Dockerfile')],
])('%s prints no API key into a log', (_, text) => {
  expect(text).toMatch(/^(?:ENV|Environment=)\s*NODE_ENV=production .*\bPRINT_FIRST_KEY=false$/m);
});

it('a production install has neither the dashboard nor tools', () => {
  expect(PRODUCTION).toContain('npm ci --omit=dev --workspace server');
  expect(read('deploy/Dockerfile')).toContain('npm ci --omit=dev --workspace server');
  const installed = installedFor('server');
  expect(installed).toContain('fastify');
  // The package "node" runs a nested install without checksums.
  const tools = ['react', 'vite', 'vitest', 'rolldown', 'esbuild', 'typescript', 'node'];
  expect(tools.filter((name) => installed.has(name))).toEqual([]);
});

interface LockedPackage {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** The names of all packages that a workspace needs at run time. */
function installedFor(workspace: string): Set<string> {
  const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const names = new Set<string>();
  const visited = new Set<string>();
  const visit = (location: string): void => {
    if (visited.has(location)) return;
    visited.add(location);
    const { dependencies, optionalDependencies } = lock.packages[location] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      names.add(name);
      visit(locate(name, location));
    }
  };
  const locate = (name: string, from: string): string => {
    const nested = `${from}/node_modules/${name}`;
    if (nested in lock.packages) return nested;
    const parent = from.lastIndexOf('/node_modules/');
    return parent === -1 ? `node_modules/${name}` : locate(name, from.slice(0, parent));
  };
  visit(workspace);
  return names;
}
