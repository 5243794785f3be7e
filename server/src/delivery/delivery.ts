import type { Mode } from '../accounts/mode.ts';
import type { Bounce, SmtpFacts } from '../events/event-types.ts';
import type { SmtpTranscript } from '../mail/smtp-client/transcript.ts';
import type { MessageContent } from '../messages/content.ts';
import type { AttemptEnd } from '../messages/verdict.ts';
import { Fifo } from './fifo.ts';

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
  readonly runStartedAtMs: number;
  /** A deferral after this is the last word. */
  readonly expiresAtMs: number;
  /** Ends it without another try: the same with a ttl, otherwise later. See last-try.ts. */
  readonly givenUpAtMs: number;
  /** A lease on it was lost before: it may be what ended its holder. See lease.ts. */
  suspect: boolean;
  place: Place;
}

/**
 * `ready`: in the list. `preparing`: its content is being read. `wire`: handed to a route; from here
 * it can no longer be cancelled. `done`: its outcome is being recorded. `gone`: not ours any more.
 */
export type Place = 'ready' | 'preparing' | 'wire' | 'done' | 'gone';

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
  contentGone: boolean;
  /** The DKIM-Signature lines of an earlier try. */
  signature: string | null;
  /** The route's own preparation (composed and signed bytes), made once for all recipients. */
  prepared: unknown;
  /** Deliveries of this message that this node holds. */
  held: Delivery[];
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
  complains?: boolean;
}

/** The last hop: the world by SMTP, or the simulator. */
export interface Route {
  /** Whether the route reads the content; without it nothing is loaded from storage. */
  readonly needsContent: boolean;
  /** Called by the route when a gate has opened by itself, so that the engine looks again. */
  onOpen?: (() => void) | undefined;
  /** The gate of a receiving domain: how much of it may be on the wire. */
  gateFor(domain: string): Gate;
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
export class Gate {
  inUse = 0;
  limit: number;
  /** Whoever waits here is called when a place is free, in order. */
  readonly waiting = new Fifo<Waiter>();
  /** The gate that turned out to be the right one: whoever is inside here counts there too. */
  joined: Gate | undefined;

  constructor(limit: number) {
    this.limit = limit;
  }

  get open(): boolean {
    return this.inUse < this.limit;
  }

  entered(): void {
    this.inUse += 1;
  }

  join(other: Gate): void {
    if (this.joined) return;
    this.joined = other;
    other.inUse += this.inUse;
  }
}

/** What is written of a delivery: its next state and all that goes with it, in one commit. */
export interface Outcome {
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
