import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import type { MailParser } from '../mail/mime/mail-parser.ts';
import type { ParsedAttachment } from '../mail/mime/parse-mail.ts';
import { type InboundContent, readContent } from './inbound-content.ts';
import type { InboundMessage } from './inbound-message.ts';
import {
  deleteInboundMessages,
  findInboundMessage,
  readInboundContent,
} from './inbound-message-store.ts';
import { type InboundQuery, listInboundMessages } from './list-inbound-messages.ts';

/**
 * Reads and deletes stored inbound messages. Only their bytes are stored, so text, HTML and attachments
 * are parsed again for each reader: most messages are read once, by the receiver of their event.
 */
export interface InboundMessagesParts {
  pool: Pool;
  parser: MailParser;
}

/** A few megabytes of content on average: what one commit should delete. */
const DELETED_MAX = 500;

export class InboundMessages {
  readonly #parts: InboundMessagesParts;

  constructor(parts: InboundMessagesParts) {
    this.#parts = parts;
  }

  find(scope: TenantScope, id: string): Promise<InboundMessage | undefined> {
    return findInboundMessage(this.#parts.pool, scope, id);
  }

  /** As received, behind our Received field; undefined if it is not stored, or not any more. */
  raw(scope: TenantScope, id: string): Promise<Buffer | undefined> {
    return readInboundContent(this.#parts.pool, scope, id);
  }

  /** Undefined if it is not stored, or not any more. */
  async content(scope: TenantScope, id: string): Promise<InboundContent | undefined> {
    const raw = await this.raw(scope, id);
    return raw && readContent(this.#parts.parser, scope.workspaceId, raw);
  }

  async attachment(
    scope: TenantScope,
    id: string,
    index: number,
  ): Promise<ParsedAttachment | undefined> {
    return (await this.content(scope, id))?.attachments[index];
  }

  /** Returns whether it existed. Its event stays. */
  delete(scope: TenantScope, id: string): Promise<boolean> {
    return inTransaction(this.#parts.pool, async (client) => {
      return (await deleteInboundMessages(client, scope, [id])) > 0;
    });
  }

  /**
   * Deletes the next messages that match, newest first, before `beforeId`. Another request continues
   * with `nextBeforeId`.
   */
  async deleteMatching(
    scope: TenantScope,
    query: InboundQuery,
    beforeId: string | undefined,
  ): Promise<{ deleted: number; nextBeforeId: string | null }> {
    const { pool } = this.#parts;
    const page = { beforeId, limit: DELETED_MAX };
    const { messages, nextBeforeId } = await listInboundMessages(pool, scope, query, page);
    const ids = messages.map(({ id }) => id);
    const deleted = await inTransaction(pool, (client) =>
      deleteInboundMessages(client, scope, ids),
    );
    return { deleted, nextBeforeId };
  }
}
