import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { freePort } from '../../harness/free-port.ts';
import { until } from '../../harness/until.ts';

test.runIf(existsSync('/dev/full'))(
  'a server whose log is on a full disk keeps running',
  async () => {
    await using database = await createTestDatabase();
    const port = String(await freePort());
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    const { code, stderr } = await runPostrider(['start'], {
      env: {
        ...databaseEnv(database),
        PORT: port,
        SUBMISSION_PORT: 'off',
        RETURN_PATH_PORT: 'off',
        LOG_LEVEL: 'trace',
      },
      stdoutFile: '/dev/full',
      terminateAfter: until(isReady, { timeoutMs: 60_000, what: 'the server to be ready' }),
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  },
);
