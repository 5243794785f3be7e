import { joinTranscripts, noteTranscript } from '../../mail/smtp-client/transcript.ts';
import { explainWarmUp } from '../../messages/verdict/bounce-explanations.ts';
import { ConcurrencyLimit } from '../../queue/concurrency-limit.ts';
import type { AttemptReport, Delivery, Hold, Message, Transport } from '../delivery.ts';
import { ReceiverBusyError } from '../receivers/receivers.ts';
import { type DirectTransport, OTHER_PROVIDERS } from '../transport/smtp-transport.ts';
import type { WarmUp } from './warm-up.ts';

/** The route of mail beyond the cap. */
export interface Overflow {
  transport: Transport;
  /** Null is the standard route. */
  route: string | null;
}

export interface WarmingParts {
  /** The transport of the addresses that are warmed up. It admits no more than the plan allows. */
  own: DirectTransport;
  /** Undefined: mail beyond the cap waits for the next day. */
  overflow: Overflow | undefined;
  warmUp: WarmUp;
}

/**
 * A route whose addresses are new. Mail beyond the cap of its provider takes the overflow route with
 * the limits and throttles of that route, so that it never waits for a slot of this one; or, without
 * such a route, it is deferred until the next day. The limit that mail gets a slot of says which.
 */
export class WarmingTransport implements Transport {
  readonly needsContent = true;
  readonly #parts: WarmingParts;
  /** The limits that the overflow route returned. */
  readonly #ofOverflow = new WeakSet<ConcurrencyLimit>();
  /** Mail that is deferred without an attempt needs nothing that is limited. */
  readonly #held = new ConcurrencyLimit(Number.POSITIVE_INFINITY);

  constructor(parts: WarmingParts) {
    this.#parts = parts;
  }

  get onCapacity(): (() => void) | undefined {
    return this.#parts.own.onCapacity;
  }

  set onCapacity(listener: (() => void) | undefined) {
    this.#parts.own.onCapacity = listener;
  }

  get onThrottleChange(): ((count: number) => void) | undefined {
    return this.#parts.own.onThrottleChange;
  }

  set onThrottleChange(listener: ((count: number) => void) | undefined) {
    this.#parts.own.onThrottleChange = listener;
  }

  start(): void {
    this.#parts.own.start?.();
  }

  limitFor(domain: string, workspaceId: string, route: string | null): ConcurrencyLimit {
    const { own, overflow, warmUp } = this.#parts;
    const provider = own.providerOf(domain);
    const isOwn = provider === undefined ? warmUp.hasStarted : !warmUp.isExhausted(provider);
    if (isOwn) return own.limitFor(domain, workspaceId, route);
    if (!overflow) return this.#held;
    const limit = overflow.transport.limitFor(domain, workspaceId, overflow.route);
    this.#ofOverflow.add(limit);
    return limit;
  }

  hold(deliveries: readonly Delivery[], limit: ConcurrencyLimit): Hold | undefined {
    if (limit !== this.#held) return undefined;
    const { warmUp } = this.#parts;
    const provider = this.#providerOf(deliveries);
    warmUp.overflowed(provider, deliveries.length);
    return {
      untilMs: warmUp.nextDayMs,
      explanation: explainWarmUp(provider, warmUp.capOf(provider)),
    };
  }

  async attempt(
    message: Message,
    deliveries: readonly Delivery[],
    mayTransmit: () => boolean,
    limit: ConcurrencyLimit,
  ): Promise<AttemptReport[]> {
    const { own, overflow, warmUp } = this.#parts;
    // The day has changed since: there may be capacity now.
    if (limit === this.#held) throw new ReceiverBusyError();
    if (!overflow || !this.#ofOverflow.has(limit))
      return own.attempt(message, deliveries, mayTransmit, limit);
    const provider = this.#providerOf(deliveries);
    const note = this.#overflowNote(provider, overflow.route);
    const reports = await overflow.transport.attempt(message, deliveries, mayTransmit, limit);
    warmUp.overflowed(provider, reports.length);
    return reports.map((report) => withNote(report, note));
  }

  abort(): void {
    this.#parts.own.abort();
  }

  async close(): Promise<void> {
    const { own, warmUp } = this.#parts;
    await own.close();
    await warmUp.close();
  }

  #providerOf([first]: readonly Delivery[]): string {
    return this.#parts.own.providerOf((first as Delivery).domain) ?? OTHER_PROVIDERS;
  }

  #overflowNote(provider: string, route: string | null): string {
    const { warmUp } = this.#parts;
    const cap = warmUp.capOf(provider);
    const reason =
      cap === null
        ? `the warm-up of ${warmUp.sender} has not started`
        : `the warm-up of ${warmUp.sender} allows ${cap} messages to ${provider} today`;
    return `sent by ${route === null ? 'the standard route' : `the route ${route}`}: ${reason}`;
  }
}

function withNote(report: AttemptReport, note: string): AttemptReport {
  const first = noteTranscript(report.startedAtMs, note);
  const { transcript } = report;
  return { ...report, transcript: transcript ? joinTranscripts(first, transcript) : first };
}
