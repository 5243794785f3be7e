import { parentPort } from 'node:worker_threads';
import { RefusedError } from '../../lib/refused-error.ts';
import type { ParseRequest, ParseResponse } from './mail-parser-thread.ts';
import { parseMail } from './parse-mail.ts';

/** The worker of a MailParserThread: one request in, one response out. Unexpected errors end it. */
parentPort?.on('message', ({ data }: ParseRequest) => {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  void parseMail(bytes)
    .then((mail): ParseResponse => ({ mail }))
    .catch((error: unknown): ParseResponse => {
      if (!(error instanceof RefusedError)) throw error;
      return { code: error.code, detail: error.message };
    })
    .then((response) => parentPort?.postMessage(response));
});
