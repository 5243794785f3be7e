import type { Clock } from '../lib/clock.ts';
import type { SmtpSessionFacts } from '../mail/smtp-client/facts.ts';
import type { SmtpTarget } from '../mail/smtp-client/open.ts';
import type { SmtpTimeouts } from '../mail/smtp-client/timeouts.ts';
import type { TlsPolicy } from '../mail/smtp-client/tls.ts';
import { Gate } from './delivery.ts';
import type { RouteSetting, Station } from './delivery-plan.ts';
import { Endpoint } from './endpoint.ts';
import { Receiver } from './receiver.ts';
import type { ShapingFor } from './shaping.ts';

export interface ReceiversParts {
  clock: Clock;
  heloName: string;
  shaping: ShapingFor;
  routes: readonly RouteSetting[];
  timeouts?: Partial<SmtpTimeouts>;
  /** A gate opened by itself. */
  onOpen: () => void;
}

/** All receiving systems we have to do with at the moment, and which domain belongs to which. */
export class Receivers {
  readonly #parts: ReceiversParts;
  readonly #receivers = new Map<string, Receiver>();
  readonly #domains = new Map<string, Receiver>();
  /** Domains whose servers are not known yet: the first message finds out, the others wait. */
  readonly #unknown = new Map<string, Gate>();
  readonly #relay: Receiver | undefined;

  constructor(parts: ReceiversParts) {
    this.#parts = parts;
    const [first] = parts.routes;
    if (first?.kind === 'relay') {
      this.#relay = this.of({ receiver: relayName(first.host, first.port), host: first.host });
    }
  }

  gateFor(domain: string): Gate {
    const receiver = this.#relay ?? this.#domains.get(domain);
    if (receiver) return receiver.gate;
    let gate = this.#unknown.get(domain);
    if (!gate) {
      gate = new Gate(1);
      this.#unknown.set(domain, gate);
    }
    return gate;
  }

  of(station: Pick<Station, 'receiver' | 'host'>): Receiver {
    let receiver = this.#receivers.get(station.receiver);
    if (!receiver) {
      const { shaping, clock, onOpen } = this.#parts;
      receiver = new Receiver(shaping(station.host), clock, onOpen);
      this.#receivers.set(station.receiver, receiver);
    }
    receiver.lastUsedAtMs = this.#parts.clock.now();
    return receiver;
  }

  belongs(domain: string, receiver: Receiver): void {
    // Everything goes to a relay, whose domains would only ever become more.
    if (this.#relay || this.#domains.get(domain) === receiver) return;
    this.#domains.set(domain, receiver);
    this.#forgetOldest();
    this.#unknown.get(domain)?.join(receiver.gate);
    this.#unknown.delete(domain);
  }

  endpoint(receiver: Receiver, target: SmtpTarget, relay: boolean): Endpoint {
    const key = endpointKey(target);
    let endpoint = receiver.endpoints.get(key);
    if (!endpoint) {
      const { clock, heloName, timeouts } = this.#parts;
      endpoint = new Endpoint(target, {
        clock,
        heloName,
        shaping: receiver.shaping,
        hasFallback: relay && this.#parts.routes.length > 1,
        isOurselves: (session) => !relay && greetsAs(session, heloName),
        ...(timeouts ? { timeouts } : {}),
      });
      receiver.endpoints.set(key, endpoint);
    }
    return endpoint;
  }

  /** Closes what rests and forgets what has not been needed for long. */
  sweep(): void {
    const nowMs = this.#parts.clock.now();
    for (const [name, receiver] of this.#receivers) {
      for (const [key, endpoint] of receiver.endpoints) {
        endpoint.sweep(nowMs);
        if (endpoint.forgettable(nowMs)) receiver.endpoints.delete(key);
      }
      const unused = receiver.endpoints.size === 0 && receiver.gate.inUse === 0;
      const old = nowMs - receiver.lastUsedAtMs > FORGOTTEN_MS;
      if (unused && old && receiver !== this.#relay) this.#forget(name, receiver);
    }
    for (const [domain, gate] of this.#unknown) {
      if (gate.inUse === 0 && gate.waiting.size === 0) this.#unknown.delete(domain);
    }
  }

  abort(): void {
    for (const { endpoints } of this.#receivers.values()) {
      for (const endpoint of endpoints.values()) endpoint.abort();
    }
  }

  async close(): Promise<void> {
    const all = [...this.#receivers.values()].flatMap(({ endpoints }) => [...endpoints.values()]);
    await Promise.all(all.map((endpoint) => endpoint.close()));
  }

  /** A large provider is never forgotten, and without a bound none of its domains would be. */
  #forgetOldest(): void {
    if (this.#domains.size <= DOMAINS_MAX) return;
    const oldest = this.#domains.keys().next();
    if (!oldest.done) this.#domains.delete(oldest.value);
  }

  #forget(name: string, receiver: Receiver): void {
    this.#receivers.delete(name);
    for (const [domain, its] of this.#domains) if (its === receiver) this.#domains.delete(domain);
  }
}

export function relayName(host: string, port: number): string {
  return `relay ${host}:${port}`;
}

/** The targets of a plan serve all its messages, so most are known. */
const endpointKeys = new WeakMap<SmtpTarget, string>();

function endpointKey(target: SmtpTarget): string {
  let key = endpointKeys.get(target);
  if (key === undefined) {
    // A relay may be named twice, with an account that is a fallback of the other.
    key = `${target.ip} ${target.port} ${JSON.stringify([demandOf(target.tls), target.auth])}`;
    endpointKeys.set(target, key);
  }
  return key;
}

/**
 * What is asked of a certificate, in one spelling. Resolvers tell TLSA records in any order; and with
 * DANE-EE alone (3) names do not count, of which one is that of the receiving domain (RFC 7672 3.1.1).
 */
function demandOf(tls: TlsPolicy): unknown {
  if (tls.kind !== 'dane') return tls;
  const records = tls.records.map(({ usage, selector, matchingType, data }) =>
    [usage, selector, matchingType, data.toString('hex')].join(' '),
  );
  const named = tls.records.some(({ usage }) => usage === DANE_TA);
  return { dane: records.sort(), names: named ? tls.names : [] };
}

const DANE_TA = 2;

const FORGOTTEN_MS = 10 * 60_000;
/** One that is forgotten too early is looked up again by its next message. */
const DOMAINS_MAX = 20_000;

/** RFC 5321 6.3: a server that gives our own name is ourselves, whatever its address. */
function greetsAs(session: SmtpSessionFacts, heloName: string): boolean {
  return session.receiverName === heloName.toLowerCase();
}
