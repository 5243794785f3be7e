import { decodeId, newId } from '../../lib/ids.ts';
import { invalidFields } from '../../lib/refused-error.ts';

/**
 * A batch is nothing but its id, which the messages of the batch have in their metadata. An index finds
 * them (`messages_sendgrid_batch`), so a batch can be cancelled without a table of its own.
 */

export function newBatchId(nowMs: number): string {
  return newId('bat', nowMs);
}

export function isBatchId(text: string): boolean {
  return decodeId('bat', text) !== undefined;
}

export function checkBatchId(text: string, pointer: string): void {
  if (isBatchId(text)) return;
  const detail = 'Not a batch id. POST /v3/mail/batch creates one.';
  throw invalidFields([{ pointer, code: 'invalid_format', detail }]);
}
