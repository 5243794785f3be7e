import type { Clock } from '../lib/clock.ts';
import type { SmtpTarget } from '../mail/smtp-client/open-connection.ts';
import type { SmtpSessionInfo } from '../mail/smtp-client/smtp-results.ts';
import type { TlsPolicy } from '../mail/smtp-client/start-tls.ts';
import type { SmtpTimeouts } from '../mail/smtp-client/timeouts.ts';
import { ConcurrencyLimit } from '../queue/concurrency-limit.ts';
import { SmtpConnectionPool } from './connection-pool.ts';
import { type MailServer, type RouteSetting, relayKey } from './delivery-route.ts';
import { NO_OPENING, type Opening, OpeningLimits } from './opening-limits.ts';
import { Receiver, type Throttle } from './receiver.ts';
import type { ShapingFor } from './shaping.ts';

export interface ReceiversParts {
  clock: Clock;
  heloName: string;
  shaping: ShapingFor;
  routes: readonly RouteSetting[];
  timeouts?: Partial<SmtpTimeouts>;
  /** Attempts of one workspace that may wait for a connection at a time. */
  openingsMax: number;
  /** A paused limit has capacity again. */
  onCapacity: () => void;
  onThrottleChange?: (throttle: Throttle) => void;
}

/** The receiving systems in use, and which domain belongs to which. */
export class Receivers {
  readonly #parts: ReceiversParts;
  readonly #receivers = new Map<string, Receiver>();
  readonly #openings: OpeningLimits;
  /** Throttles of an earlier process, for receivers that have not been used since. */
  readonly #remembered = new Map<string, Throttle>();
  readonly #domains = new Map<string, { receiver: Receiver; address: string | undefined }>();
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
    const known = this.#domains.get(domain);
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

  /** The receiver of a server: its provider, or else all servers of the same domain. */
  forServer(server: Pick<MailServer, 'receiver' | 'host'>): Receiver {
    const shaping = this.#parts.shaping(server.host);
    const name = shaping.provider ?? server.receiver;
    let receiver = this.#receivers.get(name);
    if (!receiver) {
      const { clock, onCapacity, onThrottleChange } = this.#parts;
      const more = onThrottleChange ? { onThrottleChange } : {};
      receiver = new Receiver({ name, shaping, clock, onCapacity, ...more });
      this.#receivers.set(name, receiver);
      this.#resume(receiver);
    }
    receiver.lastUsedAtMs = this.#parts.clock.now();
    return receiver;
  }

  get throttledCount(): number {
    let count = this.#remembered.size;
    for (const { throttle } of this.#receivers.values()) if (throttle.level > 0) count += 1;
    return count;
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
    const known = this.#domains.get(domain);
    if (this.#relay || !known) return NO_OPENING;
    const { concurrency } = known.receiver;
    if (concurrency.inUse > concurrency.limit || concurrency.isPaused)
      throw new ReceiverBusyError();
    if (known.receiver.isConnected) return NO_OPENING;
    const opening = this.#openings.acquire(workspaceId, known.address);
    if (!opening) throw new ReceiverBusyError();
    return opening;
  }

  poolFor(receiver: Receiver, target: SmtpTarget, relay: boolean): SmtpConnectionPool {
    const key = poolKey(target);
    let pool = receiver.pools.get(key);
    if (!pool) {
      const { clock, heloName, timeouts } = this.#parts;
      pool = new SmtpConnectionPool(target, {
        clock,
        heloName,
        shaping: receiver.shaping,
        hasFallback: relay && this.#parts.routes.length > 1,
        isOwnServer: (session) => !relay && identifiesAs(session, heloName),
        ...(timeouts ? { timeouts } : {}),
      });
      receiver.pools.set(key, pool);
    }
    return pool;
  }

  /** Closes idle connections and removes receivers that have been unused for long. */
  sweep(): void {
    const nowMs = this.#parts.clock.now();
    for (const [name, receiver] of this.#receivers) {
      for (const [key, pool] of receiver.pools) {
        pool.sweep(nowMs);
        if (pool.isDisposable(nowMs)) receiver.pools.delete(key);
      }
      const unused = receiver.pools.size === 0 && receiver.concurrency.inUse === 0;
      // A throttled receiver is kept until its pause is over, and then as long as any other.
      const usedAtMs = Math.max(receiver.lastUsedAtMs, receiver.throttle.pausedUntilMs);
      const old = nowMs - usedAtMs > UNUSED_MAX_MS;
      if (unused && old && receiver !== this.#relay) this.#remove(name, receiver);
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

  /** A large provider is always in use, so without a bound its domains would never be removed. */
  #evictOldestDomain(): void {
    if (this.#domains.size <= DOMAINS_MAX) return;
    const oldest = this.#domains.keys().next();
    if (!oldest.done) this.#domains.delete(oldest.value);
  }

  #remove(name: string, receiver: Receiver): void {
    this.#receivers.delete(name);
    if (receiver.throttle.level > 0) {
      this.#parts.onThrottleChange?.({ ...receiver.throttle, level: 0 });
    }
    for (const [domain, its] of this.#domains) {
      if (its.receiver === receiver) this.#domains.delete(domain);
    }
  }
}

/** The attempt has not begun: its deliveries wait until their receiver has capacity. */
export class ReceiverBusyError extends Error {
  override name = 'ReceiverBusyError';
}

/** The targets of a route serve all its messages, so most keys are cached. */
const poolKeys = new WeakMap<SmtpTarget, string>();

function poolKey(target: SmtpTarget): string {
  let key = poolKeys.get(target);
  if (key === undefined) {
    // A relay may be configured twice, with one account as the fallback of another.
    // Names of servers at one address are kept apart: reports name the server of the recipient.
    key = `${target.host} ${target.ip} ${target.port} ${JSON.stringify([canonicalTlsPolicy(target.tls), target.auth])}`;
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
/** A domain that is evicted too early is resolved again by its next message. */
const DOMAINS_MAX = 20_000;

/** RFC 5321 section 6.3: a server that gives our own name is this server, whatever its address. */
function identifiesAs(session: SmtpSessionInfo, heloName: string): boolean {
  return session.receiverName === heloName.toLowerCase();
}
