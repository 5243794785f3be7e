import type { Timer } from '../../lib/time/clock.ts';
import { returnPathFor } from '../../mail/return-path-address.ts';
import type { SmtpMessage } from '../../mail/smtp-client/smtp-message.ts';
import type { SmtpTimeouts } from '../../mail/smtp-client/timeouts.ts';
import type { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import type { AttemptReport, Delivery, Message, Transport } from '../delivery.ts';
import type { Receiver, Throttle } from '../receivers/receiver.ts';
import { ReceiverBusyError, Receivers } from '../receivers/receivers.ts';
import type { ShapingFor } from '../receivers/shaping.ts';
import type { WarmUp } from '../warm-up/warm-up.ts';
import { type DeliveryRoute, DeliveryRouteCache, type RoutingParts } from './delivery-route.ts';
import { type OutgoingMail, prepareMessage, type SenderDomains } from './outgoing-mail.ts';
import { attemptBySmtp, endAll } from './smtp-attempt.ts';

/**
 * The live transport: a message and some of its recipients at one domain come in, one report for
 * each goes out. It signs, resolves the servers and shares connections between messages. It decides
 * nothing: the verdict module classifies the reports.
 */
export interface SmtpTransportParts extends RoutingParts {
  heloName: string;
  /** The name with which the listeners of this server greet. */
  listenerName: string;
  senders: SenderDomains;
  returnPathKey: Buffer;
  shaping: ShapingFor;
  /** Attempts of one workspace that may wait for a connection at a time. */
  openingsMax: number;
  throttles: ThrottleMemory;
  /** How much the addresses may send, while they are new. See WarmingTransport. */
  warmUp?: Pick<WarmUp, 'admit' | 'attempted'>;
  /** Whether this server itself receives mail on the address and port. */
  isOwnAddress: (ip: string, port: number) => boolean;
  /** Whether this server, or another one with its name, may receive the mail of a domain. */
  mayReceiveMailFor: (domain: string) => Promise<boolean>;
  timeouts?: Partial<SmtpTimeouts>;
}

/** Where throttles survive a restart. */
export interface ThrottleMemory {
  load(): Promise<Throttle[]>;
  save(throttle: Throttle): void;
}

export interface DirectTransport extends Transport {
  /** The provider of a domain, if its mail servers are known: a shaping rule, or `other`. */
  providerOf(domain: string): string | undefined;
}

export function smtpTransport(parts: SmtpTransportParts): DirectTransport {
  return new SmtpTransport(parts);
}

/** All receivers without a shaping rule, which a warm-up counts together. */
export const OTHER_PROVIDERS = 'other';

function providerName({ shaping }: Receiver): string {
  return shaping.provider ?? OTHER_PROVIDERS;
}

const SWEEP_MS = 1_000;
/** While there are no connections, only receivers that have been unused for long are removed. */
const SWEEP_REST_MS = 60_000;

class SmtpTransport implements DirectTransport {
  readonly needsContent = true;
  onCapacity: (() => void) | undefined;
  onThrottleChange: ((count: number) => void) | undefined;
  readonly #parts: SmtpTransportParts;
  readonly #routes: DeliveryRouteCache;
  readonly #receivers: Receivers;
  #sweepTimer: Timer | undefined;
  #sweepIsSoon = false;

  constructor(parts: SmtpTransportParts) {
    this.#parts = parts;
    this.#routes = new DeliveryRouteCache(parts);
    this.#receivers = new Receivers({
      ...parts,
      onCapacity: () => this.onCapacity?.(),
      onThrottleChange: (throttle) => {
        this.onThrottleChange?.(this.#receivers.throttledCount);
        parts.throttles.save(throttle);
      },
    });
    this.#scheduleSweep(false);
  }

  start(): void {
    void this.#parts.throttles.load().then((throttles) => {
      this.#receivers.remember(throttles);
      this.onThrottleChange?.(this.#receivers.throttledCount);
    });
  }

  limitFor(domain: string, workspaceId: string): ConcurrencyLimit {
    return this.#receivers.limitFor(domain, workspaceId);
  }

  providerOf(domain: string): string | undefined {
    const receiver = this.#receivers.find(domain);
    return receiver && providerName(receiver);
  }

  async attempt(
    message: Message,
    deliveries: readonly Delivery[],
    mayTransmit: () => boolean,
  ): Promise<AttemptReport[]> {
    const { clock, senders, isOwnAddress, mayReceiveMailFor } = this.#parts;
    const startedAtMs = clock.now();
    const mail = await prepareMessage(message, senders);
    if (mail.kind !== 'mail') return endAll(deliveries.length, mail, startedAtMs, clock);
    const { domain } = deliveries[0] as Delivery;
    const route = this.#routes.for(domain, mail.sender.tls === 'required');
    const receiver = await this.#assignReceiver(domain, route);
    const opening = this.#receivers.startOpening(domain, message.workspaceId);
    try {
      const onConnected = () => opening.finish();
      const mayReceiveMail = () => mayReceiveMailFor(domain);
      const receivers = this.#receivers;
      const parts = { clock, receivers, isOwnAddress, mayReceiveMail, onConnected };
      const provider = this.#parts.warmUp && receiver && providerName(receiver);
      const admitted =
        provider === undefined ? deliveries : await this.#admit(provider, deliveries);
      const sent = { ...this.#envelope(mail, message, admitted), mayTransmit };
      const reports = await attemptBySmtp(sent, route, startedAtMs, parts);
      const counted =
        (provider !== undefined && this.#parts.warmUp?.attempted(provider, reports)) || reports;
      return counted.map((report) => ({ ...report, signature: mail.signature }));
    } finally {
      opening.finish();
      if (!this.#sweepIsSoon && this.#receivers.hasPools) this.#scheduleSweep(true);
    }
  }

  abort(): void {
    this.#receivers.abort();
  }

  async close(): Promise<void> {
    this.#sweepTimer?.cancel();
    await this.#receivers.close();
  }

  async #assignReceiver(domain: string, [candidate]: DeliveryRoute): Promise<Receiver | undefined> {
    const first = (await candidate?.())?.servers[0];
    if (!first) return undefined;
    const receiver = this.#receivers.forServer(first);
    this.#receivers.assignDomain(domain, receiver, first.addresses[0]);
    return receiver;
  }

  /** The deliveries that the warm-up allows. If it allows none, they wait for what `limitFor` says then. */
  async #admit(provider: string, deliveries: readonly Delivery[]): Promise<readonly Delivery[]> {
    const admitted = await this.#parts.warmUp?.admit(provider, deliveries.length);
    if (admitted === 0) throw new ReceiverBusyError();
    return admitted === deliveries.length ? deliveries : deliveries.slice(0, admitted);
  }

  #envelope(mail: OutgoingMail, message: Message, deliveries: readonly Delivery[]): SmtpMessage {
    const [only] = deliveries.length === 1 ? deliveries : [];
    const { id: messageId, workspaceId } = message;
    const named = { workspaceId, messageId, ordinal: only?.ordinal };
    return {
      mailFrom: returnPathFor(named, mail.sender.returnPathHost, this.#parts.returnPathKey),
      recipients: deliveries.map((delivery) => delivery.recipient),
      data: mail.data,
      smtpUtf8: mail.smtpUtf8,
    };
  }

  #scheduleSweep(soon: boolean): void {
    this.#sweepTimer?.cancel();
    this.#sweepIsSoon = soon;
    this.#sweepTimer = this.#parts.clock.after(soon ? SWEEP_MS : SWEEP_REST_MS, () => {
      this.#receivers.sweep();
      this.#scheduleSweep(this.#receivers.hasPools);
    });
  }
}
