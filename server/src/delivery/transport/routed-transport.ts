import type { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import type { AttemptReport, Delivery, Hold, Message, Transport } from '../delivery.ts';
import type { ThrottleMemory } from './smtp-transport.ts';

/**
 * The live transport when streams can have routes of their own: each named route is a transport with
 * its own connections, limits and throttles. Mail without a route, or with one that the operator has
 * removed, takes the standard one.
 */
export function routedTransport(
  standard: Transport,
  named: ReadonlyMap<string, Transport>,
): Transport {
  return named.size === 0 ? standard : new RoutedTransport(standard, named);
}

class RoutedTransport implements Transport {
  readonly needsContent = true;
  readonly #standard: Transport;
  readonly #named: ReadonlyMap<string, Transport>;
  readonly #all: readonly Transport[];
  #onThrottleChange: ((count: number) => void) | undefined;

  constructor(standard: Transport, named: ReadonlyMap<string, Transport>) {
    this.#standard = standard;
    this.#named = named;
    this.#all = [standard, ...named.values()];
    const counts = new Map<Transport, number>();
    for (const transport of this.#all) {
      transport.onThrottleChange = (count) => {
        counts.set(transport, count);
        this.#onThrottleChange?.([...counts.values()].reduce((sum, one) => sum + one, 0));
      };
    }
  }

  get onCapacity(): (() => void) | undefined {
    return this.#standard.onCapacity;
  }

  set onCapacity(listener: (() => void) | undefined) {
    for (const transport of this.#all) transport.onCapacity = listener;
  }

  get onThrottleChange(): ((count: number) => void) | undefined {
    return this.#onThrottleChange;
  }

  set onThrottleChange(listener: ((count: number) => void) | undefined) {
    this.#onThrottleChange = listener;
  }

  start(): void {
    for (const transport of this.#all) transport.start?.();
  }

  limitFor(domain: string, workspaceId: string, route: string | null): ConcurrencyLimit {
    return this.#for(route).limitFor(domain, workspaceId, route);
  }

  hold(deliveries: readonly Delivery[], limit: ConcurrencyLimit): Hold | undefined {
    const { message } = deliveries[0] as Delivery;
    return this.#for(message.route).hold?.(deliveries, limit);
  }

  attempt(
    message: Message,
    deliveries: readonly Delivery[],
    mayTransmit: () => boolean,
    limit: ConcurrencyLimit,
  ): Promise<AttemptReport[]> {
    return this.#for(message.route).attempt(message, deliveries, mayTransmit, limit);
  }

  abort(): void {
    for (const transport of this.#all) transport.abort();
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((transport) => transport.close()));
  }

  #for(route: string | null): Transport {
    return (route === null ? undefined : this.#named.get(route)) ?? this.#standard;
  }
}

/** Separates the throttles of a named route from those of others; null is the standard route. */
export function throttlesOf(memory: ThrottleMemory, route: string | null): ThrottleMemory {
  const prefix = route === null ? '' : `${ROUTE_PREFIX}${route} `;
  const isOwn = (receiver: string): boolean =>
    route === null ? !receiver.startsWith(ROUTE_PREFIX) : receiver.startsWith(prefix);
  return {
    load: async () =>
      (await memory.load())
        .filter(({ receiver }) => isOwn(receiver))
        .map((one) => ({ ...one, receiver: one.receiver.slice(prefix.length) })),
    save: (throttle) => memory.save({ ...throttle, receiver: prefix + throttle.receiver }),
  };
}

/** In the names of receivers, none of which starts like this. */
const ROUTE_PREFIX = 'route:';
