import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/read-config.ts';
import { BucketError, openBucket } from '../../lib/object-bucket.ts';
import { type CheckResult, fail, ok } from './doctor-result.ts';
import { printable } from './network-checks.ts';

/** Stores, reads and deletes an object: which of these rights a key has is not shown by anything less. */
export async function checkContentBucket({ contentBucket }: Config): Promise<CheckResult[]> {
  if (contentBucket === undefined) return [];
  const name = 'content archive';
  const bucket = openBucket(contentBucket);
  const object = `doctor/${randomUUID()}`;
  let step = 'store';
  try {
    await bucket.put(object, Buffer.from('ok'));
    step = 'read';
    const bytes = await bucket.read(object, { offset: 0, length: 2 });
    if (bytes?.toString() !== 'ok') throw new BucketError('The object is missing.');
    step = 'delete';
    await bucket.remove(object);
    return [ok(name, 'Objects in CONTENT_BUCKET_URL can be stored, read and deleted.')];
  } catch (error) {
    if (!(error instanceof BucketError)) throw error;
    return [
      fail(
        name,
        `Cannot ${step} an object in CONTENT_BUCKET_URL: ${printable(error.message)}`,
        'Correct the CONTENT_BUCKET_ settings and the rights of the key. Until then contents stay in the database, and archived ones cannot be read.',
      ),
    ];
  }
}
