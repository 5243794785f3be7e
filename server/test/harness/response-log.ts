import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Records the responses of the whole run, one line per response and one file per process, for
 * `test/compare-responses.ts`.
 */
export interface RecordedResponse {
  method: string;
  path: string;
  status: number;
  code: string | null;
  mediaType: string;
}

export function recordResponse(
  method: string,
  url: string,
  response: Response,
  json: unknown,
): void {
  appendRecord({
    method,
    path: url.split('?', 1)[0] as string,
    status: response.status,
    code: (json as { code?: string } | undefined)?.code ?? null,
    mediaType: (response.headers.get('content-type') ?? '').split(';', 1)[0] as string,
  });
}

export function appendRecord(noted: RecordedResponse): void {
  const folder = process.env.POSTRIDER_RESPONSES_DIR;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  appendFileSync(path.join(folder, `${process.pid}.ndjson`), `${JSON.stringify(noted)}\n`);
}
