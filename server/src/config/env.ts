import { misspeltIn } from './misspelt.ts';
import { type Config, readConfig } from './read-config.ts';

/** The one place that reads the environment of the process. */
export function configFromEnvironment(): Config {
  return readConfig(process.env);
}

/** Sentences about names that were most likely meant for settings. */
export function misspeltInEnvironment(): string[] {
  return misspeltIn(process.env);
}

/** A script of npm's runs us, `npm start` most likely. */
export function isRunByNpm(): boolean {
  return process.env.npm_lifecycle_event !== undefined;
}
