import { likelyMeant } from '../lib/likely-meant.ts';
import type { Environment } from './read-config.ts';
import { VARIABLES } from './variables.ts';

/**
 * Names in the environment that are most likely settings of ours with a slip. Others may have
 * variables of such names too, so this is told and refuses nothing; short names say too little.
 */
export function misspeltIn(env: Environment): string[] {
  const known = Object.keys(VARIABLES);
  return Object.keys(env)
    .filter((name) => name.length >= LENGTH_MIN && !known.includes(name))
    .flatMap((name) => {
      const meant = likelyMeant(name, known);
      return meant === undefined ? [] : [`${name} is no setting. Do you mean ${meant}?`];
    });
}

const LENGTH_MIN = 8;
