import type { Caller } from '../../../accounts/caller.ts';
import type { InboundMessages } from '../../../inbound/inbound-messages.ts';
import { decodeId } from '../../../lib/ids.ts';
import type { ContentArchive } from '../../../messages/archive/content-archive.ts';
import { viewContent } from '../../../messages/content/content-view.ts';
import type { MessageContent } from '../../../messages/content/message-content.ts';

/**
 * The contents of messages in the export of a workspace, from the database and from the archive. Memory holds
 * one content at a time, and its bytes are encoded piece by piece as the client reads.
 */

/** A multiple of three, so that the pieces together are valid Base64. */
const PIECE_BYTES = 48 * 1024;

export interface ListedMessage {
  id: string;
  created_at: string;
}

/** Pieces of lines, one line for each message whose content is still kept. */
export async function* contentLines(
  contents: ContentArchive,
  caller: Caller,
  messages: readonly ListedMessage[],
): AsyncGenerator<string, void> {
  for (const { id, created_at } of messages) {
    const uuid = decodeId('msg', id);
    const content = uuid && (await contents.find(caller, uuid));
    if (!content) continue;
    const createdAtMs = Date.parse(created_at);
    const { attachments, ...view } = await viewContent(
      caller.workspaceId,
      uuid,
      createdAtMs,
      content,
    );
    const head = { type: 'message_content', data: { message_id: id, ...view } };
    // The line continues inside `data`.
    yield `${JSON.stringify(head).slice(0, -2)},"attachments":[`;
    for (const [index, summary] of attachments.entries()) {
      if (index > 0) yield ',';
      yield* fileText(summary, storedFile(content, index));
    }
    yield ']}}\n';
  }
}

/** The same for inbound messages, as the bytes that arrived. */
export async function* rawLines(
  inboundMessages: Pick<InboundMessages, 'raw'>,
  caller: Caller,
  messages: readonly { id: string }[],
): AsyncGenerator<string, void> {
  for (const { id } of messages) {
    const uuid = decodeId('inm', id);
    const raw = uuid && (await inboundMessages.raw(caller, uuid));
    if (!raw) continue;
    const head = { type: 'inbound_message_content', data: { inbound_message_id: id } };
    yield `${JSON.stringify(head).slice(0, -2)},"raw":"`;
    yield* base64Of(raw);
    yield '"}}\n';
  }
}

/** Undefined if the files were removed with the secrets of the message: only their names are kept. */
function storedFile({ head, attachments }: MessageContent, index: number): Buffer | undefined {
  return head.original?.attachments === undefined ? attachments[index]?.content : undefined;
}

function* fileText(summary: object, file: Buffer | undefined): Generator<string> {
  if (!file) {
    yield JSON.stringify({ ...summary, content: null });
    return;
  }
  yield `${JSON.stringify(summary).slice(0, -1)},"content":"`;
  yield* base64Of(file);
  yield '"}';
}

function* base64Of(bytes: Buffer): Generator<string> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield bytes.toString('base64', at, Math.min(at + PIECE_BYTES, bytes.length));
  }
}
