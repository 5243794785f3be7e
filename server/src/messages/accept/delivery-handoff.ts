import type { Mode } from '../../accounts/tenant-scope.ts';
import type { MessageContent } from '../content/message-content.ts';

/**
 * The hatch between accepting and delivering inside one process. When the delivery engine has room,
 * new deliveries are born leased to it: they are committed with its lease and handed over in memory,
 * without a claim. A node that dies in between loses nothing: the lease runs out and another claims.
 */
export interface DeliveryHandoff {
  /** A lease for `count` deliveries holding `bytes` of content, or undefined when there is no room. */
  reserveCapacity(count: number, bytes: number): Lease | undefined;
  /** Called after the commit. Room that was reserved and not taken is free again. */
  handOff(lease: Lease, accepted: readonly HandedOffMessage[]): void;
  /**
   * Removes a message's deliveries from the ready list, unless one is on the wire, or one of `leased`
   * is not here: then another node may have it on the wire.
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

/** One accepted message with those of its deliveries that are to be tried now. */
export interface HandedOffMessage {
  workspaceId: string;
  mode: Mode;
  messageId: string;
  createdAtMs: number;
  /** It is worthless after its time. */
  hasTtl: boolean;
  tags: string[];
  metadata: Record<string, string>;
  content: MessageContent;
  deliveries: { ordinal: number; recipient: string; expiresAtMs: number }[];
}

/** A node that accepts but does not deliver. */
export const noHandoff: DeliveryHandoff = {
  reserveCapacity: () => undefined,
  handOff: () => {},
  withdraw: async () => false,
};
