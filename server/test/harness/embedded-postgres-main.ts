import { startEmbedded } from '../../src/db/embedded-postgres.ts';
import { silentLog } from '../../src/lib/log.ts';

/**
 * A process of its own that starts the embedded PostgreSQL in the folder named on its command line
 * and holds it until it is killed. It prints one line when it has it, or the reason why not.
 */
const dataDir = process.argv[2] ?? '';
try {
  const server = await startEmbedded({ dataDir, log: silentLog });
  console.log(JSON.stringify({ postmaster: server.pid }));
} catch (error) {
  console.log(JSON.stringify({ refusal: (error as Error).message }));
  process.exitCode = 1;
}
