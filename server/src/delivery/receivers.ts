import type { Clock } from '../lib/clock.ts';
import type { SmtpTarget } from '../mail/smtp-client/open-connection.ts';
import type { SmtpSessionInfo } from '../mail/smtp-client/smtp-results.ts';
import type { TlsPolicy } from '../mail/smtp-client/start-tls.ts';
import type { SmtpTimeouts } from '../mail/smtp-client/timeouts.ts';
import { ConcurrencyLimit } from '../queue/concurrency-limit.ts';
import { SmtpConnectionPool } from './connection-pool.ts';
import type { MailServer, RouteSetting } from './delivery-route.ts';
import { Receiver } from './receiver.ts';
import type { ShapingFor } from './shaping.ts';

export interface ReceiversParts {
  clock: Clock;
  heloName: string;
  shaping: ShapingFor;
  routes: readonly RouteSetting[];
  timeouts?: Partial<SmtpTimeouts>;
  /** A paused limit has capacity again. */
  onCapacity: () => void;
}

/** The receiving systems in use, and which domain belongs to which. */
export class Receivers {
  readonly #parts: ReceiversParts;
  readonly #receivers = new Map<string, Receiver>();
  readonly #domains = new Map<string, Receiver>();
  /** Domains whose servers are not known yet: the first message resolves them, the others wait. */
  readonly #unresolved = new Map<string, ConcurrencyLimit>();
  readonly #relay: Receiver | undefined;

  constructor(parts: ReceiversParts) {
    this.#parts = parts;
    const [first] = parts.routes;
    if (first?.kind === 'relay') {
      this.#relay = this.forServer({
        receiver: relayKey(first.host, first.port),
        host: first.host,
      });
    }
  }

  limitFor(domain: string): ConcurrencyLimit {
    const receiver = this.#relay ?? this.#domains.get(domain);
    if (receiver) return receiver.concurrency;
    let concurrency = this.#unresolved.get(domain);
    if (!concurrency) {
      concurrency = new ConcurrencyLimit(1);
      this.#unresolved.set(domain, concurrency);
    }
    return concurrency;
  }

  forServer(server: Pick<MailServer, 'receiver' | 'host'>): Receiver {
    let receiver = this.#receivers.get(server.receiver);
    if (!receiver) {
      const { shaping, clock, onCapacity: onOpen } = this.#parts;
      receiver = new Receiver(shaping(server.host), clock, onOpen);
      this.#receivers.set(server.receiver, receiver);
    }
    receiver.lastUsedAtMs = this.#parts.clock.now();
    return receiver;
  }

  assignDomain(domain: string, receiver: Receiver): void {
    // With a relay every domain has the same receiver, and the map would only grow.
    if (this.#relay || this.#domains.get(domain) === receiver) return;
    this.#domains.set(domain, receiver);
    this.#evictOldestDomain();
    this.#unresolved.get(domain)?.mergeInto(receiver.concurrency);
    this.#unresolved.delete(domain);
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
      const old = nowMs - receiver.lastUsedAtMs > UNUSED_MAX_MS;
      if (unused && old && receiver !== this.#relay) this.#remove(name, receiver);
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
    for (const [domain, its] of this.#domains) if (its === receiver) this.#domains.delete(domain);
  }
}

export function relayKey(host: string, port: number): string {
  return `relay ${host}:${port}`;
}

/** The targets of a route serve all its messages, so most keys are cached. */
const poolKeys = new WeakMap<SmtpTarget, string>();

function poolKey(target: SmtpTarget): string {
  let key = poolKeys.get(target);
  if (key === undefined) {
    // A relay may be configured twice, with one account as the fallback of another.
    key = `${target.ip} ${target.port} ${JSON.stringify([canonicalTlsPolicy(target.tls), target.auth])}`;
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
