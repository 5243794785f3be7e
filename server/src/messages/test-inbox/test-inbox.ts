import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import type { Encryptor } from '../../lib/crypto/encryption.ts';
import { encodeId } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { type Clock, pause } from '../../lib/time/clock.ts';
import { htmlToText, textPartOf } from '../../mail/html/html-to-text.ts';
import { extractCodes, extractLinks } from '../../mail/html/links-and-codes.ts';
import type { ContentArchive } from '../archive/content-archive.ts';
import { decryptContent } from '../content/message-content.ts';
import { findEncryptedContents } from '../content/message-content-store.ts';
import { findMessage, findMessages } from '../lookup/message-store.ts';
import {
  claimUnseen,
  clearInbox,
  deleteInboxEntry,
  findInboxEntry,
  type InboxEntry,
  listInbox,
} from './test-inbox-store.ts';

/**
 * The test inbox is the mailbox of test mode. It contains all delivered test mail, with the links
 * and one-time codes that end-to-end tests need already extracted. Like a real mailbox, and unlike
 * every other view, it shows secret values.
 */

export class TestInbox {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #encryptor: Encryptor;
  readonly #contents: ContentArchive;
  readonly #waits = new Map<string, number>();

  constructor(parts: {
    pool: Pool;
    clock: Clock;
    encryptor: Encryptor;
    contents: ContentArchive;
  }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#encryptor = parts.encryptor;
    this.#contents = parts.contents;
  }

  async list(
    workspaceId: string,
    page: { beforeId: string | undefined; limit: number; recipientKey?: string },
  ) {
    const { recipientKey } = page;
    const entries = await listInbox(this.#pool, workspaceId, { ...page, recipientKey });
    const ids = entries.map((entry) => entry.messageId);
    const scope = scopeOf(workspaceId);
    const [messages, encrypted] = await Promise.all([
      findMessages(this.#pool, scope, ids),
      findEncryptedContents(this.#pool, scope, ids),
    ]);
    const byId = new Map(messages.map((message) => [message.id, message]));
    return entries.flatMap((entry) => {
      const message = byId.get(entry.messageId);
      const decrypted = this.#decrypt(encrypted.get(entry.messageId));
      return message ? [{ uuid: entry.messageId, ...summaryOf(entry, message, decrypted) }] : [];
    });
  }

  async get(workspaceId: string, messageId: string) {
    const entry = await findInboxEntry(this.#pool, workspaceId, messageId);
    const mail = entry && (await this.#load(workspaceId, entry));
    if (!mail) throw new RefusedError('not_found', 'There is no message with this id.');
    return mail;
  }

  /**
   * Returns the oldest matching message that no wait has returned before, or waits for one to arrive.
   * Undefined when none arrived in time or the client disconnected.
   */
  async wait(
    workspaceId: string,
    { recipientKey, subject }: { recipientKey?: string; subject?: string },
    timeoutMs: number,
    signal: AbortSignal,
  ) {
    const waiting = this.#waits.get(workspaceId) ?? 0;
    if (waiting >= WAITS_PER_WORKSPACE_MAX) {
      const detail = `A workspace can have at most ${WAITS_PER_WORKSPACE_MAX} concurrent waits.`;
      throw new RefusedError('quota_exceeded', detail, { retryAfterSeconds: 1 });
    }
    this.#waits.set(workspaceId, waiting + 1);
    try {
      return await this.#wait(workspaceId, { recipientKey, subject }, timeoutMs, signal);
    } finally {
      const left = (this.#waits.get(workspaceId) ?? 1) - 1;
      if (left === 0) this.#waits.delete(workspaceId);
      else this.#waits.set(workspaceId, left);
    }
  }

  async #wait(
    workspaceId: string,
    { recipientKey, subject }: { recipientKey: string | undefined; subject: string | undefined },
    timeoutMs: number,
    signal: AbortSignal,
  ) {
    const endsAtMs = this.#clock.now() + timeoutMs;
    while (!signal.aborted) {
      const nowMs = this.#clock.now();
      const entry = await claimUnseen(this.#pool, workspaceId, { recipientKey, subject }, nowMs);
      if (entry) return this.#load(workspaceId, entry);
      if (nowMs >= endsAtMs) return undefined;
      await pause(
        this.#clock,
        Math.min(this.#pollDelayMs(workspaceId, nowMs), endsAtMs - nowMs),
        signal,
      );
    }
    return undefined;
  }

  /**
   * Scales with the number of waits and the duration of a poll, so that all waits together keep at
   * most one connection busy.
   */
  #pollDelayMs(workspaceId: string, lookedAtMs: number): number {
    const tookMs = this.#clock.now() - lookedAtMs;
    return Math.max(POLL_MS, tookMs * (this.#waits.get(workspaceId) ?? 1));
  }

  async remove(workspaceId: string, messageId: string): Promise<void> {
    if (await deleteInboxEntry(this.#pool, workspaceId, messageId)) return;
    throw new RefusedError('not_found', 'There is no message with this id.');
  }

  clear(workspaceId: string): Promise<void> {
    return clearInbox(this.#pool, workspaceId, this.#clock.now());
  }

  async #load(workspaceId: string, entry: InboxEntry) {
    const scope = scopeOf(workspaceId);
    const message = await findMessage(this.#pool, scope, entry.messageId);
    const stored = message && (await this.#contents.find(scope, entry.messageId));
    if (!stored) return undefined;
    const encrypted = await findEncryptedContents(this.#pool, scope, [entry.messageId]);
    const decrypted = this.#decrypt(encrypted.get(entry.messageId));
    const content = { ...stored, ...decrypted };
    const text = textPartOf(content);
    return {
      ...summaryOf(entry, message, decrypted),
      html: content.html,
      text,
      links: extractLinks(content.html, text),
      codes: extractCodes(visibleText(content.subject, text, content.html)),
      attachments: content.attachments.map((file) => ({
        filename: file.filename,
        content_type: file.contentType,
        content_id: file.contentId ?? null,
        size_bytes: file.content.length,
      })),
    };
  }

  #decrypt(encrypted: Buffer | undefined) {
    return encrypted && decryptContent(this.#encryptor, encrypted);
  }
}

const POLL_MS = 150;
/** Each wait polls the shared database several times a second. */
const WAITS_PER_WORKSPACE_MAX = 100;

/**
 * Everything the recipient would read: many codes are in the subject, or only in one of the two
 * bodies.
 */
function visibleText(subject: string, text: string, html: string): string {
  const shown = htmlToText(html);
  return [subject, text, ...(shown === text ? [] : [shown])].join('\n\n');
}

function scopeOf(workspaceId: string): TenantScope {
  return { workspaceId, mode: 'test' };
}

type FoundMessage = NonNullable<Awaited<ReturnType<typeof findMessage>>>;

function summaryOf(
  entry: InboxEntry,
  message: FoundMessage,
  decrypted: ReturnType<typeof decryptContent> | undefined,
) {
  return {
    id: encodeId('msg', entry.messageId),
    arrived_at: new Date(entry.arrivedAtMs).toISOString(),
    from: {
      email: message.sender,
      name: decrypted ? (decrypted.head.from.name ?? null) : message.senderName,
    },
    to: message.deliveries
      .filter(({ status }) => status === 'delivered')
      .map(({ recipient, kind, name }) => ({ email: recipient, name, kind })),
    subject: decrypted?.subject ?? message.subject,
    stream: message.stream,
    tags: message.tags,
    metadata: message.metadata,
  };
}
