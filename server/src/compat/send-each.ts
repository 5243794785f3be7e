import { RefusedError } from '../lib/refused-error.ts';

/**
 * Sends a list of emails of which each is accepted or refused on its own: those that cannot be
 * translated are refused here, the others are left to our own batch.
 */

export interface Accepted {
  id: string;
  created_at: string;
  recipients: { email: string; status: string }[];
}

export interface Refusal {
  code: string;
  status: number;
  detail: string;
}

export type SendResult = { message: Accepted } | { error: Refusal };

interface BatchItem {
  message?: Accepted;
  error?: Refusal;
}

export async function sendEach<T>(
  emails: readonly T[],
  translate: (email: T, index: number) => object,
  sendBatch: (messages: object[]) => Promise<BatchItem[]>,
): Promise<SendResult[]> {
  const results: (SendResult | undefined)[] = [];
  const messages: object[] = [];
  for (const [index, email] of emails.entries()) {
    try {
      messages.push(translate(email, index));
      results.push(undefined);
    } catch (error) {
      results.push({ error: refusalOf(error) });
    }
  }
  const sent = messages.length > 0 ? await itemsOf(sendBatch, messages) : [];
  let next = 0;
  return results.map((result) => {
    if (result) return result;
    const { message, error } = sent[next++] as BatchItem;
    return message ? { message } : { error: error as Refusal };
  });
}

/** How one email of a list was refused; other errors concern the whole request. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof RefusedError)) throw error;
  return { code: error.code, status: 422, detail: error.message };
}

/** Our own batch refuses the request if it can accept no message at all. */
async function itemsOf(
  sendBatch: (messages: object[]) => Promise<BatchItem[]>,
  messages: object[],
): Promise<BatchItem[]> {
  try {
    return await sendBatch(messages);
  } catch (error) {
    if (!(error instanceof RefusedError) || error.errors.length === 0) throw error;
    return messages.map((_message, index) => {
      const own = error.errors.filter(({ pointer }) => pointer?.startsWith(`/messages/${index}/`));
      const detail = own.map((field) => field.detail).join(' ') || error.message;
      return { error: { code: error.code, status: 422, detail } };
    });
  }
}
