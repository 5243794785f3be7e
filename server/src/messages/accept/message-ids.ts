import type { Pool } from '../../db/connections/pool.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { findUsedMessageIds } from './message-id-store.ts';
import { headerPointer } from './parse-options.ts';
import type { PreparedMessage } from './prepare-message.ts';

/**
 * Keeps the Message-IDs that API callers choose unique in a workspace and mode. IDs in use are
 * looked up in the messages; two sends at the same moment meet in this process, or in the unique
 * index of message_id_reservations when they come from two nodes. Sends without an ID of their own
 * cost nothing.
 */
export class MessageIds {
  readonly #pool: Pool;
  readonly #inProgress = new Set<string>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Runs `work` with the messages whose ID is already in use. No other send in this process gets
   * the IDs of the others until it ends.
   */
  async withUnique<T>(
    messages: readonly PreparedMessage[],
    work: (taken: ReadonlySet<PreparedMessage>) => Promise<T>,
  ): Promise<T> {
    const own = messages.filter((one) => one.hasUniqueMessageId);
    const [first] = own;
    if (!first) return await work(NONE);
    const taken = new Set<PreparedMessage>();
    const acquired = new Map<string, PreparedMessage>();
    for (const message of own) {
      const key = `${message.workspaceId}/${message.mode}/${message.messageId}`;
      if (this.#inProgress.has(key)) {
        taken.add(message);
        continue;
      }
      this.#inProgress.add(key);
      acquired.set(key, message);
    }
    try {
      const ids = own.map(({ messageId }) => messageId as string);
      const used = await findUsedMessageIds(this.#pool, first, ids);
      for (const message of acquired.values()) {
        if (used.has(message.messageId as string)) taken.add(message);
      }
      return await work(taken);
    } finally {
      for (const key of acquired.keys()) this.#inProgress.delete(key);
    }
  }
}

const NONE: ReadonlySet<PreparedMessage> = new Set();

export function messageIdInUse(): RefusedError {
  const detail = 'Another message of this workspace has this Message-ID.';
  const errors = [{ pointer: headerPointer('Message-ID'), code: 'message_id_in_use', detail }];
  return new RefusedError('message_id_in_use', detail, { errors });
}
