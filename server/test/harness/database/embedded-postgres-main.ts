import { startEmbedded } from '../../../src/db/embedded/embedded-postgres.ts';
import { silentLog } from '../../../src/lib/log.ts';

/**
 * Entry point of a process that runs the embedded PostgreSQL in the folder given as its argument until
 * it is killed. Prints one JSON line: the process id of PostgreSQL, or the error.
 */
const dataDir = process.argv[2] ?? '';
try {
  const server = await startEmbedded({ dataDir, log: silentLog });
  console.log(JSON.stringify({ postmaster: server.pid }));
} catch (error) {
  console.log(JSON.stringify({ refusal: (error as Error).message }));
  process.exitCode = 1;
}
