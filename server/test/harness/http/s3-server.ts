import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { headerReader, signatureOf } from '../../../src/compat/ses/signature-v4.ts';

/**
 * A bucket in memory with the part of the S3 API that the archive uses. Every request must be signed, and
 * its body must have the signed hash.
 */
export interface S3Server extends AsyncDisposable {
  /** The URL of the bucket. */
  url: string;
  objects: Map<string, Buffer>;
  /** Answers 503 while it is true. */
  isDown: boolean;
  /** Runs before an object is stored. */
  onPut?: () => Promise<void>;
}

export const S3_CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'secret/of+the=bucket',
};

export async function startS3(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const server = http.createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const answer = (status: number, bytes: Uint8Array = Buffer.alloc(0)) =>
      response.writeHead(status).end(bytes);
    if (s3.isDown) return answer(503);
    if (!isSigned(request, body)) return answer(403, Buffer.from('SignatureDoesNotMatch'));
    const name = request.url ?? '';
    const stored = objects.get(name);
    if (request.method === 'PUT') {
      await s3.onPut?.();
      objects.set(name, body);
      return answer(200);
    }
    if (request.method === 'DELETE') {
      objects.delete(name);
      return answer(204);
    }
    if (!stored) return answer(404);
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    return from === undefined
      ? answer(200, stored)
      : answer(206, stored.subarray(Number(from), Number(to) + 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const s3: S3Server = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mail/archive`,
    objects,
    isDown: false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return s3;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

function isSigned(request: http.IncomingMessage, body: Buffer): boolean {
  const match = AUTHORIZATION.exec(request.headers.authorization ?? '');
  const [, accessKeyId, scope = '', names = '', signature] = match ?? [];
  const header = headerReader(request.rawHeaders);
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const signedAt = header('x-amz-date') ?? '';
  const expected = signatureOf(
    { method: request.method ?? '', url: request.url ?? '', header },
    { scope, signedAt, signedHeaders: names },
    bodyHash,
    S3_CREDENTIALS.secretAccessKey,
  );
  return (
    accessKeyId === S3_CREDENTIALS.accessKeyId &&
    request.headers['x-amz-content-sha256'] === bodyHash &&
    signature === expected
  );
}
