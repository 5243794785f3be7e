import type { Timer } from '../lib/clock.ts';
import { returnPathFor } from '../mail/return-path.ts';
import type { SmtpMessage } from '../mail/smtp-client/message.ts';
import type { SmtpTimeouts } from '../mail/smtp-client/timeouts.ts';
import type { AttemptReport, Delivery, Gate, Message, Route } from './delivery.ts';
import { type Plan, type PlanParts, Plans } from './delivery-plan.ts';
import { type OutgoingMail, prepareOnce, type SenderDomains } from './outgoing-mail.ts';
import { Receivers } from './receivers.ts';
import type { ShapingFor } from './shaping.ts';
import { attemptBySmtp, endAll } from './smtp-attempt.ts';

/**
 * The live route: a message and some of its recipients at one domain come in, one report for each
 * leaves. It signs, finds the servers and shares connections between messages. Nothing is decided
 * here: verdict.ts judges the reports.
 */
export interface SmtpRouteParts extends PlanParts {
  heloName: string;
  senders: SenderDomains;
  returnPathKey: Buffer;
  shaping: ShapingFor;
  /** An address and port on which we take mail ourselves. */
  isOwnAddress: (ip: string, port: number) => boolean;
  timeouts?: Partial<SmtpTimeouts>;
}

export function smtpRoute(parts: SmtpRouteParts): Route {
  return new SmtpRoute(parts);
}

const SWEEP_MS = 1_000;

class SmtpRoute implements Route {
  readonly needsContent = true;
  onOpen: (() => void) | undefined;
  readonly #parts: SmtpRouteParts;
  readonly #plans: Plans;
  readonly #receivers: Receivers;
  #sweeping: Timer | undefined;

  constructor(parts: SmtpRouteParts) {
    this.#parts = parts;
    this.#plans = new Plans(parts);
    this.#receivers = new Receivers({ ...parts, onOpen: () => this.onOpen?.() });
    this.#sweepLater();
  }

  gateFor(domain: string): Gate {
    return this.#receivers.gateFor(domain);
  }

  async attempt(message: Message, deliveries: readonly Delivery[]): Promise<AttemptReport[]> {
    const { clock, senders, isOwnAddress } = this.#parts;
    const startedAtMs = clock.now();
    const mail = await prepareOnce(message, senders);
    if (mail.kind !== 'mail') return endAll(deliveries.length, mail, startedAtMs, clock);
    const { domain } = deliveries[0] as Delivery;
    const plan = this.#plans.for(domain, mail.sender.tls === 'required');
    await this.#settle(domain, plan);
    const parts = { clock, receivers: this.#receivers, isOwnAddress };
    const sent = this.#envelope(mail, message, deliveries);
    const reports = await attemptBySmtp(sent, plan, startedAtMs, parts);
    return reports.map((report) => ({ ...report, signature: mail.signature }));
  }

  abort(): void {
    this.#receivers.abort();
  }

  async close(): Promise<void> {
    this.#sweeping?.cancel();
    await this.#receivers.close();
  }

  /** From now on the domain's messages wait at the gate of its receiver. */
  async #settle(domain: string, [leg]: Plan): Promise<void> {
    const first = (await leg?.())?.stations[0];
    if (first) this.#receivers.belongs(domain, this.#receivers.of(first));
  }

  #envelope(mail: OutgoingMail, message: Message, deliveries: readonly Delivery[]): SmtpMessage {
    const [only] = deliveries.length === 1 ? deliveries : [];
    const named = { messageId: message.id, ordinal: only?.ordinal };
    return {
      mailFrom: returnPathFor(named, mail.sender.returnPathHost, this.#parts.returnPathKey),
      recipients: deliveries.map((delivery) => delivery.recipient),
      data: mail.data,
      smtpUtf8: mail.smtpUtf8,
    };
  }

  #sweepLater(): void {
    this.#sweeping = this.#parts.clock.after(SWEEP_MS, () => {
      this.#receivers.sweep();
      this.#sweepLater();
    });
  }
}
