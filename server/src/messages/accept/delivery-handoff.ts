import type { Mode } from '../../accounts/tenant-scope.ts';
import { SpacedCall } from '../../lib/scheduling/spaced-call.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { MessageContent } from '../content/message-content.ts';

/**
 * Hands accepted messages to the delivery engine in the same process. When the engine has capacity,
 * new deliveries are leased on insert: they are committed with the engine's lease and passed on in
 * memory, without a claim. If the process dies in between, the lease expires and another node
 * claims them.
 */
export interface DeliveryHandoff {
  /**
   * Reserves capacity for `count` deliveries with `bytes` of content. Returns undefined when there
   * is none.
   */
  reserveCapacity(count: number, bytes: number): Lease | undefined;
  /** Passes on what was committed, and releases reserved capacity that is not needed. */
  handOff(lease: Lease, accepted: readonly HandedOffMessage[]): void;
  /** Deliveries that are due now were committed without a lease. */
  leave(): void;
  /**
   * Removes the deliveries of a message from the ready queue. Returns false when one of them is being
   * sent, or when one of `leased` is not in this process: another node may be sending it.
   */
  withdraw(
    workspaceId: string,
    mode: Mode,
    messageId: string,
    leased?: readonly number[],
  ): Promise<boolean>;
}

export interface Lease {
  token: number;
  endsAtMs: number;
  count: number;
  bytes: number;
}

/** One accepted message with the deliveries that are due now. */
export interface HandedOffMessage {
  workspaceId: string;
  mode: Mode;
  messageId: string;
  createdAtMs: number;
  /** The message has a time to live and must not be sent after it. */
  hasTtl: boolean;
  stream: string;
  /** The named route of its stream; null for the standard one. */
  route: string | null;
  tags: string[];
  metadata: Record<string, string>;
  content: MessageContent;
  deliveries: HandedOffDelivery[];
}

export interface HandedOffDelivery {
  ordinal: number;
  recipient: string;
  isBlindCopy: boolean;
  expiresAtMs: number;
}

/** For processes that accept messages but do not deliver them. */
export const noHandoff: DeliveryHandoff = {
  reserveCapacity: () => undefined,
  handOff: () => {},
  leave: () => {},
  withdraw: async () => false,
};

/**
 * For nodes that accept messages but do not deliver them: notifies those that do, because mail would wait
 * for their next poll otherwise.
 */
export function remoteHandoff(clock: Clock, notifyNodes: () => Promise<void>): DeliveryHandoff {
  const notification = new SpacedCall(clock, NOTIFY_INTERVAL_MS, () => {
    // Not awaited: a node that misses it polls.
    notifyNodes().catch(() => {});
  });
  return { ...noHandoff, leave: () => notification.request() };
}

/** PostgreSQL serializes all commits that carry a notification. */
const NOTIFY_INTERVAL_MS = 100;
