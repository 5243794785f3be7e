import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'server/src/**/*.test.ts',
      'server/test/**/*.test.ts',
      'dashboard/src/**/*.test.ts',
      'scripts/**/*.test.ts',
      'sdk/**/*.test.ts',
    ],
    globalSetup: ['server/test/harness/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    // A second, as it is otherwise, is nothing on a machine that is busy.
    expect: { poll: { timeout: 20_000 } },
    maxWorkers: 2,
    // One that needs it hides a fault, in itself or in what it tests: the gate names it.
    retry: 1,
  },
});
