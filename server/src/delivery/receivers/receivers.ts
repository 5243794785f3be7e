import type { Clock } from '../../lib/time/clock.ts';
import type { SmtpTarget } from '../../mail/smtp-client/open-connection.ts';
import type { SmtpSessionInfo } from '../../mail/smtp-client/smtp-results.ts';
import type { TlsPolicy } from '../../mail/smtp-client/start-tls.ts';
import type { SmtpTimeouts } from '../../mail/smtp-client/timeouts.ts';
import { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import { SmtpConnectionPool } from '../transport/connection-pool.ts';
import { type MailServer, type RouteSetting, relayKey } from '../transport/delivery-route.ts';
import { IdleConnections } from '../transport/idle-connections.ts';
import { NO_OPENING, type Opening, OpeningLimits } from '../transport/opening-limits.ts';
import { Receiver, type Throttle } from './receiver.ts';
import type { ShapingFor } from './shaping.ts';

export interface ReceiversParts {
  clock: Clock;
  heloName: string;
  /** The name with which the listeners of this server greet. */
  listenerName: string;
  shaping: ShapingFor;
  routes: readonly RouteSetting[];
  timeouts?: Partial<SmtpTimeouts>;
  /** Attempts of one workspace that may wait for a connection at a time. */
  openingsMax: number;
  /** A paused limit has capacity again. */
  onCapacity: () => void;
  onThrottleChange?: (throttle: Throttle) => void;
}

/**
 * The receiving systems in use, and which domain belongs to which. Nothing here takes longer with
 * more domains or receivers, and both are bounded: a server that is alone with its domain is cheap
 * to forget.
 */
export class Receivers {
  readonly #parts: ReceiversParts;
  /** By name, in order of their last use to the second. */
  readonly #receivers = new Map<string, Receiver>();
  /** The servers of a cached route serve many messages. */
  readonly #byServer = new WeakMap<object, Receiver>();
  /** Those with pools, which alone need sweeping every second. */
  readonly #pooled = new Set<Receiver>();
  readonly #throttled = new Set<Receiver>();
  readonly #idle = new IdleConnections();
  readonly #openings: OpeningLimits;
  /** Throttles of an earlier process, for receivers that have not been used since. */
  readonly #remembered = new Map<string, Throttle>();
  readonly #domains = new Map<string, KnownDomain>();
  /** Domains whose servers are not known yet: the first message resolves them, the others wait. */
  readonly #unresolved = new Map<string, ConcurrencyLimit>();
  readonly #relay: Receiver | undefined;

  constructor(parts: ReceiversParts) {
    this.#parts = parts;
    this.#openings = new OpeningLimits(parts.openingsMax, parts.onCapacity);
    const [first] = parts.routes;
    if (first?.kind === 'relay') {
      this.#relay = this.forServer({
        receiver: relayKey(first.host, first.port),
        host: first.host,
      });
    }
  }

  /** What a message waits for: its receiver, or for places to open a connection to it. */
  limitFor(domain: string, workspaceId: string): ConcurrencyLimit {
    if (this.#relay) return this.#relay.concurrency;
    const known = this.#knownDomain(domain);
    if (known) {
      const { receiver, address } = known;
      const { concurrency } = receiver;
      if (!concurrency.hasCapacity || receiver.isConnected) return concurrency;
      return this.#openings.exhausted(workspaceId, address) ?? concurrency;
    }
    let concurrency = this.#unresolved.get(domain);
    if (!concurrency) {
      concurrency = new ConcurrencyLimit(1);
      this.#unresolved.set(domain, concurrency);
    }
    return concurrency;
  }

  /** The receiver of a domain, if it is known. */
  find(domain: string): Receiver | undefined {
    return this.#knownDomain(domain)?.receiver;
  }

  /** The receiver of a server: its provider, or else all servers of the same domain. */
  forServer(server: Pick<MailServer, 'receiver' | 'host'>): Receiver {
    let receiver = this.#byServer.get(server);
    if (!receiver || receiver.isRemoved) {
      receiver = this.#findReceiver(server);
      this.#byServer.set(server, receiver);
    }
    const nowMs = this.#parts.clock.now();
    if (Math.abs(nowMs - receiver.lastUsedAtMs) >= USE_RESOLUTION_MS) {
      receiver.lastUsedAtMs = nowMs;
      this.#receivers.delete(receiver.name);
      this.#receivers.set(receiver.name, receiver);
    }
    return receiver;
  }

  #findReceiver(server: Pick<MailServer, 'receiver' | 'host'>): Receiver {
    const shaping = this.#parts.shaping(server.host);
    const name = shaping.provider ?? server.receiver;
    const known = this.#receivers.get(name);
    if (known) return known;
    const { clock, onCapacity } = this.#parts;
    const receiver: Receiver = new Receiver({
      name,
      shaping,
      clock,
      onCapacity,
      onThrottleChange: (throttle) => this.#throttleChanged(receiver, throttle),
    });
    this.#receivers.set(name, receiver);
    if (this.#receivers.size > RECEIVERS_MAX) this.#evictReceiver();
    this.#resume(receiver);
    return receiver;
  }

  #throttleChanged(receiver: Receiver, throttle: Throttle): void {
    if (throttle.level > 0) this.#throttled.add(receiver);
    else this.#throttled.delete(receiver);
    this.#parts.onThrottleChange?.(throttle);
  }

  get throttledCount(): number {
    return this.#remembered.size + this.#throttled.size;
  }

  /** Continues the throttles of an earlier process. */
  remember(throttles: readonly Throttle[]): void {
    for (const throttle of throttles) {
      this.#remembered.set(throttle.receiver, throttle);
      const receiver = this.#receivers.get(throttle.receiver);
      if (receiver) this.#resume(receiver);
    }
  }

  #resume(receiver: Receiver): void {
    const throttle = this.#remembered.get(receiver.name);
    if (throttle) receiver.resumeThrottle(throttle);
    if (receiver.throttle.level > 0) this.#throttled.add(receiver);
    this.#remembered.delete(receiver.name);
  }

  /** From now on the domain's messages count against the limit of its receiver. */
  assignDomain(domain: string, receiver: Receiver, address: string | undefined): void {
    // With a relay every domain has the same receiver, and the map would only grow.
    if (this.#relay) return;
    const known = this.#domains.get(domain);
    if (known?.receiver === receiver && known.address === address) return;
    this.#domains.set(domain, { receiver, address });
    this.#evictOldestDomain();
    this.#unresolved.get(domain)?.mergeInto(receiver.concurrency);
    this.#unresolved.delete(domain);
  }

  /**
   * Takes the places that an attempt needs until it has a connection. Throws when the attempt must
   * wait: its domain was not known before, and `limitFor` says what for from now on.
   */
  startOpening(domain: string, workspaceId: string): Opening {
    const known = this.#knownDomain(domain);
    if (this.#relay || !known) return NO_OPENING;
    const { concurrency } = known.receiver;
    if (concurrency.inUse > concurrency.limit || concurrency.isPaused)
      throw new ReceiverBusyError();
    if (known.receiver.isConnected) return NO_OPENING;
    const opening = this.#openings.acquire(workspaceId, known.address);
    if (!opening) throw new ReceiverBusyError();
    return opening;
  }

  /** RFC 5321 section 6.3: a server that gives our own name is this server, whatever its address. */
  isOwnName({ receiverName }: SmtpSessionInfo): boolean {
    return receiverName === this.#parts.listenerName.toLowerCase();
  }

  /** `toSelf`: for mail that this server may receive, so it is no loop if the target is this server. */
  poolFor(
    receiver: Receiver,
    target: SmtpTarget,
    { relay, toSelf }: { relay: boolean; toSelf: boolean },
  ): SmtpConnectionPool {
    const shared = poolKey(target, !relay && receiver.shaping.provider !== null);
    const key = toSelf ? `${shared} self` : shared;
    let pool = receiver.pools.get(key);
    if (!pool) {
      const { clock, heloName, timeouts } = this.#parts;
      pool = new SmtpConnectionPool(target, {
        clock,
        heloName,
        shaping: receiver.shaping,
        idle: this.#idle,
        hasFallback: relay && this.#parts.routes.length > 1,
        isOwnServer: (session) => !relay && !toSelf && this.isOwnName(session),
        onConnected: ({ depth }) => receiver.connected(depth),
        ...(timeouts ? { timeouts } : {}),
      });
      receiver.pools.set(key, pool);
      this.#pooled.add(receiver);
    }
    return pool;
  }

  /** Whether connections may have to be closed soon. */
  get hasPools(): boolean {
    return this.#pooled.size > 0;
  }

  /** Closes idle connections and removes receivers that have been unused for long. */
  sweep(): void {
    const nowMs = this.#parts.clock.now();
    for (const receiver of this.#pooled) {
      for (const [key, pool] of receiver.pools) {
        pool.sweep(nowMs);
        if (pool.isDisposable(nowMs)) receiver.pools.delete(key);
      }
      if (receiver.pools.size === 0) this.#pooled.delete(receiver);
    }
    for (const receiver of this.#receivers.values()) {
      if (nowMs - receiver.lastUsedAtMs <= UNUSED_MAX_MS) break;
      // A throttled receiver is kept until its pause is over, and then as long as any other.
      const pausedRecently = nowMs - receiver.throttle.pausedUntilMs <= UNUSED_MAX_MS;
      if (this.#isUnused(receiver) && !pausedRecently) this.#remove(receiver);
    }
    for (const [name, throttle] of this.#remembered) {
      if (nowMs - throttle.pausedUntilMs <= UNUSED_MAX_MS) continue;
      this.#remembered.delete(name);
      this.#parts.onThrottleChange?.({ ...throttle, level: 0 });
    }
    for (const [domain, concurrency] of this.#unresolved) {
      if (concurrency.isUnused) this.#unresolved.delete(domain);
    }
  }

  abort(): void {
    for (const { pools } of this.#receivers.values()) {
      for (const pool of pools.values()) pool.abort();
    }
  }

  async close(): Promise<void> {
    const all = [...this.#receivers.values()].flatMap(({ pools }) => [...pools.values()]);
    await Promise.all(all.map((pool) => pool.close()));
  }

  #knownDomain(domain: string): KnownDomain | undefined {
    const known = this.#domains.get(domain);
    if (!known?.receiver.isRemoved) return known;
    this.#domains.delete(domain);
    return undefined;
  }

  /** A large provider is always in use, so without a bound its domains would never be removed. */
  #evictOldestDomain(): void {
    if (this.#domains.size <= DOMAINS_MAX) return;
    const oldest = this.#domains.keys().next();
    if (!oldest.done) this.#domains.delete(oldest.value);
  }

  /** Removes the receiver that has been unused for longest and has nothing to remember. */
  #evictReceiver(): void {
    let examined = 0;
    for (const receiver of this.#receivers.values()) {
      if (this.#isUnused(receiver) && receiver.throttle.level === 0) {
        this.#remove(receiver);
        return;
      }
      examined += 1;
      if (examined >= EVICTION_CANDIDATES_MAX) return;
    }
  }

  #isUnused(receiver: Receiver): boolean {
    return receiver !== this.#relay && receiver.pools.size === 0 && receiver.concurrency.isUnused;
  }

  #remove(receiver: Receiver): void {
    receiver.isRemoved = true;
    this.#receivers.delete(receiver.name);
    if (!this.#throttled.delete(receiver)) return;
    this.#parts.onThrottleChange?.({ ...receiver.throttle, level: 0 });
  }
}

