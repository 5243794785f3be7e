import type { SmtpCapabilities } from './capabilities.ts';
import type { DataBody } from './data-body.ts';

/** More gain little, and all of them may arrive twice if the connection is lost. */
const CHUNKING_DEPTH = 4;
/** Larger messages are not sent before the receiver has accepted a recipient. */
const CHUNK_BYTES_MAX = 64 * 1024;
/** A connection whose last reply is older may have been closed by the receiver. */
const SILENCE_MS = 1_000;

/**
 * Which messages of one connection are sent with BDAT (RFC 3030), which saves a round trip and lets
 * messages share a write, but sends each of them before the replies to its commands are known.
 */
export class Chunking {
  #inUse: boolean;
  #lastReplyAtMs: number;
  #lostChunks = false;

  constructor({ pipelining, chunking }: SmtpCapabilities, nowMs: number) {
    this.#inUse = pipelining && chunking;
    this.#lastReplyAtMs = nowMs;
  }

  get inUse(): boolean {
    return this.#inUse;
  }

  /** How many messages may be in flight. */
  get depth(): number {
    return CHUNKING_DEPTH;
  }

  /** Whether chunks got no reply, perhaps because a firewall does not know BDAT. */
  get lostChunks(): boolean {
    return this.#lostChunks;
  }

  stop(): void {
    this.#inUse = false;
  }

  onReply(nowMs: number): void {
    this.#lastReplyAtMs = nowMs;
  }

  /** The connection was lost, with or without chunks that had no reply. */
  onLost(hadChunks: boolean): void {
    this.#lostChunks = hadChunks;
  }

  /**
   * A large message waits for the replies to its recipients, and so does one on a connection that has
   * been silent: if the receiver has closed it, nothing of the message may have been sent.
   */
  mayChunk({ blocksBytes, sizeBytes }: DataBody, nowMs: number): boolean {
    const isStuffed = blocksBytes !== sizeBytes;
    return (
      this.#inUse &&
      !isStuffed &&
      blocksBytes <= CHUNK_BYTES_MAX &&
      nowMs - this.#lastReplyAtMs < SILENCE_MS
    );
  }
}
