import { assert } from '../lib/assert.ts';
import { Fifo } from '../lib/scheduling/fifo.ts';
import type { ConcurrencyLimit, Waiter } from './concurrency-limit.ts';
import { enterState, type LeasedItem } from './lease.ts';

/**
 * Leased items that may be attempted now. They are taken in fair order: round-robin between
 * workspaces, and within a workspace between receivers. Items for a receiver without capacity wait on
 * its limit, outside of the rotation, so that they cost the others nothing. Each take is O(1)
 * amortized, however much is queued.
 */
export class ReadyQueue<Item extends LeasedItem> {
  readonly #parts: ReadyQueueParts<Item>;
  readonly #workspaces = new Map<string, WorkspaceQueue<Item>>();
  readonly #rotation = new Fifo<WorkspaceQueue<Item>>();
  /** Workspaces outside of the rotation, because they have their fair share of transactions. */
  readonly #atFairShare = new Set<WorkspaceQueue<Item>>();
  readonly #stats: { ready: number };

  constructor(parts: ReadyQueueParts<Item>) {
    this.#parts = parts;
    this.#stats = parts.stats;
  }

  get size(): number {
    return this.#stats.ready;
  }

  sizeOf(workspaceId: string): number {
    return this.#workspaces.get(workspaceId)?.size ?? 0;
  }

  /** The workspaces with at least `size` items in the queue. */
  workspacesHolding(size: number): string[] {
    if (this.#stats.ready < size) return [];
    const full: string[] = [];
    for (const [id, workspace] of this.#workspaces) if (workspace.size >= size) full.push(id);
    return full;
  }

  add(item: Item): void {
    enterState(item, 'ready');
    const workspaceId = this.#parts.workspaceOf(item);
    let workspace = this.#workspaces.get(workspaceId);
    if (!workspace) {
      workspace = {
        id: workspaceId,
        size: 0,
        receivers: new Map(),
        rotation: new Fifo(),
        woken: new Set(),
        inRotation: false,
      };
      this.#workspaces.set(workspaceId, workspace);
    }
    const key = this.#parts.receiverOf(item);
    const receiver = workspace.receivers.get(key) ?? this.#newReceiver(workspace, key);
    receiver.items.push(item);
    workspace.size += 1;
    this.#stats.ready += 1;
  }

  /**
   * The next item, together with those right behind it that belong to the same transaction. A slot
   * of the receiver's limit is acquired for them.
   */
  take(itemsMax = 1): { limit: ConcurrencyLimit; items: Item[] } | undefined {
    for (;;) {
      const workspace = this.#rotation.shift();
      if (!workspace) return undefined;
      workspace.inRotation = false;
      if (!this.#parts.mayTake(workspace.id)) {
        this.#suspendWorkspace(workspace);
        continue;
      }
      const receiver = workspace.rotation.shift();
      if (!receiver) continue;
      workspace.woken.delete(receiver);
      const { waitedOn } = receiver;
      receiver.waitedOn = undefined;
      const first = peekReady(receiver.items);
      const limit = first && this.#parts.limitFor(first);
      // The slot it was resumed for stays free, so the next waiter may have it.
      if (waitedOn && waitedOn !== limit) waitedOn.notifyWaiters();
      if (!limit?.hasCapacity) {
        if (limit) {
          receiver.waitedOn = limit;
          limit.enqueueWaiter(receiver);
        } else this.#removeReceiver(workspace, receiver);
        this.#enterRotation(workspace);
        continue;
      }
      const items = this.#takeTogether(receiver.items, itemsMax);
      limit.acquire();
      workspace.size -= items.length;
      this.#stats.ready -= items.length;
      if (receiver.items.size > 0) workspace.rotation.push(receiver);
      else this.#removeReceiver(workspace, receiver);
      this.#enterRotation(workspace);
      return { limit, items };
    }
  }

  /** Removes an item that must not be attempted; its entry is skipped later. */
  remove(item: Item, state: 'recording' | 'dropped'): void {
    assert(item.state === 'ready', `only ready items are removed, not ${item.state} ones`);
    enterState(item, state);
    const workspace = this.#workspaces.get(this.#parts.workspaceOf(item));
    if (workspace) workspace.size -= 1;
    this.#stats.ready -= 1;
  }

  /** The slots that its receivers were resumed for go to the next waiters. */
  #suspendWorkspace(workspace: WorkspaceQueue<Item>): void {
    this.#atFairShare.add(workspace);
    for (const receiver of workspace.woken) {
      const { waitedOn } = receiver;
      receiver.waitedOn = undefined;
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

  #enterRotation(workspace: WorkspaceQueue<Item>): void {
    if (workspace.inRotation || workspace.rotation.size === 0) return;
    workspace.inRotation = true;
    this.#rotation.push(workspace);
  }

  #newReceiver(workspace: WorkspaceQueue<Item>, key: string): ReceiverQueue<Item> {
    const receiver: ReceiverQueue<Item> = {
      key,
      items: new Fifo(),
      waitedOn: undefined,
      resume: () => {
        workspace.woken.add(receiver);
        workspace.rotation.push(receiver);
        this.#enterRotation(workspace);
      },
    };
    workspace.receivers.set(key, receiver);
    receiver.resume();
    return receiver;
  }

  #removeReceiver(workspace: WorkspaceQueue<Item>, receiver: ReceiverQueue<Item>): void {
    workspace.receivers.delete(receiver.key);
    if (workspace.receivers.size === 0) this.#workspaces.delete(workspace.id);
  }

  #takeTogether(items: Fifo<Item>, itemsMax: number): Item[] {
    const first = items.shift() as Item;
    const together = [first];
    while (together.length < itemsMax) {
      const next = peekReady(items);
      if (!next || !this.#parts.sharesTransaction?.(first, next)) break;
      items.shift();
      together.push(next);
    }
    return together;
  }
}

export interface ReadyQueueParts<Item> {
  workspaceOf: (item: Item) => string;
  /** Items of a workspace with the same receiver wait in one line. */
  receiverOf: (item: Item) => string;
  limitFor: (item: Item) => ConcurrencyLimit;
  /** Whether the workspace may have another transaction now. */
  mayTake: (workspaceId: string) => boolean;
  sharesTransaction?: (first: Item, next: Item) => boolean;
  /** `ready` counts the items in the queue without removed ones. */
  stats: { ready: number };
}

interface WorkspaceQueue<Item> {
  readonly id: string;
  size: number;
  readonly receivers: Map<string, ReceiverQueue<Item>>;
  readonly rotation: Fifo<ReceiverQueue<Item>>;
  /** Receivers that a limit has resumed. */
  readonly woken: Set<ReceiverQueue<Item>>;
  inRotation: boolean;
}

interface ReceiverQueue<Item> extends Waiter {
  readonly key: string;
  readonly items: Fifo<Item>;
  /** The limit that resumed the receiver last. */
  waitedOn: ConcurrencyLimit | undefined;
}

function peekReady<Item extends LeasedItem>(items: Fifo<Item>): Item | undefined {
  for (;;) {
    const item = items.peek();
    if (item === undefined || item.state === 'ready') return item;
    items.shift();
  }
}
