import { type Config, readConfig } from './read-config.ts';
import { findUnknownSettings } from './unknown-settings.ts';

/** The only file that reads the environment of the process. */
export function configFromEnvironment(): Config {
  return readConfig(process.env);
}

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
