import type { Mode } from '../accounts/tenant-scope.ts';
import type { Config } from '../config/read-config.ts';
import type { Pool } from '../db/connections/pool.ts';
import type { Clock } from '../lib/time/clock.ts';

/**
 * The operations of the server that commands use. main.ts passes them in, so that the command line
 * does not depend on how the server is wired.
 */
export interface CommandContext {
  /** Runs the server until a signal ends it; resolves with the exit code. */
  start(config: Config): Promise<number>;
  /** Runs the router in front of several installations until a signal ends it. */
  startRouter(config: Config): Promise<number>;
  /** Sends with the operator's authority, through the same checks as any other send. */
  send(parts: DatabaseContext, request: OperatorSend): Promise<object>;
}

/** An open database and its configuration. */
export interface DatabaseContext {
  config: Config;
  pool: Pool;
  clock: Clock;
  secretKey: Buffer;
}

export interface OperatorSend {
  workspaceId: string;
  mode: Mode;
  /** A send request as the API takes it, not validated yet. */
  body: unknown;
  dryRun: boolean;
}
