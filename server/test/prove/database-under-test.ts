import { setTimeout as sleep } from 'node:timers/promises';
import {
  killBackend,
  postmasterOf,
  sendSignal,
  signalPostgres,
} from '../harness/database/postgres-signals.ts';
import { until } from '../harness/until.ts';
import type { FailureKind, PlannedFailure } from './failure-schedule.ts';

/** Causes a failure, and returns what it did. */
export type Cause = (failure: PlannedFailure) => Promise<string>;
export type Causes = Partial<Record<FailureKind, Cause>>;

/** A database, and what can happen to it. */
export interface DatabaseUnderTest extends AsyncDisposable {
  description: string;
  /** Nothing for the database that a server embeds. */
  env: Record<string, string>;
  causes: Causes;
  /** Waits until the next failure may happen; undefined if that is when all nodes are ready. */
  recovered?: () => Promise<void>;
}

const RESTART_MS = 180_000;
/** The postmaster ends all other backends within milliseconds. */
const CRASH_NOTICED_MS = 200;

/** `find` returns the data directory of the primary. */
export function postgresCauses(find: () => Promise<string>): Causes {
  return {
    'postmaster-kill': async () => {
      const folder = await find();
      const pid = await postmasterOf(folder);
      sendSignal(pid, 'SIGKILL');
      // A node may not have noticed yet, and be ready still.
      await until(async () => ![pid, undefined].includes(await postmasterOf(folder)), {
        timeoutMs: RESTART_MS,
        what: 'PostgreSQL was restarted',
      });
      return `postmaster ${pid}`;
    },
    'backend-kill': async () => {
      await killBackend(await find());
      await sleep(CRASH_NOTICED_MS);
      return 'one backend';
    },
    'database-freeze': async ({ holdMs }) => {
      const folder = await find();
      await signalPostgres(folder, 'SIGSTOP');
      try {
        await sleep(holdMs);
      } finally {
        await signalPostgres(folder, 'SIGCONT');
      }
      return `for ${holdMs} ms`;
    },
  };
}
