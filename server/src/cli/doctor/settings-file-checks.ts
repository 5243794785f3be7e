import type { Config } from '../../config/read-config.ts';
import { StorageStartError } from '../../db/connections/database-errors.ts';
import { readShapingFile } from '../../delivery/receivers/read-shaping-file.ts';
import { readOperatorRules } from '../../messages/verdict/operator-rules.ts';
import { type CheckResult, fail, ok } from './doctor-result.ts';

/** Reads the files that settings name, as a start does. */
export function checkSettingsFiles({ delivery }: Config): CheckResult[] {
  const { shapingFile, bounceRulesFile } = delivery;
  return [
    ...check('SHAPING_FILE', shapingFile, () => readShapingFile(shapingFile)),
    ...check('BOUNCE_RULES_FILE', bounceRulesFile, () => readOperatorRules(bounceRulesFile)),
  ];
}

function check(setting: string, file: string | undefined, read: () => unknown): CheckResult[] {
  if (file === undefined) return [];
  const name = 'configuration';
  try {
    read();
    return [ok(name, `${setting}: ${file} is valid.`)];
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    return [fail(name, error.message, 'The server does not start with this file: correct it.')];
  }
}
