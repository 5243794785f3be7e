import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { AcceptedMessage } from './accepted-message.ts';
import type { PreparedMessage } from './prepare-message.ts';

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

export function isPrepared(one: PreparedMessage | RefusedError): one is PreparedMessage {
  return !(one instanceof RefusedError);
}

/** The results in the order of the batch; `accepted` are those of its prepared messages. */
export function batchItems(
  prepared: readonly (PreparedMessage | RefusedError)[],
  accepted: readonly AcceptedMessage[],
): BatchItem[] {
  const messages = accepted.values();
  return prepared.map((one, index) =>
    one instanceof RefusedError
      ? { index, error: one }
      : { index, message: messages.next().value as AcceptedMessage },
  );
}

/** The error of a batch of which nothing is accepted. */
export function batchRejected(refused: RefusedError[]): RefusedError {
  const errors = refused.flatMap((one) => one.errors);
  const codes = new Set(refused.map((one) => one.code));
  const code = codes.size === 1 ? (refused[0] as RefusedError).code : 'validation_failed';
  const detail =
    refused.length === 1
      ? `One message is invalid; nothing was accepted. ${refused[0]?.message ?? ''}`
      : `${refused.length} messages are invalid; nothing was accepted.`;
  return new RefusedError(code, detail, { errors });
}
