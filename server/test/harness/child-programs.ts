import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';

/**
 * Bundles the programs that tests run in child processes, because a process that loads the server from
 * its thousand source files needs four times as much CPU time to start. Only our code is bundled:
 * packages are loaded as usual, and migrations, assets and guides are read next to the source.
 */

const ROOT = path.join(import.meta.dirname, '../../..');
const SERVER = path.join(ROOT, 'server');

/** Programs and the entry points of their threads. */
const ENTRIES = {
  main: 'src/main.ts',
  'delivery-thread': 'src/bootstrap/delivery-thread.ts',
  'content-worker': 'src/messages/content/content-worker.ts',
  'dkim-worker': 'src/mail/authentication/dkim-worker.ts',
  'mail-parser-worker': 'src/mail/mime/mail-parser-worker.ts',
  'delivery-node-main': 'test/harness/delivery/delivery-node-main.ts',
  'webhook-worker-main': 'test/harness/webhooks/webhook-worker-main.ts',
  'workspace-move-main': 'test/harness/database/workspace-move-main.ts',
  'embedded-postgres-main': 'test/harness/database/embedded-postgres-main.ts',
} as const;

export type ChildProgram = Extract<keyof typeof ENTRIES, `${string}main`>;

/** Names the folder of the bundled programs to the workers of a test run. */
export const PROGRAMS_VARIABLE = 'POSTRIDER_TEST_PROGRAMS';

/** The file to run: bundled in a test run, and the source elsewhere. */
export function childProgram(name: ChildProgram): string {
  const folder = process.env[PROGRAMS_VARIABLE];
  return folder ? path.join(folder, `${name}.js`) : path.join(SERVER, ENTRIES[name]);
}

export async function bundleChildPrograms(folder: string): Promise<void> {
  // Loaded here, because the workers only need the names of the programs.
  const { build } = await import('vite');
  await build({
    configFile: false,
    root: SERVER,
    logLevel: 'warn',
    plugins: [sourceLocations(folder)],
    build: {
      ssr: true,
      target: 'node24',
      minify: false,
      outDir: folder,
      emptyOutDir: false,
      copyPublicDir: false,
      rolldownOptions: {
        input: Object.fromEntries(
          Object.entries(ENTRIES).map(([name, file]) => [name, path.join(SERVER, file)]),
        ),
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
  });
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
}

/** Modules find the files next to their source, except for threads, which are bundled too. */
function sourceLocations(folder: string): Plugin {
  const threads = Object.keys(ENTRIES).join('|');
  const threadUrl = new RegExp(`(?<=new URL\\()'\\./(${threads})\\.ts', import\\.meta\\.url`, 'g');
  const urlOf = (file: string): string => JSON.stringify(pathToFileURL(file).href);
  return {
    name: 'source-locations',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(ROOT) || !code.includes('import.meta')) return undefined;
      return code
        .replaceAll(threadUrl, (_, name: string) => urlOf(path.join(folder, `${name}.js`)))
        .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(id)))
        .replaceAll('import.meta.url', urlOf(id));
    },
  };
}
