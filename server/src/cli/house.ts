import type { Mode } from '../accounts/tenant-scope.ts';
import type { Config } from '../config/read-config.ts';
import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';

/**
 * What commands need of the house that is built above them. main.ts hands it in, so that the command
 * line does not know how the parts are joined.
 */
export interface House {
  /** Runs the server until a signal ends it; resolves with the exit code. */
  start(config: Config): Promise<number>;
  /** Sends with the operator's authority, through the same checks as any other send. */
  send(parts: OpenParts, order: SendOrder): Promise<object>;
}

/** An open database, and what belongs to it. */
export interface OpenParts {
  config: Config;
  pool: Pool;
  clock: Clock;
  secretKey: Buffer;
}

export interface SendOrder {
  workspaceId: string;
  mode: Mode;
  /** A send request as the API takes it; not checked yet. */
  body: unknown;
  dryRun: boolean;
}
