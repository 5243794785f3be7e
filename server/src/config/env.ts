import { availableParallelism, homedir } from 'node:os';
import path from 'node:path';
import { type Config, readConfig } from './read-config.ts';
import { findUnknownSettings } from './unknown-settings.ts';

/** The only file that reads the environment of the process. */
export function configFromEnvironment(): Config {
  return readConfig(process.env);
}

/**
 * Gives Node's thread pool, which has four threads otherwise, one for each core: RSA signatures are
 * made there. Has no effect once the pool has been used.
 */
export function sizeThreadPool(env = process.env, cores = availableParallelism()): void {
  env.UV_THREADPOOL_SIZE ??= String(Math.max(THREADS_MIN, cores));
}

/** Node's default. Threads also wait for files and name servers, so few cores need as many. */
const THREADS_MIN = 4;

/** Warnings about variables that look like misspelled settings. */
export function unknownSettings(): string[] {
  return findUnknownSettings(process.env);
}

/** Whether an npm script, such as `npm start`, started this process. */
export function isNpmScript(): boolean {
  return process.env.npm_lifecycle_event !== undefined;
}

/** The address of this machine that the terminal is connected to by SSH. */
export function sshServer(): string | undefined {
  // Client address and port, server address and port.
  return process.env.SSH_CONNECTION?.split(' ')[2];
}

/** The database that `workspaces move` moves to. Not an option, which other users of the machine see. */
export function moveEnvironment(): { databaseUrl: string | undefined; schema: string | undefined } {
  const value = (name: string): string | undefined => process.env[name]?.trim() || undefined;
  return {
    databaseUrl: value('MOVE_TO_DATABASE_URL'),
    schema: value('MOVE_TO_DATABASE_SCHEMA'),
  };
}

/** What the command line needs to find a server's API, apart from the server's own settings. */
export interface ApiEnvironment {
  url: string | undefined;
  apiKey: string | undefined;
  /** Whether the settings name a database, rather than leaving it at the default. */
  namesDatabase: boolean;
  /** The folder for the user's own configuration of the command line. */
  configDir: string;
}

export function apiEnvironment(): ApiEnvironment {
  const value = (name: string): string | undefined => process.env[name]?.trim() || undefined;
  const configHome = value('XDG_CONFIG_HOME');
  return {
    url: value('POSTRIDER_URL'),
    apiKey: value('POSTRIDER_API_KEY'),
    namesDatabase: value('DATA_DIR') !== undefined || value('DATABASE_URL') !== undefined,
    // The XDG specification ignores relative paths.
    configDir: path.join(
      configHome !== undefined && path.isAbsolute(configHome)
        ? configHome
        : path.join(homedir(), '.config'),
      'postrider',
    ),
  };
}
