import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { writeGenerated } from './generated.ts';
import { ROOT } from './project-files.ts';
import { RELEASED } from './released-api.ts';

/**
 * `npm run generate` writes the generated files. `--release` also stores the current API as the
 * baseline for the compatibility check.
 */
for (const file of await writeGenerated()) console.log(`Wrote ${file}`);
if (process.argv.includes('--release')) {
  copyFileSync(path.join(ROOT, 'openapi.json'), path.join(ROOT, RELEASED));
  console.log(`Wrote ${RELEASED}`);
}
