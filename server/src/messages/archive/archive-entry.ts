import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { Attachment } from '../../mail/mime/attachment.ts';
import type { MessageContent } from '../content/message-content.ts';

/**
 * A message's content as stored in a pack: compressed, then encrypted with a key of its own. Deleting the
 * key erases the content, although the bytes stay in the pack until the pack expires.
 *
 * Layout before compression: the length of the JSON (4 bytes), the JSON, the attachments one after
 * another. Layout after encryption: tag, ciphertext. A key encrypts one entry, so the nonce is constant.
 */

const KEY_BYTES = 32;
const TAG_BYTES = 16;
const NONCE = Buffer.alloc(12);
const LENGTH_BYTES = 4;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

export interface SealedEntry {
  key: Buffer;
  bytes: Buffer;
}

interface EntryHead extends Omit<MessageContent, 'attachments'> {
  attachments: (Omit<Attachment, 'content'> & { bytes: number })[];
}

export async function sealEntry(content: MessageContent): Promise<SealedEntry> {
  const { attachments, ...rest } = content;
  const head: EntryHead = {
    ...rest,
    attachments: attachments.map(({ content: { length: bytes }, ...file }) => ({ ...file, bytes })),
  };
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  const plain = await compress(
    Buffer.concat([length, json, ...attachments.map((file) => file.content)]),
  );
  const key = randomBytes(KEY_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, NONCE);
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  return { key, bytes: Buffer.concat([cipher.getAuthTag(), text]) };
}

/** Throws if the bytes were changed. */
export async function openEntry({ key, bytes }: SealedEntry): Promise<MessageContent> {
  const options = { authTagLength: TAG_BYTES };
  const decipher = createDecipheriv('aes-256-gcm', key, NONCE, options);
  decipher.setAuthTag(bytes.subarray(0, TAG_BYTES));
  const plain = await decompress(
    Buffer.concat([decipher.update(bytes.subarray(TAG_BYTES)), decipher.final()]),
  );
  const jsonEnd = LENGTH_BYTES + plain.readUInt32BE();
  const { attachments, ...content } = JSON.parse(
    plain.toString('utf8', LENGTH_BYTES, jsonEnd),
  ) as EntryHead;
  let offset = jsonEnd;
  return {
    ...content,
    attachments: attachments.map(({ bytes: size, ...file }) => {
      const start = offset;
      offset += size;
      return { ...file, content: plain.subarray(start, offset) };
    }),
  };
}
