import { parentPort } from 'node:worker_threads';
import { RefusedError } from '../../base/refused-error.ts';
import type { Asked, Told } from './mail-reader.ts';
import { readMessage } from './read-message.ts';

/** The thread behind MailReader: one mail in, one answer out. What it does not expect ends it. */
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
