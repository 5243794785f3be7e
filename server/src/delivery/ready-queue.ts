import type { Delivery, ConcurrencyLimit, Waiter } from './delivery.ts';
import { Fifo } from '../lib/fifo.ts';

/**
 * What is leased and may be tried now. Deliveries come in from claims and from accepting, and leave
 * in fair turns: round-robin between workspaces, and inside a workspace between receiving domains.
 * A domain whose receiver has no free place waits at that receiver's gate, outside of the rotation,
 * so that it costs the others nothing. Each take is O(1) on average, whatever waits.
 */
export class ReadyQueue {
  readonly #limitFor: (delivery: Delivery) => ConcurrencyLimit;
  readonly #workspaces = new Map<string, WorkspaceQueue>();
  readonly #rotation = new Fifo<WorkspaceQueue>();
  /** Out of the rotation, because they have their share of the wire. */
  readonly #atFairShare = new Set<WorkspaceQueue>();
  /** `ready` is how many there are, those removed since not counted. */
  readonly #stats: { ready: number };
  readonly #mayTake: (workspaceId: string) => boolean;

  constructor(
    gateFor: (delivery: Delivery) => ConcurrencyLimit,
    figures = { ready: 0 },
    mayTake: (workspaceId: string) => boolean = () => true,
  ) {
    this.#limitFor = gateFor;
    this.#stats = figures;
    this.#mayTake = mayTake;
  }

  get size(): number {
    return this.#stats.ready;
  }

  sizeOf(workspaceId: string): number {
    return this.#workspaces.get(workspaceId)?.size ?? 0;
  }

  /** The workspaces that have at least `size` deliveries in the list. */
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
    // Test mail never waits behind live mail to the same domain, nor the other way round.
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
   * The next transaction: one delivery, and with it those of the same message to the same domain
   * that stand right behind it. A place at the gate is taken for it.
   */
  take(recipientsMax: number): { gate: ConcurrencyLimit; deliveries: Delivery[] } | undefined {
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
      const { waitedOn: waitedAt } = domain;
      domain.waitedOn = undefined;
      const first = peekReady(domain.items);
      const gate = first && this.#limitFor(first);
      // The place it was woken for stays free: whoever is next at that gate may have it.
      if (waitedAt && waitedAt !== gate) notifyWaiters(waitedAt);
      if (!gate?.hasCapacity) {
        if (gate) waitAt(gate, domain);
        else this.#removeDomain(workspace, domain);
        this.#enterRotation(workspace);
        continue;
      }
      const deliveries = takeTransaction(domain.items, recipientsMax);
      gate.acquire();
      workspace.size -= deliveries.length;
      this.#stats.ready -= deliveries.length;
      if (domain.items.size > 0) workspace.rotation.push(domain);
      else this.#removeDomain(workspace, domain);
      this.#enterRotation(workspace);
      return { gate, deliveries };
    }
  }

  /** Takes a delivery out that is not to be tried; its place in the queue is skipped later. */
  remove(delivery: Delivery): void {
    if (delivery.state !== 'ready') return;
    delivery.state = 'gone';
    const workspace = this.#workspaces.get(delivery.message.workspaceId);
    if (workspace) workspace.size -= 1;
    this.#stats.ready -= 1;
  }

  /** Places at gates that it was woken for go to whoever is next there. */
  #suspendWorkspace(workspace: WorkspaceQueue): void {
    this.#atFairShare.add(workspace);
    for (const domain of workspace.woken) {
      const { waitedOn: waitedAt } = domain;
      domain.waitedOn = undefined;
      if (waitedAt) notifyWaiters(waitedAt);
    }
    workspace.woken.clear();
  }

  /** The wire has room again: those who had their share may have a larger one now. */
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

/** Gives a place back and lets whoever waits for it come into the rotation again. */
export function leaveGate(gate: ConcurrencyLimit): void {
  gate.inUse -= 1;
  notifyWaiters(gate);
  if (gate.mergedInto) leaveGate(gate.mergedInto);
}

/** One waiter comes back for each free place; after a raised limit that may be several. */
export function notifyWaiters(gate: ConcurrencyLimit): void {
  for (let free = gate.limit - gate.inUse; free > 0; free--) {
    const waiter = gate.waiters.shift();
    if (!waiter) return;
    waiter.resume();
  }
}

interface WorkspaceQueue {
  readonly id: string;
  size: number;
  readonly domains: Map<string, DomainQueue>;
  readonly rotation: Fifo<DomainQueue>;
  /** Those of them that a gate has woken. */
  readonly woken: Set<DomainQueue>;
  inRotation: boolean;
}

interface DomainQueue extends Waiter {
  readonly key: string;
  readonly workspaceId: string;
  readonly items: Fifo<Delivery>;
  /** The gate that woke it last. */
  waitedOn: ConcurrencyLimit | undefined;
}

function waitAt(gate: ConcurrencyLimit, domain: DomainQueue): void {
  domain.waitedOn = gate;
  gate.waiters.push(domain);
}

function peekReady(items: Fifo<Delivery>): Delivery | undefined {
  for (;;) {
    const item = items.peek();
    if (item === undefined || item.state === 'ready') return item;
    items.shift();
  }
}

function takeTransaction(items: Fifo<Delivery>, recipientsMax: number): Delivery[] {
  const first = items.shift() as Delivery;
  const together = [first];
  while (together.length < recipientsMax) {
    const next = peekReady(items);
    if (next?.message !== first.message) break;
    items.shift();
    together.push(next);
  }
  return together;
}
