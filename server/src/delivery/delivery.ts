import type { Mode } from '../accounts/tenant-scope.ts';
import type { Bounce, SmtpFacts } from '../events/event-types.ts';
import type { SmtpTranscript } from '../mail/smtp-client/transcript.ts';
import type { MessageContent } from '../messages/content/message-content.ts';
import type { AttemptEnd } from '../messages/verdict/verdict.ts';
import { Fifo } from '../lib/fifo.ts';

/** One recipient's delivery while this node holds its lease. */
export interface Delivery {
  readonly message: Message;
  readonly ordinal: number;
  readonly recipient: string;
  readonly recipientKey: string;
  readonly domain: string;
  /** What the row must still carry when the result is written. */
  lease: number;
  leaseEndsAtMs: number;
  /** Tries recorded so far, over all runs. */
  readonly attempts: number;
  /** When this run began: the age of the run sets the back-off. */
  readonly cycleStartedAtMs: number;
  /** A deferral after this is the last word. */
  readonly expiresAtMs: number;
  /** Ends it without another try: the same with a ttl, otherwise later. See last-try.ts. */
  readonly giveUpAtMs: number;
  /** A lease on it was lost before: it may be what ended its holder. See lease.ts. */
  suspect: boolean;
  state: DeliveryState;
}

/**
 * `ready`: in the list. `preparing`: its content is being read. `wire`: handed to a route; from here
 * it can no longer be cancelled. `done`: its outcome is being recorded. `gone`: not ours any more.
 */
export type DeliveryState = 'ready' | 'preparing' | 'wire' | 'done' | 'gone';

/** What deliveries of one message share. The content is there only shortly before sending. */
export interface Message {
  readonly workspaceId: string;
  readonly mode: Mode;
  readonly id: string;
  /** Of its `Date`, the same in all tries: when it was accepted, or was to leave. */
  readonly dateMs: number;
  readonly tags: string[];
  readonly metadata: Record<string, string>;
  content: MessageContent | undefined;
  contentBytes: number;
  /** Looked for and not found: it is past its retention. */
  contentMissing: boolean;
  /** The DKIM-Signature lines of an earlier try. */
  signature: string | null;
  /** The route's own preparation (composed and signed bytes), made once for all recipients. */
  prepared: unknown;
  /** Deliveries of this message that this node holds. */
  leased: Delivery[];
}

/** What a route tells about one recipient of one attempt. */
export interface AttemptReport {
  end: AttemptEnd;
  startedAtMs: number;
  finishedAtMs: number;
  /** The receiver's last word and where it was said; null when nobody was reached. */
  smtp: SmtpFacts | null;
  transcript: SmtpTranscript | null;
  /** A relay gave the answer: what it says of us is not said of the recipient. */
  relay?: boolean;
  /** Signature lines to keep for the next try. */
  signature?: string;
  /** The simulator's only: the recipient complains right after the delivery. */
  simulatesComplaint?: boolean;
}

/** The last hop: the world by SMTP, or the simulator. */
export interface Transport {
  /** Whether the route reads the content; without it nothing is loaded from storage. */
  readonly needsContent: boolean;
  /** Called by the route when a gate has opened by itself, so that the engine looks again. */
  onCapacity?: (() => void) | undefined;
  /** The gate of a receiving domain: how much of it may be on the wire. */
  limitFor(domain: string): ConcurrencyLimit;
  /** Tries one message for some of its recipients, all at one domain. One report each, in order. */
  attempt(message: Message, deliveries: readonly Delivery[]): Promise<AttemptReport[]>;
  /** Ends what is on the wire: called when a stop has waited long enough. */
  abort(): void;
  close(): Promise<void>;
}

export interface Waiter {
  resume(): void;
}

/** How many transactions one receiver may have at a time, and who waits for a place. */
export class ConcurrencyLimit {
  inUse = 0;
  limit: number;
  /** Whoever waits here is called when a place is free, in order. */
  readonly waiters = new Fifo<Waiter>();
  /** The gate that turned out to be the right one: whoever is inside here counts there too. */
  mergedInto: ConcurrencyLimit | undefined;

  constructor(limit: number) {
    this.limit = limit;
  }

  get hasCapacity(): boolean {
    return this.inUse < this.limit;
  }

  acquire(): void {
    this.inUse += 1;
  }

  mergeInto(target: ConcurrencyLimit): void {
    if (this.mergedInto) return;
    this.mergedInto = target;
    target.inUse += this.inUse;
  }
}

/** What is written of a delivery: its next state and all that goes with it, in one commit. */
export interface DeliveryOutcome {
  delivery: Delivery;
  status: 'delivered' | 'deferred' | 'bounced' | 'failed' | 'expired' | 'suppressed';
  atMs: number;
  /** Of the event that tells it: the same however often it is written. */
  eventId: string;
  /** The node that writes it. */
  node: string;
  /** Null when nothing was tried. */
  attempt: AttemptReport | null;
  attemptOutcome: 'delivered' | 'deferred' | 'bounced' | 'failed' | null;
  /** Of a deferral: the next try, or the end of the window when that is sooner. */
  dueAtMs: number | null;
  reason: string | null;
  bounce: Bounce | null;
  smtp: SmtpFacts | null;
}
