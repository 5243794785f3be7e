import { parseDatabaseUrl } from '../../../src/db/connections/database-url.ts';
import { openPool } from '../../../src/db/connections/pool.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { WorkspaceMove } from '../../../src/privacy/workspace-move.ts';

/**
 * Moves a workspace, and is killed after a step: `main.ts URL SOURCE_SCHEMA TARGET_SCHEMA WORKSPACE STEP`.
 */
const [url = '', from = '', to = '', workspaceId = '', killAfter = ''] = process.argv.slice(2);
const poolOf = (schema: string) =>
  openPool({ hosts: parseDatabaseUrl(url, { schema }), log: silentLog, max: 4 });
const [source, target] = [poolOf(from), poolOf(to)];

const result = await new WorkspaceMove(
  {
    source,
    target,
    clock: systemClock,
    onStep: (step) => {
      if (step === killAfter) process.kill(process.pid, 'SIGKILL');
    },
  },
  workspaceId,
).run();
process.stdout.write(result.state);
await Promise.all([source.end(), target.end()]);
