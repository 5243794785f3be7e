import { mkdirSync, openSync, writeSync } from 'node:fs';
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
  file ??= openLog(folder);
  writeSync(file, `${JSON.stringify(noted)}\n`);
}

/** Stays open until the process ends, because a run has tens of thousands of responses. */
let file: number | undefined;

function openLog(folder: string): number {
  mkdirSync(folder, { recursive: true });
  return openSync(path.join(folder, `${process.pid}.ndjson`), 'a');
}
