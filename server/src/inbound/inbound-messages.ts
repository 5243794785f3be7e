import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool } from '../db/pool.ts';
import type { MailParser } from '../mail/mime/mail-parser.ts';
import type { ParsedAttachment } from '../mail/mime/parse-mail.ts';
import { type InboundContent, readContent } from './inbound-content.ts';
import type { InboundMessage } from './inbound-message.ts';
import {
  deleteInboundMessages,
  findInboundMessage,
  readInboundContent,
} from './inbound-message-store.ts';

/**
 * Reads and deletes stored inbound messages. Only their bytes are stored, so text, HTML and attachments
 * are parsed again for each reader: most messages are read once, by the receiver of their event.
 */
export interface InboundMessagesParts {
  pool: Pool;
  parser: MailParser;
}

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
}
