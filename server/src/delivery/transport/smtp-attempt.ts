import type { SmtpFacts } from '../../events/event-types.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { SmtpTarget } from '../../mail/smtp-client/open-connection.ts';
import type { SmtpMessage } from '../../mail/smtp-client/smtp-message.ts';
import type {
  SmtpRecipientResult,
  SmtpSendResult,
  SmtpSessionInfo,
} from '../../mail/smtp-client/smtp-results.ts';
import {
  joinTranscripts,
  noteTranscript,
  type SmtpTranscript,
} from '../../mail/smtp-client/transcript.ts';
import type { AttemptResult } from '../../messages/verdict/verdict.ts';
import { isThrottling } from '../../messages/verdict/verdict-rules.ts';
import type { AttemptReport } from '../delivery.ts';
import type { Receiver } from '../receivers/receiver.ts';
import type { Receivers } from '../receivers/receivers.ts';
import type { OpenFailure } from './connection-pool.ts';
import type { DeliveryRoute, MailServer, RouteCandidate } from './delivery-route.ts';

export interface SmtpAttemptParts {
  clock: Clock;
  receivers: Receivers;
  /** Whether this server itself receives mail on the address and port. */
  isOwnAddress: (ip: string, port: number) => boolean;
  /** Whether this server, or another one with its name, may receive the mail of the domain. */
  mayReceiveMail: () => Promise<boolean>;
  /** The message has a connection that was greeted. */
  onConnected: () => void;
}

/**
 * One attempt of one message at one domain: its servers by preference, each with all its addresses,
 * until one responds about the message. That response is final for this attempt, for each recipient
 * separately. When no server could be reached, the attempt ends with the most hopeful failure.
 */
export async function attemptBySmtp(
  message: SmtpMessage,
  route: DeliveryRoute,
  startedAtMs: number,
  parts: SmtpAttemptParts,
): Promise<AttemptReport[]> {
  const attempt = new SmtpAttempt(message, startedAtMs, parts);
  for (const candidate of route) {
    const reports = await attempt.tryCandidate(await candidate());
    if (reports) return reports;
    if (attempt.finished) break;
  }
  return attempt.unreachedReports();
}

/** The same end for all recipients, without a conversation. */
export function endAll(
  count: number,
  end: Extract<AttemptResult, { detail: string }>,
  startedAtMs: number,
  clock: Clock,
): AttemptReport[] {
  const transcript = noteTranscript(startedAtMs, end.detail);
  const smtp = localFacts(end, null);
  const finishedAtMs = clock.now();
  return Array.from({ length: count }, () => ({
    end,
    startedAtMs,
    finishedAtMs,
    smtp,
    transcript,
  }));
}

interface Failure {
  end: AttemptResult;
  session: SmtpSessionInfo | null;
  relay: boolean;
  receiver: Receiver | undefined;
}

/** Addresses to try in one attempt; the next attempt may find them reachable again. */
const ADDRESSES_MAX = 10;
/** A reused connection that the receiver had closed is replaced, but not endlessly. */
const STALE_RETRIES_MAX = 2;

class SmtpAttempt {
  /** No further server may be tried. */
  finished = false;
  readonly #message: SmtpMessage;
  readonly #startedAtMs: number;
  readonly #parts: SmtpAttemptParts;
  #addressesTried = 0;
  #failures: Failure[] = [];
  /** The server is this one, and may receive the mail: it is delivered like any other. */
  #toSelf = false;
  #transcript: SmtpTranscript | undefined;

  constructor(message: SmtpMessage, startedAtMs: number, parts: SmtpAttemptParts) {
    this.#message = message;
    this.#startedAtMs = startedAtMs;
    this.#parts = parts;
  }

  async tryCandidate({ servers, error }: RouteCandidate): Promise<AttemptReport[] | undefined> {
    if (error) this.#addFailure(error, null, false);
    for (const server of servers) {
      const reports = await this.#tryServer(server);
      if (reports || this.finished) return reports;
    }
    return undefined;
  }

  async #tryServer(server: MailServer): Promise<AttemptReport[] | undefined> {
    const { isOwnAddress, receivers } = this.#parts;
    const { relay } = server;
    const isOwn = !relay && server.addresses.some((ip) => isOwnAddress(ip, server.port));
    if (isOwn && !(await this.#mayBeReceivedHere())) {
      this.#addFailure(loopEnd(server), null, relay);
      // RFC 5321 section 5.1: servers of lower preference would only send it back to us.
      this.finished = true;
      return undefined;
    }
    const targets = await server.targets();
    if ('kind' in targets) {
      this.#addFailure(targets, null, relay);
      return undefined;
    }
    const receiver = receivers.forServer(server);
    for (const target of targets) {
      const reports = await this.#tryAddress(receiver, target, relay);
      if (reports || this.finished) return reports;
    }
    return undefined;
  }

