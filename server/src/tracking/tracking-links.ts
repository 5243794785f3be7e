import { hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Mode } from '../accounts/tenant-scope.ts';
import { createHmacSha256, type Hmac } from '../lib/crypto/hmac.ts';
import { bytesToUuid, uuidBytes } from '../lib/ids.ts';

/**
 * The URLs in tracked mail. Each contains everything needed and a signature under SECRET_KEY:
 * nothing is stored or looked up, so links keep working while the database is unavailable. URLs
 * that we did not sign are not followed, so this is not an open redirect.
 */
export interface TrackedMessage {
  workspaceId: string;
  mode: Mode;
  messageId: string;
}

export class TrackingLinks {
  readonly #hmac: Hmac;

  constructor(secretKey: Buffer) {
    this.#hmac = createHmacSha256(
      Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'tracking', 32)),
    );
  }

  openPath(message: TrackedMessage): string {
    return `${OPEN_PATH}${this.#token('open', message, '')}.gif`;
  }

  clickPath(message: TrackedMessage, url: string): string {
    const token = this.#token('click', message, url);
    return `${CLICK_PATH}${token}/${Buffer.from(url).toString('base64url')}`;
  }

  /** Undefined when we did not issue the token. */
  readOpen(token: string): TrackedMessage | undefined {
    return this.#read('open', token, '');
  }

  readClick(token: string, encodedUrl: string): (TrackedMessage & { url: string }) | undefined {
    const url = Buffer.from(encodedUrl, 'base64url').toString();
    const message = this.#read('click', token, url);
    return message && { ...message, url };
  }

  #token(kind: Kind, { workspaceId, mode, messageId }: TrackedMessage, url: string): string {
    const payload = Buffer.concat([
      Buffer.from([mode === 'live' ? 1 : 0]),
      uuidBytes(workspaceId),
      uuidBytes(messageId),
    ]);
    return Buffer.concat([payload, this.#signature(kind, payload, url)]).toString('base64url');
  }

  #read(kind: Kind, token: string, url: string): TrackedMessage | undefined {
    const bytes = Buffer.from(token, 'base64url');
    if (bytes.length !== PAYLOAD_BYTES + SIGNATURE_BYTES) return undefined;
    const payload = bytes.subarray(0, PAYLOAD_BYTES);
    const signature = this.#signature(kind, payload, url);
    if (!timingSafeEqual(bytes.subarray(PAYLOAD_BYTES), signature)) return undefined;
    return {
      mode: payload[0] === 1 ? 'live' : 'test',
      workspaceId: bytesToUuid(payload.subarray(1, 17)),
      messageId: bytesToUuid(payload.subarray(17)),
    };
  }

  /** The kind is part of the signature, so that an open token cannot be used as a click token. */
  #signature(kind: Kind, payload: Buffer, url: string): Buffer {
    const signed = Buffer.concat([Buffer.from(`${kind} `), payload, Buffer.from(url)]);
    return this.#hmac(signed).subarray(0, SIGNATURE_BYTES);
  }
}

export const OPEN_PATH = '/t/o/';
export const CLICK_PATH = '/t/c/';

/**
 * The workspace that a path of tracked mail names, for a router that has no SECRET_KEY. Nothing is proved:
 * the server that gets the request verifies the signature.
 */
export function trackedWorkspace(path: string): string | undefined {
  const prefix = [OPEN_PATH, CLICK_PATH].find((one) => path.startsWith(one));
  const [token = ''] = prefix === undefined ? [] : path.slice(prefix.length).split(/[/.]/);
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== PAYLOAD_BYTES + SIGNATURE_BYTES) return undefined;
  return bytesToUuid(bytes.subarray(1, 17));
}

type Kind = 'open' | 'click';

const PAYLOAD_BYTES = 33;
const SIGNATURE_BYTES = 16;