interface KnownDomain {
  receiver: Receiver;
  /** The address that is tried first. */
  address: string | undefined;
}

/** The attempt has not begun: its deliveries wait until their receiver has capacity. */
export class ReceiverBusyError extends Error {
  override name = 'ReceiverBusyError';
}

/** The targets of a route serve all its messages, so most keys are cached. */
const poolKeys = new WeakMap<SmtpTarget, string>();

/**
 * Messages share connections to the same server under the same TLS policy. Names of servers at one
 * address are kept apart, because anyone can point a name of their own at any address; except among
 * the servers of one provider, which have a name for each customer. Where the policy checks the
 * certificate, the name is part of what was checked, and counts there as well.
 */
function poolKey(target: SmtpTarget, ofProvider: boolean): string {
  let key = poolKeys.get(target);
  if (key === undefined) {
    const { host, ip, port, tls, auth } = target;
    const anyName = ofProvider && (tls.kind === 'opportunistic' || tls.kind === 'required');
    // A relay may be configured twice, with one account as the fallback of another.
    key = `${anyName ? '*' : host} ${ip} ${port} ${JSON.stringify([canonicalTlsPolicy(tls), auth])}`;
    poolKeys.set(target, key);
  }
  return key;
}

/**
 * The TLS requirements in canonical form. Resolvers return TLSA records in any order; and with
 * DANE-EE (3) alone, names are not checked, one of which is the receiving domain (RFC 7672 section
 * 3.1.1).
 */
function canonicalTlsPolicy(tls: TlsPolicy): unknown {
  if (tls.kind !== 'dane') return tls;
  const records = tls.records.map(({ usage, selector, matchingType, data }) =>
    [usage, selector, matchingType, data.toString('hex')].join(' '),
  );
  const named = tls.records.some(({ usage }) => usage === DANE_TA);
  return { dane: records.sort(), names: named ? tls.names : [] };
}

const DANE_TA = 2;

const UNUSED_MAX_MS = 10 * 60_000;
const USE_RESOLUTION_MS = 1_000;
/** A domain that is evicted too early is resolved again by its next message: some 20 MB. */
const DOMAINS_MAX = 150_000;
/** A receiver that is evicted too early starts with few connections again: some 25 MB. */
const RECEIVERS_MAX = 20_000;
const EVICTION_CANDIDATES_MAX = 10;
