import { parentPort } from 'node:worker_threads';
import { RefusedError } from '../../lib/refused-error.ts';
import { readMessage } from '../../smtp/submission/mail-to-send-request.ts';
import type { Asked, Told } from './mail-parser-thread.ts';

/** What runs in a ReadingThread: one mail in, one answer out. What it does not expect ends it. */
parentPort?.on('message', ({ data, recipients }: Asked) => {
  const mail = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  void readMessage(mail, recipients)
    .then((submitted): Told => ({ submitted }))
    .catch((error: unknown): Told => {
      if (!(error instanceof RefusedError)) throw error;
      return { code: error.code, detail: error.message, errors: error.errors };
    })
    .then((told) => parentPort?.postMessage(told));
});
