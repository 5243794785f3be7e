import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import openapiTypes, { astToString } from 'openapi-typescript';
import { defaultDocument } from '../scripts/openapi.ts';

/** Writes the types of the API, from the very operations that the server runs, for the client. */
const folder = path.join(import.meta.dirname, 'dist/types');
mkdirSync(folder, { recursive: true });
const document = JSON.parse(JSON.stringify(defaultDocument()));
writeFileSync(path.join(folder, 'api.d.ts'), astToString(await openapiTypes(document)));
