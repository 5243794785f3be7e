import { didYouMean } from '../lib/did-you-mean.ts';
import type { Environment } from './read-settings.ts';
import { SETTINGS } from './settings.ts';

/**
 * Warns about environment variables that look like misspelled settings. It is only a warning, because
 * other programs may use such names, and short names are ignored because they match too easily.
 */
export function findUnknownSettings(env: Environment): string[] {
  const known = Object.keys(SETTINGS);
  return Object.keys(env)
    .filter((name) => name.length >= LENGTH_MIN && !known.includes(name))
    .flatMap((name) => {
      const meant = didYouMean(name, known);
      return meant === undefined ? [] : [`Unknown setting ${name}. Did you mean ${meant}?`];
    });
}

const LENGTH_MIN = 8;
