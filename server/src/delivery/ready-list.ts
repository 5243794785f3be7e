import type { Delivery, Gate, Waiter } from './delivery.ts';
import { Fifo } from './fifo.ts';

/**
 * What is leased and may be tried now. Deliveries come in from claims and from accepting, and leave
 * in fair turns: round-robin between workspaces, and inside a workspace between receiving domains.
 * A domain whose receiver has no free place waits at that receiver's gate, outside of the rotation,
 * so that it costs the others nothing. Each take is O(1) on average, whatever waits.
 */
export class ReadyList {
  readonly #gateFor: (delivery: Delivery) => Gate;
  readonly #workspaces = new Map<string, WorkspaceTurn>();
  readonly #turns = new Fifo<WorkspaceTurn>();
  /** Out of the rotation, because they have their share of the wire. */
  readonly #satisfied = new Set<WorkspaceTurn>();
  /** `ready` is how many there are, those removed since not counted. */
  readonly #figures: { ready: number };
  readonly #mayTake: (workspaceId: string) => boolean;

  constructor(
    gateFor: (delivery: Delivery) => Gate,
    figures = { ready: 0 },
    mayTake: (workspaceId: string) => boolean = () => true,
  ) {
    this.#gateFor = gateFor;
    this.#figures = figures;
    this.#mayTake = mayTake;
  }

  get size(): number {
    return this.#figures.ready;
  }

  sizeOf(workspaceId: string): number {
    return this.#workspaces.get(workspaceId)?.size ?? 0;
  }

  /** The workspaces that have at least `size` deliveries in the list. */
  workspacesHolding(size: number): string[] {
    if (this.#figures.ready < size) return [];
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
        turns: new Fifo(),
        woken: new Set(),
        inTurn: false,
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
    delivery.place = 'ready';
    workspace.size += 1;
    this.#figures.ready += 1;
  }

  /**
   * The next transaction: one delivery, and with it those of the same message to the same domain
   * that stand right behind it. A place at the gate is taken for it.
   */
  take(recipientsMax: number): { gate: Gate; deliveries: Delivery[] } | undefined {
    for (;;) {
      const workspace = this.#turns.shift();
      if (!workspace) return undefined;
      workspace.inTurn = false;
      if (!this.#mayTake(workspace.id)) {
        this.#passOver(workspace);
        continue;
      }
      const domain = workspace.turns.shift();
      if (!domain) continue;
      workspace.woken.delete(domain);
      const { waitedAt } = domain;
      domain.waitedAt = undefined;
      const first = firstReady(domain.items);
      const gate = first && this.#gateFor(first);
      // The place it was woken for stays free: whoever is next at that gate may have it.
      if (waitedAt && waitedAt !== gate) wakeGate(waitedAt);
      if (!gate?.open) {
        if (gate) waitAt(gate, domain);
        else this.#forget(workspace, domain);
        this.#takeTurn(workspace);
        continue;
      }
      const deliveries = shareOneTransaction(domain.items, recipientsMax);
      gate.entered();
      workspace.size -= deliveries.length;
      this.#figures.ready -= deliveries.length;
      if (domain.items.size > 0) workspace.turns.push(domain);
      else this.#forget(workspace, domain);
      this.#takeTurn(workspace);
      return { gate, deliveries };
    }
  }

  /** Takes a delivery out that is not to be tried; its place in the queue is skipped later. */
  remove(delivery: Delivery): void {
    if (delivery.place !== 'ready') return;
    delivery.place = 'gone';
    const workspace = this.#workspaces.get(delivery.message.workspaceId);
    if (workspace) workspace.size -= 1;
    this.#figures.ready -= 1;
  }

  /** Places at gates that it was woken for go to whoever is next there. */
  #passOver(workspace: WorkspaceTurn): void {
    this.#satisfied.add(workspace);
    for (const domain of workspace.woken) {
      const { waitedAt } = domain;
      domain.waitedAt = undefined;
      if (waitedAt) wakeGate(waitedAt);
    }
    workspace.woken.clear();
  }

  /** The wire has room again: those who had their share may have a larger one now. */
  roomOnWire(): void {
    if (this.#satisfied.size === 0) return;
    for (const workspace of this.#satisfied) this.#takeTurn(workspace);
    this.#satisfied.clear();
  }

  #takeTurn(workspace: WorkspaceTurn): void {
    if (workspace.inTurn || workspace.turns.size === 0) return;
    workspace.inTurn = true;
    this.#turns.push(workspace);
  }

  #newDomain(workspace: WorkspaceTurn, workspaceId: string, key: string): DomainTurn {
    const domain: DomainTurn = {
      key,
      workspaceId,
      items: new Fifo(),
      waitedAt: undefined,
      resume: () => {
        workspace.woken.add(domain);
        workspace.turns.push(domain);
        this.#takeTurn(workspace);
      },
    };
    workspace.domains.set(key, domain);
    domain.resume();
    return domain;
  }

  #forget(workspace: WorkspaceTurn, domain: DomainTurn): void {
    workspace.domains.delete(domain.key);
    if (workspace.domains.size === 0) this.#workspaces.delete(domain.workspaceId);
  }
}

/** Gives a place back and lets whoever waits for it come into the rotation again. */
export function leaveGate(gate: Gate): void {
  gate.inUse -= 1;
  wakeGate(gate);
  if (gate.joined) leaveGate(gate.joined);
}

/** One waiter comes back for each free place; after a raised limit that may be several. */
export function wakeGate(gate: Gate): void {
  for (let free = gate.limit - gate.inUse; free > 0; free--) {
    const waiter = gate.waiting.shift();
    if (!waiter) return;
    waiter.resume();
  }
}

interface WorkspaceTurn {
  readonly id: string;
  size: number;
  readonly domains: Map<string, DomainTurn>;
  readonly turns: Fifo<DomainTurn>;
  /** Those of them that a gate has woken. */
  readonly woken: Set<DomainTurn>;
  inTurn: boolean;
}

interface DomainTurn extends Waiter {
  readonly key: string;
  readonly workspaceId: string;
  readonly items: Fifo<Delivery>;
  /** The gate that woke it last. */
  waitedAt: Gate | undefined;
}

function waitAt(gate: Gate, domain: DomainTurn): void {
  domain.waitedAt = gate;
  gate.waiting.push(domain);
}

function firstReady(items: Fifo<Delivery>): Delivery | undefined {
  for (;;) {
    const item = items.peek();
    if (item === undefined || item.place === 'ready') return item;
    items.shift();
  }
}

function shareOneTransaction(items: Fifo<Delivery>, recipientsMax: number): Delivery[] {
  const first = items.shift() as Delivery;
  const together = [first];
  while (together.length < recipientsMax) {
    const next = firstReady(items);
    if (next?.message !== first.message) break;
    items.shift();
    together.push(next);
  }
  return together;
}
