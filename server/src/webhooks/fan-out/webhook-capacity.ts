import { fairShare } from '../../lib/scheduling/fair-shares.ts';
import type { ClaimCapacity } from '../../queue/claim-loop.ts';
import type { LeasedItem } from '../../queue/lease.ts';
import type { ReadyQueue } from '../../queue/ready-queue.ts';
import type { WithheldWorkspaces } from '../../queue/withheld-workspaces.ts';
import type { EndpointKey } from '../dispatch/endpoint-key.ts';
import { LEASED_INITIAL } from '../dispatch/endpoint-limit.ts';
import type { EndpointLimits } from '../dispatch/endpoint-limits.ts';
import type { WebhookThrottle } from '../dispatch/webhook-throttle.ts';
import type { FanOutCapacity } from './fan-out-store.ts';

/**
 * How many more webhook deliveries this node may lease: in total, for each workspace and for each
 * endpoint. What it may not lease waits in the database.
 */

export interface WebhookCapacityParts {
  ready: Pick<ReadyQueue<LeasedItem>, 'size' | 'sizeOf' | 'workspacesHolding'>;
  endpoints: EndpointLimits;
  withheld: WithheldWorkspaces;
  throttle: WebhookThrottle;
  /** Leased deliveries that may wait in memory. */
  readyMax: number;
  /** Whether the node may lease anything at this moment. */
  mayLease: () => boolean;
}

/** What a workspace may hold while mail has priority. */
const READY_THROTTLED_MAX = 200;

export class WebhookCapacity {
  readonly #parts: WebhookCapacityParts;

  constructor(parts: WebhookCapacityParts) {
    this.#parts = parts;
  }

  claim(): ClaimCapacity<EndpointKey> {
    const free = this.#freeForOne();
    const left = new Map<string, number>();
    return {
      rowsMax: free,
      perQueue: ({ workspaceId, webhookId }) => {
        const ofWorkspace = left.get(workspaceId) ?? this.#workspaceCapacity(workspaceId, free);
        const capacity = Math.min(ofWorkspace, this.#parts.endpoints.leaseCapacityOf(webhookId));
        left.set(workspaceId, ofWorkspace - capacity);
        return capacity;
      },
    };
  }

  fanOut(): FanOutCapacity {
    const { ready, endpoints, withheld } = this.#parts;
    const free = this.#freeForOne();
    return {
      total: free,
      defaultPerEndpoint: LEASED_INITIAL,
      perEndpoint: endpoints.leaseCapacities(),
      defaultPerWorkspace: this.#workspaceCapacity('', free),
      // Smaller ones may have nearly as much as the default, and the list stays short.
      perWorkspace: [
        ...new Set([...ready.workspacesHolding(LEASED_INITIAL), ...withheld.list()]),
      ].map((id) => ({ id, capacity: this.#workspaceCapacity(id, free) })),
    };
  }

  /** Half of what is free, because a fan-out and a claim may run at the same time. */
  #freeForOne(): number {
    const { ready, readyMax, mayLease } = this.#parts;
    return mayLease() ? Math.max(0, Math.floor((readyMax - ready.size) / 2)) : 0;
  }

  /**
   * No workspace gets all the memory. Deliveries to endpoints that do not respond stay in it for
   * minutes, and meanwhile the events of other workspaces would wait in the database.
   */
  #workspaceCapacity(workspaceId: string, free: number): number {
    const { ready, withheld, throttle } = this.#parts;
    if (withheld.has(workspaceId)) return 0;
    const own = ready.sizeOf(workspaceId);
    const fair = fairShare(own, free);
    if (!throttle.throttled) return fair;
    return Math.max(0, Math.min(fair, READY_THROTTLED_MAX - own));
  }
}