  /** Asked only if the server turns out to be this one. */
  async #mayBeReceivedHere(): Promise<boolean> {
    this.#toSelf ||= await this.#parts.mayReceiveMail();
    return this.#toSelf;
  }

  async #tryAddress(
    receiver: Receiver,
    target: SmtpTarget,
    relay: boolean,
  ): Promise<AttemptReport[] | undefined> {
    const toSelf = this.#toSelf;
    const pool = this.#parts.receivers.poolFor(receiver, target, { relay, toSelf });
    if (pool.recentFailure?.failure.kind === 'loop' && (await this.#mayBeReceivedHere()))
      return this.#tryAddress(receiver, target, relay);
    const known = pool.recentFailure;
    if (known) {
      this.#skip(underName(known, target.host), target, relay, receiver);
      return undefined;
    }
    this.#addressesTried += 1;
    if (this.#addressesTried >= ADDRESSES_MAX) this.finished = true;
    for (let stale = 0; ; stale++) {
      const sent = await pool.send(this.#message, this.#parts.onConnected);
      if ('error' in sent) throw sent.error;
      if (!sent.ok) {
        if (sent.failed.failure.kind === 'loop' && (await this.#mayBeReceivedHere()))
          return this.#tryAddress(receiver, target, relay);
        this.#openFailed(underName(sent.failed, target.host), receiver, relay);
        return undefined;
      }
      const result = underName(sent.result, target.host);
      this.#transcript = joinTranscripts(this.#transcript, result.transcript);
      if (stale >= STALE_RETRIES_MAX || !result.recipients.every(wasStale)) {
        adjustReceiver(receiver, result, this.#startedAtMs);
        return this.#reports(result, relay, receiver);
      }
    }
  }

  #openFailed(failed: OpenFailure, receiver: Receiver, relay: boolean): void {
    this.#transcript = joinTranscripts(this.#transcript, failed.transcript);
    if (failed.failure.kind === 'refused' && isThrottling(failed.failure))
      receiver.throttled(this.#startedAtMs);
    // Our own stop, or a loop to this server: no other server is tried.
    if (failed.failure.kind === 'aborted' || failed.failure.kind === 'loop') this.finished = true;
    this.#addFailure(failed.failure, failed.session, relay, receiver);
  }

  #skip(known: OpenFailure, target: SmtpTarget, relay: boolean, receiver: Receiver): void {
    const nowMs = this.#parts.clock.now();
    const agoSeconds = Math.round((nowMs - known.transcript.startedAt) / 1000);
    const text = `${target.host} [${target.ip}] failed ${agoSeconds} s ago, skipped`;
    this.#transcript = joinTranscripts(this.#transcript, noteTranscript(nowMs, text));
    this.#addFailure(known.failure, known.session, relay, receiver);
  }

  #addFailure(
    end: AttemptResult,
    session: SmtpSessionInfo | null,
    relay: boolean,
    receiver?: Receiver,
  ): void {
    this.#failures.push({ end, session, relay, receiver });
    if (session || !('detail' in end)) return;
    const note = noteTranscript(this.#parts.clock.now(), end.detail);
    this.#transcript = joinTranscripts(this.#transcript, note);
  }

  #reports(
    { recipients, session }: SmtpSendResult,
    relay: boolean,
    receiver: Receiver,
  ): AttemptReport[] {
    const finishedAtMs = this.#parts.clock.now();
    const transcript = this.#transcript ?? null;
    return recipients.map((recipient) => {
      const end = this.#endOf(recipient, session, relay);
      const report: AttemptReport = {
        end,
        startedAtMs: this.#startedAtMs,
        finishedAtMs,
        smtp: factsOf(end, session),
        transcript,
        relay,
      };
      return end.kind === 'accepted' ? report : { ...report, ...throttleOf(end, receiver) };
    });
  }

  /** Other servers mean the recipient with this reply, our own the domain: no workspace receives its mail. */
  #endOf(recipient: SmtpRecipientResult, session: SmtpSessionInfo, relay: boolean): AttemptResult {
    const end = endOf(recipient);
    const isUnknown = end.kind === 'refused' && end.reply.enhanced === UNKNOWN_MAILBOX;
    if (!isUnknown || !this.#toSelf || relay || !this.#parts.receivers.isOwnName(session))
      return end;
    const { host, ip, receiverName } = session;
    const detail = `${host} [${ip}] has this server's own name, ${receiverName}, and no workspace receives the mail of the domain.`;
    return { kind: 'loop', detail };
  }

  /**
   * The reports when no server could be reached. A temporary failure outweighs a permanent
   * rejection by one server.
   */
  unreachedReports(): AttemptReport[] {
    const chosen =
      this.#failures.find(({ end }) => !isPermanent(end)) ?? (this.#failures.at(-1) as Failure);
    const { end, session, relay, receiver } = chosen;
    const report: AttemptReport = {
      end,
      startedAtMs: this.#startedAtMs,
      finishedAtMs: this.#parts.clock.now(),
      smtp: factsOf(end, session),
      transcript: this.#transcript ?? null,
      relay,
      ...(receiver && throttleOf(end, receiver)),
    };
    return this.#message.recipients.map(() => report);
  }
}

function loopEnd(server: MailServer): AttemptResult {
  const detail = `The mail server ${server.host} [${server.addresses.join(', ')}] is this server.`;
  return { kind: 'loop', detail };
}

/**
 * Customers of a provider share connections, which were opened by the name of one of them. Reports
 * show the recipient's server only: the names of others tell to whom other workspaces write.
 */
function underName<T extends { session: SmtpSessionInfo; transcript: SmtpTranscript }>(
  seen: T,
  host: string,
): T {
  const { session, transcript } = seen;
  if (session.host === host) return seen;
  const lines = transcript.lines.map((line) => ({
    ...line,
    text: line.text.replaceAll(session.host, host),
  }));
  return { ...seen, session: { ...session, host }, transcript: { ...transcript, lines } };
}

function wasStale(recipient: SmtpRecipientResult): boolean {
  return (
    !recipient.accepted && recipient.failure.staleConnection && !recipient.failure.afterFinalDot
  );
}

function adjustReceiver(
  receiver: Receiver,
  { recipients }: SmtpSendResult,
  startedAtMs: number,
): void {
  const less = recipients.some(
    (one) => !one.accepted && one.failure.kind === 'refused' && isThrottling(one.failure),
  );
  if (less) receiver.throttled(startedAtMs);
  else if (recipients.some((one) => one.accepted)) receiver.succeeded();
}

function throttleOf(end: AttemptResult, receiver: Receiver): Pick<AttemptReport, 'throttle'> {
  if (end.kind !== 'refused' || !isThrottling(end)) return {};
  const { pausedUntilMs } = receiver.throttle;
  return { throttle: { receiver: receiver.displayName, pausedUntilMs } };
}

function isPermanent(end: AttemptResult): boolean {
  switch (end.kind) {
    case 'loop':
    case 'domain_not_found':
    case 'domain_takes_no_mail':
    case 'domain_without_address':
      return true;
    case 'refused':
      return end.reply.code >= 500;
    default:
      return false;
  }
}

function endOf(recipient: SmtpRecipientResult): AttemptResult {
  return recipient.accepted ? { kind: 'accepted', reply: recipient.reply } : recipient.failure;
}

function factsOf(end: AttemptResult, session: SmtpSessionInfo | null): SmtpFacts {
  if (end.kind !== 'accepted' && end.kind !== 'refused') return localFacts(end, session);
  const { code, enhanced, text } = end.reply;
  return { code, enhanced, text, ...serverFacts(session) };
}

function localFacts(
  end: Extract<AttemptResult, { detail: string }>,
  session: SmtpSessionInfo | null,
): SmtpFacts {
  const enhanced = ENHANCED_CODES[end.kind] ?? null;
  return { code: null, enhanced, text: end.detail, ...serverFacts(session) };
}

function serverFacts(session: SmtpSessionInfo | null): Pick<SmtpFacts, 'mx' | 'ip' | 'tls'> {
  if (!session) return { mx: null, ip: null, tls: null };
  return { mx: session.host, ip: session.ip, tls: session.tls?.version ?? null };
}

/** RFC 3463. What our own listener replies for addresses that it does not receive mail for. */
const UNKNOWN_MAILBOX = '5.1.1';

/** The enhanced code a server would have used (RFC 3463, 6531, 7505) where none was given. */
const ENHANCED_CODES: Partial<Record<AttemptResult['kind'], string>> = {
  connection_refused: '4.4.1',
  network_unreachable: '4.4.1',
  no_relay: '4.4.1',
  connection_lost: '4.4.2',
  timed_out: '4.4.2',
  name_server_failed: '4.4.3',
  domain_without_address: '5.4.4',
  domain_not_found: '5.1.2',
  domain_takes_no_mail: '5.1.10',
  loop: '5.4.6',
  protocol_error: '4.5.0',
  tls_not_offered: '4.7.10',
  tls_failed: '4.7.5',
  certificate_rejected: '4.7.5',
  smtputf8_unsupported: '5.6.7',
  message_too_large: '5.3.4',
};
