import { Fifo } from '../lib/fifo.ts';
import type { ConcurrencyLimit, Waiter } from './concurrency-limit.ts';
import type { Delivery } from './delivery.ts';

/**
 * Leased deliveries that may be attempted now. They come in from claims and handoffs, and are taken
 * in fair order: round-robin between workspaces, and within a workspace between receiving domains.
 * A domain whose receiver has no capacity waits on that receiver's limit, outside of the rotation,
 * so that it costs the others nothing. Each take is O(1) amortized, however much is queued.
 */
export class ReadyQueue {
  readonly #limitFor: (delivery: Delivery) => ConcurrencyLimit;
  readonly #workspaces = new Map<string, WorkspaceQueue>();
  readonly #rotation = new Fifo<WorkspaceQueue>();
  /** Workspaces outside of the rotation, because they have their fair share of transactions. */
  readonly #atFairShare = new Set<WorkspaceQueue>();
  /** `ready` counts the deliveries in the queue without removed ones. */
  readonly #stats: { ready: number };
  readonly #mayTake: (workspaceId: string) => boolean;

  constructor(
    limitFor: (delivery: Delivery) => ConcurrencyLimit,
    stats = { ready: 0 },
    mayTake: (workspaceId: string) => boolean = () => true,
  ) {
    this.#limitFor = limitFor;
    this.#stats = stats;
    this.#mayTake = mayTake;
  }

  get size(): number {
    return this.#stats.ready;
  }

  sizeOf(workspaceId: string): number {
    return this.#workspaces.get(workspaceId)?.size ?? 0;
  }

  /** The workspaces with at least `size` deliveries in the queue. */
  workspacesHolding(size: number): string[] {
    if (this.#stats.ready < size) return [];
    const full: string[] = [];
    for (const [id, workspace] of this.#workspaces) if (workspace.size >= size) full.push(id);
    return full;
  }

  add(delivery: Delivery): void {
    const { workspaceId } = delivery.message;
    let workspace = this.#workspaces.get(workspaceId);
    if (!workspace) {
      workspace = {
        id: workspaceId,
        size: 0,
        domains: new Map(),
        rotation: new Fifo(),
        woken: new Set(),
        inRotation: false,
      };
      this.#workspaces.set(workspaceId, workspace);
    }
    // Test mail never waits behind live mail to the same domain, nor vice versa.
    const key = delivery.message.mode + delivery.domain;
    let domain = workspace.domains.get(key);
    if (!domain) {
      domain = this.#newDomain(workspace, workspaceId, key);
    }
    domain.items.push(delivery);
    delivery.state = 'ready';
    workspace.size += 1;
    this.#stats.ready += 1;
  }

  /**
   * The next transaction: one delivery, together with those of the same message to the same domain
   * right behind it, unless it is a blind copy. A slot of the receiver's limit is acquired for it.
   */
  take(recipientsMax: number): { limit: ConcurrencyLimit; deliveries: Delivery[] } | undefined {
    for (;;) {
      const workspace = this.#rotation.shift();
      if (!workspace) return undefined;
      workspace.inRotation = false;
      if (!this.#mayTake(workspace.id)) {
        this.#suspendWorkspace(workspace);
        continue;
      }
      const domain = workspace.rotation.shift();
      if (!domain) continue;
      workspace.woken.delete(domain);
      const { waitedOn } = domain;
      domain.waitedOn = undefined;
      const first = peekReady(domain.items);
      const limit = first && this.#limitFor(first);
      // The slot it was resumed for stays free, so the next waiter may have it.
      if (waitedOn && waitedOn !== limit) waitedOn.notifyWaiters();
      if (!limit?.hasCapacity) {
        if (limit) {
          domain.waitedOn = limit;
          limit.enqueueWaiter(domain);
        } else this.#removeDomain(workspace, domain);
        this.#enterRotation(workspace);
        continue;
      }
      const deliveries = takeTransaction(domain.items, recipientsMax);
      limit.acquire();
      workspace.size -= deliveries.length;
      this.#stats.ready -= deliveries.length;
      if (domain.items.size > 0) workspace.rotation.push(domain);
      else this.#removeDomain(workspace, domain);
      this.#enterRotation(workspace);
      return { limit, deliveries };
    }
  }

  /** Removes a delivery that must not be attempted; its entry is skipped later. */
  remove(delivery: Delivery): void {
    if (delivery.state !== 'ready') return;
    delivery.state = 'dropped';
    const workspace = this.#workspaces.get(delivery.message.workspaceId);
    if (workspace) workspace.size -= 1;
    this.#stats.ready -= 1;
  }

  /** The slots that its domains were resumed for go to the next waiters. */
  #suspendWorkspace(workspace: WorkspaceQueue): void {
    this.#atFairShare.add(workspace);
    for (const domain of workspace.woken) {
      const { waitedOn } = domain;
      domain.waitedOn = undefined;
      if (waitedOn) waitedOn.notifyWaiters();
    }
    workspace.woken.clear();
  }

  /** Transactions have ended: workspaces at their fair share may be allowed more now. */
  capacityFreed(): void {
    if (this.#atFairShare.size === 0) return;
    for (const workspace of this.#atFairShare) this.#enterRotation(workspace);
    this.#atFairShare.clear();
  }

  #enterRotation(workspace: WorkspaceQueue): void {
    if (workspace.inRotation || workspace.rotation.size === 0) return;
    workspace.inRotation = true;
    this.#rotation.push(workspace);
  }

  #newDomain(workspace: WorkspaceQueue, workspaceId: string, key: string): DomainQueue {
    const domain: DomainQueue = {
      key,
      workspaceId,
      items: new Fifo(),
      waitedOn: undefined,
      resume: () => {
        workspace.woken.add(domain);
        workspace.rotation.push(domain);
        this.#enterRotation(workspace);
      },
    };
    workspace.domains.set(key, domain);
    domain.resume();
    return domain;
  }

  #removeDomain(workspace: WorkspaceQueue, domain: DomainQueue): void {
    workspace.domains.delete(domain.key);
    if (workspace.domains.size === 0) this.#workspaces.delete(domain.workspaceId);
  }
}

interface WorkspaceQueue {
  readonly id: string;
  size: number;
  readonly domains: Map<string, DomainQueue>;
  readonly rotation: Fifo<DomainQueue>;
  /** Domains that a limit has resumed. */
  readonly woken: Set<DomainQueue>;
  inRotation: boolean;
}

interface DomainQueue extends Waiter {
  readonly key: string;
  readonly workspaceId: string;
  readonly items: Fifo<Delivery>;
  /** The limit that resumed the domain last. */
  waitedOn: ConcurrencyLimit | undefined;
}

function peekReady(items: Fifo<Delivery>): Delivery | undefined {
  for (;;) {
    const item = items.peek();
    if (item === undefined || item.state === 'ready') return item;
    items.shift();
  }
}

/**
 * A blind copy is sent alone (RFC 5321 section 7.2): receivers may show all recipients of a
 * transaction to each of them.
 */
function takeTransaction(items: Fifo<Delivery>, recipientsMax: number): Delivery[] {
  const first = items.shift() as Delivery;
  const together = [first];
  if (first.isBlindCopy) return together;
  while (together.length < recipientsMax) {
    const next = peekReady(items);
    if (next?.message !== first.message || next.isBlindCopy) break;
    items.shift();
    together.push(next);
  }
  return together;
}
