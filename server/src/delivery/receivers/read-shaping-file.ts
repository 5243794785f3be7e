import { readFileSync } from 'node:fs';
import { StorageStartError } from '../../db/connections/database-errors.ts';
import { type ShapingRules, shapingErrors } from './shaping.ts';

/** Reads SHAPING_FILE. Throws with all errors. */
export function readShapingFile(file: string | undefined): ShapingRules | undefined {
  if (file === undefined) return undefined;
  let rules: unknown;
  try {
    rules = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new StorageStartError(
      `SHAPING_FILE: ${file} cannot be read as JSON: ${error instanceof Error ? error.message : ''}`,
    );
  }
  const errors = shapingErrors(rules);
  if (errors.length > 0) throw new StorageStartError(`SHAPING_FILE: ${errors.join(' ')}`);
  return rules as ShapingRules;
}
