import { type Config, readConfig } from './read-config.ts';

/** The one place that reads the environment of the process. */
export function configFromEnvironment(): Config {
  return readConfig(process.env);
}
