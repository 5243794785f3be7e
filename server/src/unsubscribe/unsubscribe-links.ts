import type { TenantScope } from '../accounts/tenant-scope.ts';
import { createEncryptor, type Encryptor } from '../lib/crypto/encryption.ts';
import { bytesToUuid, uuidBytes } from '../lib/ids.ts';
import { unsubscribeAddressFor } from '../mail/return-path-address.ts';
import type { UnsubscribeLink } from '../messages/accept/message-stream.ts';
import { UNSUBSCRIBE_PATH } from '../messages/unsubscribe-path.ts';

/**
 * The links with which recipients leave a stream. A token says everything that unsubscribing needs,
 * encrypted and authenticated under SECRET_KEY: it cannot be guessed, needs no login, works after the
 * message has been deleted, and shows no address in logs.
 */
export interface Subscription extends TenantScope {
  messageId: string;
  stream: string;
  recipientKey: string;
}

export interface UnsubscribeLinksParts {
  secretKey: Buffer;
  baseUrl: string;
  /** The host that receives mail of those who unsubscribe; undefined if no port does. */
  bounceHost: string | undefined;
  returnPathKey: Buffer;
}

const MODE_BYTES = 1;
const UUID_BYTES = 16;
const HEAD_BYTES = MODE_BYTES + 2 * UUID_BYTES;
/** More than the longest address and key of a stream need. */
const TOKEN_CHARS_MAX = 1_000;
/** Between the stream and the address; the key of a stream cannot contain it. */
const SEPARATOR = ' ';

export class UnsubscribeLinks {
  readonly #encryptor: Encryptor;
  readonly #baseUrl: string;
  readonly #bounceHost: string | undefined;
  readonly #returnPathKey: Buffer;

  constructor(parts: UnsubscribeLinksParts) {
    this.#encryptor = createEncryptor(parts.secretKey, 'unsubscribe');
    this.#baseUrl = parts.baseUrl;
    this.#bounceHost = parts.bounceHost;
    this.#returnPathKey = parts.returnPathKey;
  }

  /** The URL for the recipient of a message. */
  urlFor({ workspaceId, mode, messageId, stream, recipientKey }: UnsubscribeLink): string {
    const payload = Buffer.concat([
      Buffer.from([mode === 'live' ? 1 : 0]),
      uuidBytes(workspaceId),
      uuidBytes(messageId),
      Buffer.from(stream + SEPARATOR + recipientKey),
    ]);
    const token = this.#encryptor.encrypt(payload).toString('base64url');
    return `${this.#baseUrl}${UNSUBSCRIBE_PATH}${token}`;
  }

  /** The mailto form, for email clients without the button. */
  mailtoFor({ workspaceId, messageId, mode }: UnsubscribeLink): string | undefined {
    // Test mail is not delivered, so no one can answer it.
    if (this.#bounceHost === undefined || mode === 'test') return undefined;
    const address = unsubscribeAddressFor(
      { workspaceId, messageId },
      this.#bounceHost,
      this.#returnPathKey,
    );
    return `mailto:${address}?subject=unsubscribe`;
  }

  /** Undefined when we did not issue the token. */
  read(token: string): Subscription | undefined {
    const payload = this.#decrypt(token);
    if (!payload) return undefined;
    const [stream = '', ...rest] = payload.subarray(HEAD_BYTES).toString().split(SEPARATOR);
    return {
      mode: payload[0] === 1 ? 'live' : 'test',
      workspaceId: bytesToUuid(payload.subarray(MODE_BYTES, MODE_BYTES + UUID_BYTES)),
      messageId: bytesToUuid(payload.subarray(MODE_BYTES + UUID_BYTES, HEAD_BYTES)),
      stream,
      recipientKey: rest.join(SEPARATOR),
    };
  }

  #decrypt(token: string): Buffer | undefined {
    if (token.length > TOKEN_CHARS_MAX) return undefined;
    const bytes = Buffer.from(token, 'base64url');
    // Only the exact spelling that we issued is valid.
    if (bytes.toString('base64url') !== token) return undefined;
    try {
      return this.#encryptor.decrypt(bytes);
    } catch {
      return undefined;
    }
  }
}
