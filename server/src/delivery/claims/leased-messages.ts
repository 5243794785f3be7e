import type { Mode } from '../../accounts/tenant-scope.ts';
import type { HandedOffMessage, Lease } from '../../messages/accept/delivery-handoff.ts';
import type { ClaimedRow } from '../../messages/deliveries/claim-store.ts';
import { isSuspect } from '../../messages/deliveries/delivery-lease-store.ts';
import { addressDomain } from '../../messages/queue-shard.ts';
import { DEFAULT_STREAM_KEY } from '../../streams/stream.ts';
import type { Delivery, Message } from '../delivery.ts';
import type { MutableEngineStats } from '../engine-stats.ts';
import { giveUpAtMs } from '../outcomes/retry-policy.ts';

/**
 * All messages of which this node has leased deliveries. Recipients of one message share its
 * content, and a cancellation finds them all. The content is freed with the last of them.
 */
export class LeasedMessages {
  readonly #messages = new Map<string, Message>();
  readonly #stats: MutableEngineStats;

  constructor(stats: MutableEngineStats) {
    this.#stats = stats;
  }

  find(workspaceId: string, mode: Mode, messageId: string): Delivery[] {
    const message = this.#messages.get(messageId);
    const matches = message?.workspaceId === workspaceId && message.mode === mode;
    return matches ? [...message.leased] : [];
  }

  all(): Delivery[] {
    const all: Delivery[] = [];
    for (const message of this.#messages.values()) all.push(...message.leased);
    return all;
  }

  addHandoff(handed: HandedOffMessage, lease: Lease): Delivery[] {
    const message: Message = {
      workspaceId: handed.workspaceId,
      mode: handed.mode,
      id: handed.messageId,
      dateMs: handed.createdAtMs,
      stream: handed.stream,
      route: handed.route,
      tags: handed.tags,
      metadata: handed.metadata,
      content: handed.content,
      contentBytes: bytesOf(handed),
      contentMissing: false,
      signature: null,
      prepared: undefined,
      leased: [],
    };
    this.#stats.contentBytes += message.contentBytes;
    this.#messages.set(message.id, message);
    for (const { ordinal, recipient, isBlindCopy, expiresAtMs } of handed.deliveries) {
      const recipientKey = recipient.toLowerCase().normalize('NFC');
      message.leased.push({
        message,
        ordinal,
        recipient,
        recipientKey,
        domain: addressDomain(recipientKey),
        isBlindCopy,
        lease: lease.token,
        leaseEndsAtMs: lease.endsAtMs,
        attempts: 0,
        cycleStartedAtMs: handed.createdAtMs,
        expiresAtMs,
        giveUpAtMs: giveUpAtMs(expiresAtMs, handed.hasTtl, handed.createdAtMs),
        suspect: false,
        state: 'leased',
      });
    }
    return [...message.leased];
  }

  addClaimed(row: ClaimedRow, leaseEndsAtMs: number, nowMs: number): Delivery {
    let message = this.#messages.get(row.message_id);
    if (!message) {
      message = {
        workspaceId: row.workspace_id,
        mode: row.mode,
        id: row.message_id,
        dateMs: row.dated_at ?? row.run_started_at,
        stream: row.stream ?? DEFAULT_STREAM_KEY,
        route: row.route,
        tags: row.tags ?? [],
        metadata: row.metadata ?? {},
        content: undefined,
        contentBytes: 0,
        contentMissing: false,
        signature: null,
        prepared: undefined,
        leased: [],
      };
      this.#messages.set(message.id, message);
    }
    const delivery: Delivery = {
      message,
      ordinal: row.ordinal,
      recipient: row.recipient,
      recipientKey: row.recipient_key,
      domain: addressDomain(row.recipient_key),
      isBlindCopy: row.is_blind_copy,
      lease: row.lease,
      leaseEndsAtMs,
      attempts: row.attempts,
      cycleStartedAtMs: row.run_started_at,
      expiresAtMs: row.expires_at,
      giveUpAtMs: giveUpAtMs(row.expires_at, row.has_ttl, nowMs),
      suspect: isSuspect(row.lease),
      state: 'leased',
    };
    message.leased.push(delivery);
    return delivery;
  }

  /**
   * The delivery of a claimed row that this node is still sending, or whose outcome it has not
   * written yet: its lease expired meanwhile, for instance because an outage of the database kept it
   * from being renewed. Undefined if the row has been attempted or retried since.
   */
  findUnrecorded(row: ClaimedRow): Delivery | undefined {
    return this.#messages
      .get(row.message_id)
      ?.leased.find(
        ({ ordinal, state, attempts, expiresAtMs }) =>
          ordinal === row.ordinal &&
          (state === 'sending' || state === 'recording') &&
          attempts === row.attempts &&
          expiresAtMs === row.expires_at,
      );
  }

  remove(delivery: Delivery): void {
    const { message } = delivery;
    const at = message.leased.indexOf(delivery);
    if (at < 0) return;
    message.leased.splice(at, 1);
    if (message.leased.length > 0) return;
    // Other references to the message must not keep its content in memory.
    this.#evict(message);
    // A delivery of the message may have been claimed again before this one was removed.
    if (this.#messages.get(message.id) === message) this.#messages.delete(message.id);
  }

  /**
   * Content that was handed off may wait days for a slow receiver while other messages need the
   * memory: it is read again when its turn comes. The newest messages, which will wait longest, go
   * first; and nothing is evicted if that would not free enough.
   */
  evictContents(bytes: number): void {
    let left = bytes;
    const unneeded: Message[] = [];
    for (const message of [...this.#messages.values()].reverse()) {
      if (left <= 0) break;
      if (!message.leased.every(({ state }) => state === 'ready')) continue;
      left -= message.contentBytes;
      unneeded.push(message);
    }
    if (left > 0) return;
    for (const message of unneeded) this.#evict(message);
  }

  /** The workspaces with content in memory. */
  workspacesWithContent(): Set<string> {
    const holders = new Set<string>();
    for (const { workspaceId, contentBytes } of this.#messages.values()) {
      if (contentBytes > 0) holders.add(workspaceId);
    }
    return holders;
  }

  #evict(message: Message): void {
    this.#stats.contentBytes -= message.contentBytes;
    message.contentBytes = 0;
    message.content = undefined;
    message.prepared = undefined;
  }
}

export function includesAll(ordinals: readonly number[], deliveries: readonly Delivery[]): boolean {
  const held = new Set(deliveries.map(({ ordinal }) => ordinal));
  return ordinals.every((ordinal) => held.has(ordinal));
}

function bytesOf({ content }: HandedOffMessage): number {
  let bytes = content.html.length + (content.text?.length ?? 0);
  for (const file of content.attachments) bytes += file.content.length;
  return bytes;
}
