import { readFileSync } from 'node:fs';
import path from 'node:path';
import { breakingChanges, type OpenApi } from './breaking-changes.ts';
import { ROOT } from './project-files.ts';

/** The API of the last release. */
export const RELEASED = 'docs/openapi-released.json';

/** `/api/v1` only grows: returns one line per change that would break a client of the last release. */
export function breakingChangeErrors(): string[] {
  return breakingChanges(read(RELEASED), read('openapi.json'));
}

function read(file: string): OpenApi {
  return JSON.parse(readFileSync(path.join(ROOT, file), 'utf8')) as OpenApi;
}
