import path from 'node:path';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { apiEnvironment, configFromEnvironment } from '../../config/env.ts';
import type { Config } from '../../config/read-config.ts';
import { type CommandInput, UsageError } from '../command.ts';
import type { DatabaseContext } from '../command-context.ts';
import { withDatabase } from '../with-database.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import { readLogin } from './stored-login.ts';

/**
 * Decides whether a command uses a server's API or a database, in this order:
 *
 * 1. `--local`: the database.
 * 2. POSTRIDER_URL and POSTRIDER_API_KEY: the API.
 * 3. DATA_DIR or DATABASE_URL: that database.
 * 4. `postrider login`: the API.
 * 5. The database in the default data folder.
 */

export interface ApiTarget {
  client: ApiClient;
  url: string;
  apiKey: string;
  /** The mode of the key. */
  mode: Mode;
  source: 'environment' | 'login';
}

/** The target of commands that can use either. */
export async function onTarget<T>(
  input: CommandInput,
  work: {
    api(target: ApiTarget): Promise<T>;
    database(parts: DatabaseContext): Promise<T>;
    /** The command creates the database if there is none. */
    create?: boolean;
  },
): Promise<T> {
  const target = await findTarget(input.flag('local'));
  if (target === undefined) {
    announce(input, databaseLabel(configFromEnvironment().storage));
    const orElse =
      'To use a running server, run "postrider login" or set POSTRIDER_URL and POSTRIDER_API_KEY.';
    return withDatabase(work.database, { create: work.create ?? false, orElse });
  }
  if (input.option('workspace') !== undefined) {
    throw new UsageError(
      '--workspace applies to a database only: an API key belongs to one workspace.',
    );
  }
  announce(input, `${target.url} (${target.mode})`);
  return work.api(target);
}

/** The target of commands that need a running server. */
export async function requireApi(input: CommandInput): Promise<ApiTarget> {
  const target = await findTarget(false, { evenWithDatabase: true });
  if (target === undefined) {
    throw new UsageError(
      'This command needs a running server. Run "postrider login URL", or set POSTRIDER_URL and POSTRIDER_API_KEY.',
    );
  }
  announce(input, `${target.url} (${target.mode})`);
  return target;
}

/** Undefined: the database. */
export async function findTarget(
  local: boolean,
  { evenWithDatabase = false } = {},
): Promise<ApiTarget | undefined> {
  if (local) return undefined;
  const { url, apiKey, namesDatabase } = apiEnvironment();
  if (url !== undefined && apiKey !== undefined) return targetOf(url, apiKey, 'environment');
  if (url !== undefined || apiKey !== undefined) {
    const missing = url === undefined ? 'POSTRIDER_URL' : 'POSTRIDER_API_KEY';
    throw new UsageError(
      `${missing} is missing. Set both POSTRIDER_URL and POSTRIDER_API_KEY, or neither.`,
    );
  }
  if (namesDatabase && !evenWithDatabase) return undefined;
  const login = await readLogin();
  return login && targetOf(login.url, login.apiKey, 'login');
}

export async function targetOf(
  url: string,
  apiKey: string,
  source: ApiTarget['source'],
): Promise<ApiTarget> {
  const client = await createApiClient(url, apiKey);
  return { client, url, apiKey, source, mode: apiKey.startsWith('pr_live_') ? 'live' : 'test' };
}

export function databaseLabel({ databaseUrl, dataDir }: Config['storage']): string {
  return databaseUrl === undefined
    ? `database in ${path.resolve(dataDir)}`
    : 'database of DATABASE_URL';
}

/** On a terminal, it is shown where the command works. */
function announce(input: CommandInput, label: string): void {
  if (process.stderr.isTTY && !input.flag('json')) console.error(`→ ${label}`);
}
