import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { AcceptedMessage } from './accepted-message.ts';

/** What became of one message of a batch. */
export type BatchItem =
  | { index: number; message: AcceptedMessage }
  | { index: number; error: RefusedError };

type StoredItem =
  | { index: number; message: AcceptedMessage }
  | { index: number; error: { code: string; detail: string; errors: readonly FieldError[] } };

/**
 * The result of a batch as text, for repeated requests. It contains the id of the request, because
 * the errors of the first response name it.
 */
export function serializeBatch(requestId: string, items: readonly BatchItem[]): string {
  const stored = items.map((item): StoredItem => {
    if ('message' in item) return item;
    const { code, message: detail, errors } = item.error;
    return { index: item.index, error: { code, detail, errors } };
  });
  return JSON.stringify({ requestId, items: stored });
}

export function parseBatch(text: string): { requestId: string; items: BatchItem[] } {
  const { requestId, items } = JSON.parse(text) as { requestId: string; items: StoredItem[] };
  return {
    requestId,
    items: items.map((item) => {
      if ('message' in item) return item;
      const { code, detail, errors } = item.error;
      return { index: item.index, error: new RefusedError(code, detail, { errors }) };
    }),
  };
}
