import type { CountedQuota } from './counted-quota.ts';
import { limitsMessages, type MessageQuotas } from './message-quotas.ts';
import type { Quotas } from './quota.ts';

/**
 * Charges sends to the quotas of their workspace before they are stored: to those on messages and to the
 * one on stored content. Content counts as long as its retention period, so neither accepting nor
 * deleting a message costs a query; what is deleted earlier counts until then.
 */

export interface ChargedSend {
  workspaceId: string;
  /** Live messages: test mail counts for no quota of messages. */
  messages: number;
  recipientsMax: number;
  contentBytes: number;
}

export interface QuotaCharge {
  /**
   * Returns what was not stored. When that is unknown, the messages stay charged; a count of the hour
   * settles it.
   */
  settle(stored: boolean | 'unknown'): void;
}

export class SendQuotas {
  readonly #messages: MessageQuotas;
  readonly #contentBytes: CountedQuota;

  constructor(parts: { messages: MessageQuotas; contentBytes: CountedQuota }) {
    this.#messages = parts.messages;
    this.#contentBytes = parts.contentBytes;
  }

  /** Asked by every send first, so it returns no promise when the quotas are cached. */
  isLimited(workspaceId: string): boolean | Promise<boolean> {
    const quotas = this.#messages.quotasOf(workspaceId);
    return quotas instanceof Promise ? quotas.then(limitsSending) : limitsSending(quotas);
  }

  /** Throws a RefusedError if the quotas do not allow all of it. */
  async charge(send: ChargedSend): Promise<QuotaCharge> {
    const { workspaceId, messages, recipientsMax, contentBytes } = send;
    const reservation = await this.#contentBytes.reserve(workspaceId, contentBytes);
    try {
      if (reservation.refusal) throw reservation.refusal;
      if (messages > 0) await this.#messages.admit(workspaceId, messages, recipientsMax);
    } catch (error) {
      reservation.settle(0);
      throw error;
    }
    return {
      settle: (stored) => {
        reservation.settle(stored === true ? contentBytes : 0);
        if (stored === false && messages > 0) this.#messages.refund(workspaceId, messages);
      },
    };
  }
}

function limitsSending(quotas: Quotas | undefined): boolean {
  if (!quotas) return false;
  const { content_bytes: content, recipients_per_message: recipients } = quotas;
  return content !== null || recipients !== null || limitsMessages(quotas);
}
