import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import openapiTypes, { astToString } from 'openapi-typescript';
import { defaultDocument } from '../scripts/openapi.ts';

/**
 * Writes the types of the API, from the very operations that the server runs: for the dashboard, and
 * for the client library.
 */
export async function writeApiTypes(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const document = JSON.parse(JSON.stringify(defaultDocument()));
  // What has a default may be left out of a request, and no answer has one.
  const types = await openapiTypes(document, { defaultNonNullable: false });
  writeFileSync(path.join(folder, 'api.d.ts'), astToString(types));
}

if (import.meta.main) await writeApiTypes(path.join(import.meta.dirname, 'dist/types'));
