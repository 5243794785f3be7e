import { hash } from 'node:crypto';
import { AwsClient } from 'aws4fetch';

/** A bucket of S3-compatible storage. */
export interface BucketSettings {
  /** The URL of the bucket, with a prefix for the names of objects if there is one. */
  url: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

export interface ObjectBucket {
  put(name: string, bytes: Buffer): Promise<void>;
  /** A part of an object; undefined if the object does not exist. */
  read(name: string, range: { offset: number; length: number }): Promise<Buffer | undefined>;
  /** Succeeds if the object does not exist. */
  remove(name: string): Promise<void>;
}

/** The storage did not answer, or refused. */
export class BucketError extends Error {
  override name = 'BucketError';
}

/** With the retries of the client, which repeats requests after 5xx and 429. */
const TIMEOUT_MS = 30_000;
const RETRIES = 2;

export function openBucket({ url, ...credentials }: BucketSettings): ObjectBucket {
  const client = new AwsClient({ ...credentials, service: 's3', retries: RETRIES });
  const base = url.replace(/\/*$/, '');
  const call = async (
    method: string,
    name: string,
    init: { body?: Uint8Array<ArrayBuffer>; headers?: Record<string, string> } = {},
  ): Promise<Response> => {
    // Otherwise the body would not be signed.
    const bodyHash = hash('sha256', init.body ?? '', 'hex');
    const headers = { ...init.headers, 'x-amz-content-sha256': bodyHash };
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      return await client.fetch(`${base}/${name}`, { ...init, headers, method, signal });
    } catch (error) {
      throw new BucketError(`The storage at ${new URL(base).host} cannot be reached.`, {
        cause: error,
      });
    }
  };
  return {
    async put(name, bytes) {
      await expectStatus(await call('PUT', name, { body: new Uint8Array(bytes) }), [200, 201, 204]);
    },
    async read(name, { offset, length }) {
      const headers = { range: `bytes=${offset}-${offset + length - 1}` };
      const response = await call('GET', name, { headers });
      if (response.status === 404) return discard(response);
      await expectStatus(response, [206]);
      const bytes = Buffer.from(await response.arrayBuffer());
      if (bytes.length !== length) throw new BucketError('The storage returned another range.');
      return bytes;
    },
    async remove(name) {
      await expectStatus(await call('DELETE', name), [200, 204, 404]);
    },
  };
}

async function expectStatus(response: Response, expected: readonly number[]): Promise<void> {
  if (!expected.includes(response.status)) {
    const text = (await response.text()).slice(0, 500);
    throw new BucketError(`The storage answered ${response.status}: ${text}`);
  }
  if (response.status !== 206) await discard(response);
}

/** An unread body would keep its connection. */
async function discard(response: Response): Promise<undefined> {
  await response.body?.cancel();
}
