import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { writeGenerated } from './generated.ts';
import { ROOT } from './project-files.ts';
import { RELEASED } from './released-api.ts';

/**
 * `npm run generate` writes the generated files. With `--release` the API as it is now becomes what
 * later changes are held against.
 */
for (const file of await writeGenerated()) console.log(`written: ${file}`);
if (process.argv.includes('--release')) {
  copyFileSync(path.join(ROOT, 'openapi.json'), path.join(ROOT, RELEASED));
  console.log(`written: ${RELEASED}`);
}
