import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import type { OperationResponse } from '../operation.ts';
import { acceptedCoding, type Coding } from '../server/content-coding.ts';

/**
 * Serves an OpenAPI document. It never changes while the server runs, so it is written and compressed
 * once, on the first request. Tools download it from browsers and on every build: any origin may read
 * it, and a client that has it already gets 304.
 */
export function documentResponder(
  write: () => string,
  mediaType: string,
): (header: (name: string) => string | undefined) => Promise<OperationResponse> {
  let document: { body: Buffer; etag: string } | undefined;
  const compressed = new Map<Coding, Promise<Buffer>>();
  return async (header) => {
    document ??= toDocument(write());
    const { body, etag } = document;
    const headers = {
      etag,
      vary: 'accept-encoding',
      'cache-control': 'no-cache',
      'access-control-allow-origin': '*',
    };
    if (matches(header('if-none-match'), etag)) return { status: 304, headers };
    const coding = acceptedCoding(header('accept-encoding'));
    if (!coding) return { status: 200, headers, mediaType, body };
    const coded = compressed.get(coding) ?? COMPRESS[coding](body);
    compressed.set(coding, coded);
    return {
      status: 200,
      headers: { ...headers, 'content-encoding': coding },
      mediaType,
      body: await coded,
    };
  };
}

const COMPRESS: Record<Coding, (body: Buffer) => Promise<Buffer>> = {
  br: promisify<Buffer, Buffer>(brotliCompress),
  gzip: promisify<Buffer, Buffer>(gzip),
};

/** The tag is weak: it names the document, whatever its coding. */
function toDocument(text: string): { body: Buffer; etag: string } {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  return { body: Buffer.from(text), etag: `W/"${hash}"` };
}

function matches(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((tag) => tag.trim() === '*' || tag.trim() === etag);
}
