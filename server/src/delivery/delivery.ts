import type { Mode } from '../accounts/tenant-scope.ts';
import type { Bounce, SmtpFacts } from '../events/event-types.ts';
import type { SmtpTranscript } from '../mail/smtp-client/transcript.ts';
import type { MessageContent } from '../messages/content/message-content.ts';
import type { AttemptResult } from '../messages/verdict/verdict.ts';
import type { ConcurrencyLimit } from '../queue/concurrency-limit.ts';
import type { LeasedItem } from '../queue/lease.ts';

/** The delivery to one recipient while this node holds its lease. */
export interface Delivery extends LeasedItem {
  readonly message: Message;
  readonly ordinal: number;
  readonly recipient: string;
  readonly recipientKey: string;
  readonly domain: string;
  /** A Bcc recipient, who gets a transaction alone. */
  readonly isBlindCopy: boolean;
  /** Attempts recorded so far, over all delivery cycles. */
  readonly attempts: number;
  /** When this delivery cycle began: its age determines the back-off. */
  readonly cycleStartedAtMs: number;
  /** A deferral after this time ends the delivery as expired. */
  readonly expiresAtMs: number;
  /** The delivery ends at this time without another attempt. See `giveUpAtMs` in retry-policy.ts. */
  readonly giveUpAtMs: number;
  /** An earlier lease was lost, so this may be a poison message. See lease-store.ts. */
  suspect: boolean;
}

/** The data that all deliveries of one message share. Content is loaded shortly before sending. */
export interface Message {
  readonly workspaceId: string;
  readonly mode: Mode;
  readonly id: string;
  /** The time in the `Date` header, the same in all attempts: accepted at, or scheduled for. */
  readonly dateMs: number;
  readonly stream: string;
  /** The named route of its stream; null for the standard one. */
  readonly route: string | null;
  readonly tags: string[];
  readonly metadata: Record<string, string>;
  content: MessageContent | undefined;
  contentBytes: number;
  /** The content was deleted because it is past its retention period. */
  contentMissing: boolean;
  /** The DKIM-Signature header lines of an earlier attempt. */
  signature: string | null;
  /** The transport's preparation (composed and signed bytes), made once for all recipients. */
  prepared: unknown;
  /** Deliveries of this message that this node has leased. */
  leased: Delivery[];
}

/** What a transport reports about one recipient of one attempt. */
export interface AttemptReport {
  end: AttemptResult;
  startedAtMs: number;
  finishedAtMs: number;
  /** The receiver's final reply and the server that gave it; null when no server was reached. */
  smtp: SmtpFacts | null;
  transcript: SmtpTranscript | null;
  /** The reply came from a relay, so a rejection of this sender says nothing about the recipient. */
  relay?: boolean;
  /** The receiver asked for less mail: who, and until when nothing is sent to it. */
  throttle?: { receiver: string; pausedUntilMs: number };
  /** The warm-up of the address that sent it, for which late bounces and complaints count. */
  warmUp?: { sender: string; provider: string };
  /** DKIM-Signature header lines to keep for the next attempt. */
  signature?: string;
  /** Set only by the simulator: the recipient complains right after the delivery. */
  simulatesComplaint?: boolean;
}

/** Mail waits for a reason of ours, without an attempt. */
export interface Hold {
  untilMs: number;
  explanation: string;
}

/** The last hop: SMTP to the receiver or a relay, or the simulator. */
export interface Transport {
  /** Whether the transport needs the content; otherwise it is not loaded. */
  readonly needsContent: boolean;
  /** Called by the transport when a paused limit has capacity again. */
  onCapacity?: (() => void) | undefined;
  /** Called by the transport with the number of receivers that limit us. */
  onThrottleChange?: ((count: number) => void) | undefined;
  start?(): void;
  /** The limit that a transaction of a workspace with a receiving domain must have a slot of. */
  limitFor(domain: string, workspaceId: string, route: string | null): ConcurrencyLimit;
  /**
   * Whether deliveries that got a slot of this limit have to wait instead of being attempted. Only
   * transports that make mail wait have it.
   */
  hold?(deliveries: readonly Delivery[], limit: ConcurrencyLimit): Hold | undefined;
  /**
   * Attempts one message for recipients at one domain under a slot of `limit`. Returns one report
   * each, in order; those without a report are attempted again. If `mayTransmit` is false before the
   * final dot, the attempt ends as aborted.
   */
  attempt(
    message: Message,
    deliveries: readonly Delivery[],
    mayTransmit: () => boolean,
    limit: ConcurrencyLimit,
  ): Promise<AttemptReport[]>;
  /** Cuts off transactions in flight when a stop has passed its deadline. */
  abort(): void;
  close(): Promise<void>;
}

/** The next state of a delivery and everything that is written with it in one commit. */
export interface DeliveryOutcome {
  delivery: Delivery;
  status: 'delivered' | 'deferred' | 'bounced' | 'failed' | 'expired' | 'suppressed';
  atMs: number;
  /** The id of the outcome's event. It stays the same when the write is retried. */
  eventId: string;
  /** The node that writes the outcome. */
  node: string;
  /** Null when no attempt was made. */
  attempt: AttemptReport | null;
  attemptOutcome: 'delivered' | 'deferred' | 'bounced' | 'failed' | null;
  /** For a deferral: the time of the next attempt, or of expiry when that is earlier. */
  dueAtMs: number | null;
  reason: string | null;
  bounce: Bounce | null;
  smtp: SmtpFacts | null;
}
