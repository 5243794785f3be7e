import type { Clock } from '../lib/clock.ts';
import type { SmtpTarget } from '../mail/smtp-client/open-connection.ts';
import type { SmtpSessionFacts } from '../mail/smtp-client/smtp-results.ts';
import type { TlsPolicy } from '../mail/smtp-client/start-tls.ts';
import type { SmtpTimeouts } from '../mail/smtp-client/timeouts.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
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
  /** A concurrency opened by itself. */
  onCapacity: () => void;
}

/** All receiving systems we have to do with at the moment, and which domain belongs to which. */
export class Receivers {
  readonly #parts: ReceiversParts;
  readonly #receivers = new Map<string, Receiver>();
  readonly #domains = new Map<string, Receiver>();
  /** Domains whose servers are not known yet: the first message finds out, the others wait. */
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

  forServer(station: Pick<MailServer, 'receiver' | 'host'>): Receiver {
    let receiver = this.#receivers.get(station.receiver);
    if (!receiver) {
      const { shaping, clock, onCapacity: onOpen } = this.#parts;
      receiver = new Receiver(shaping(station.host), clock, onOpen);
      this.#receivers.set(station.receiver, receiver);
    }
    receiver.lastUsedAtMs = this.#parts.clock.now();
    return receiver;
  }

  assignDomain(domain: string, receiver: Receiver): void {
    // Everything goes to a relay, whose domains would only ever become more.
    if (this.#relay || this.#domains.get(domain) === receiver) return;
    this.#domains.set(domain, receiver);
    this.#evictOldestDomain();
    this.#unresolved.get(domain)?.mergeInto(receiver.concurrency);
    this.#unresolved.delete(domain);
  }

  poolFor(receiver: Receiver, target: SmtpTarget, relay: boolean): SmtpConnectionPool {
    const key = poolKey(target);
    let endpoint = receiver.pools.get(key);
    if (!endpoint) {
      const { clock, heloName, timeouts } = this.#parts;
      endpoint = new SmtpConnectionPool(target, {
        clock,
        heloName,
        shaping: receiver.shaping,
        hasFallback: relay && this.#parts.routes.length > 1,
        isOwnServer: (session) => !relay && identifiesAs(session, heloName),
        ...(timeouts ? { timeouts } : {}),
      });
      receiver.pools.set(key, endpoint);
    }
    return endpoint;
  }

  /** Closes what rests and forgets what has not been needed for long. */
  sweep(): void {
    const nowMs = this.#parts.clock.now();
    for (const [name, receiver] of this.#receivers) {
      for (const [key, endpoint] of receiver.pools) {
        endpoint.sweep(nowMs);
        if (endpoint.isDisposable(nowMs)) receiver.pools.delete(key);
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
    for (const { pools: endpoints } of this.#receivers.values()) {
      for (const endpoint of endpoints.values()) endpoint.abort();
    }
  }

  async close(): Promise<void> {
    const all = [...this.#receivers.values()].flatMap(({ pools: endpoints }) => [
      ...endpoints.values(),
    ]);
    await Promise.all(all.map((endpoint) => endpoint.close()));
  }

  /** A large provider is never forgotten, and without a bound none of its domains would be. */
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

/** The targets of a plan serve all its messages, so most are known. */
const poolKeys = new WeakMap<SmtpTarget, string>();

function poolKey(target: SmtpTarget): string {
  let key = poolKeys.get(target);
  if (key === undefined) {
    // A relay may be named twice, with an account that is a fallback of the other.
    key = `${target.ip} ${target.port} ${JSON.stringify([canonicalTlsPolicy(target.tls), target.auth])}`;
    poolKeys.set(target, key);
  }
  return key;
}

/**
 * What is asked of a certificate, in one spelling. Resolvers tell TLSA records in any order; and with
 * DANE-EE alone (3) names do not count, of which one is that of the receiving domain (RFC 7672 3.1.1).
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
/** One that is forgotten too early is looked up again by its next message. */
const DOMAINS_MAX = 20_000;

/** RFC 5321 6.3: a server that gives our own name is ourselves, whatever its address. */
function identifiesAs(session: SmtpSessionFacts, heloName: string): boolean {
  return session.receiverName === heloName.toLowerCase();
}
