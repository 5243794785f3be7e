import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/longest-first.ts';
import { memoryFolder } from './scripts/memory-folder.ts';

/**
 * Four projects, from quick to slow; `npx vitest run --project unit` runs one of them.
 *
 * - `unit`: needs nothing but this process.
 * - `db`: unit tests that need PostgreSQL, named `*.db.test.ts`.
 * - `scenario`: the whole server, through its API, its ports and its command line.
 * - `browser`: the dashboard in Chromium.
 */

const DATABASE_TESTS = '**/*.db.test.ts';

/**
 * Files share a worker process, because loading the server takes longer than most files run: a test
 * disposes of everything that it starts. The timeouts allow for a busy machine.
 */
const SLOW = {
  isolate: false,
  // Each test starts a server, whose garbage fills the default young generation many times over.
  execArgv: ['--min-semi-space-size=32', '--max-semi-space-size=64'],
  testTimeout: 120_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
  globalSetup: ['server/test/harness/global-setup.ts'],
};

// Read by os.tmpdir() here, in the workers and in the processes that tests start.
const temporaryFolder = process.env.TMPDIR ?? memoryFolder();
if (temporaryFolder) process.env.TMPDIR = temporaryFolder;

export default defineConfig({
  test: {
    // Failed tests are not retried: a flaky test is a bug in the test or in the code.
    retry: 0,
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'server/src/**/*.test.ts',
            'dashboard/src/**/*.test.ts',
            'scripts/**/*.test.ts',
            'bench/**/*.test.ts',
            'sdk/**/*.test.ts',
            'server/test/prove/**/*.test.ts',
          ],
          exclude: ['**/node_modules/**', DATABASE_TESTS],
          pool: 'threads',
          isolate: false,
          testTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        test: {
          name: 'db',
          include: [`server/src/${DATABASE_TESTS}`, `sdk/${DATABASE_TESTS}`],
          ...SLOW,
        },
      },
      {
        test: { name: 'scenario', include: ['server/test/scenarios/**/*.test.ts'], ...SLOW },
      },
      {
        test: { name: 'browser', include: ['server/test/browser/**/*.test.ts'], ...SLOW },
      },
    ],
  },
});
