import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import openapiTypes, { astToString } from 'openapi-typescript';
import { defaultDocument } from '../scripts/openapi.ts';

/** Generates the API types from the server's operations, for the dashboard and the SDK. */
export async function writeApiTypes(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const document = JSON.parse(JSON.stringify(defaultDocument()));
  // Fields with a default are optional in requests; responses have no defaults.
  const types = await openapiTypes(document, { defaultNonNullable: false });
  writeFileSync(path.join(folder, 'api.d.ts'), astToString(types));
}

if (import.meta.main) await writeApiTypes(path.join(import.meta.dirname, 'dist/types'));
