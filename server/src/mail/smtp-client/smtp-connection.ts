import { setImmediate as nextTurn } from 'node:timers/promises';
import { unreachable } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { SmtpCapabilities } from './capabilities.ts';
import type { ReplyTaker, SmtpWire } from './command-channel.ts';
import type { ReceivedReply } from './reply-parser.ts';
import { makeSendable, type SendableMessage, type SmtpMessage } from './smtp-message.ts';
import {
  type SmtpRecipientResult,
  type SmtpSendResult,
  type SmtpSessionFacts,
  type SmtpTrouble,
  trouble,
} from './smtp-results.ts';
import type { SmtpTimeouts } from './timeouts.ts';
import { type SmtpCommand, SmtpTransaction } from './transaction.ts';
import { TranscriptRecorder } from './transcript.ts';

/**
 * An open SMTP session: messages come in, one result for each recipient leaves. Where the receiver
 * offers PIPELINING, MAIL, RCPT and DATA travel as one write, and together with the previous
 * message (RFC 2920 3.1), so that a busy connection needs one round trip for each message. `send`
 * never throws for what the receiver does, and every call is answered exactly once, whatever
 * happens to the connection.
 */
export class SmtpConnection {
  readonly capabilities: SmtpCapabilities;
  readonly session: SmtpSessionFacts;

  readonly #wire: SmtpWire;
  readonly #clock: Clock;
  readonly #timeouts: SmtpTimeouts;
  #opening: TranscriptRecorder | undefined;

  /** Taken by `send`, nothing written yet. */
  #waiting: Waiting[] = [];
  /** MAIL is written, the message is not. Only one: nothing may follow an unanswered DATA. */
  #envelope: Sending | undefined;
  /** What DATA's answer asks to be written for the envelope. */
  #due: 'send_body' | 'send_lone_dot' | undefined;
  /** The message is written, or being written; the answer to its final dot comes next. */
  #finishing: Sending | undefined;
  #writingBlocks = false;
  #resetFirst = false;
  #flushPlanned = false;
  #messagesSent = 0;
  #quitting: PromiseWithResolvers<void> | undefined;

  constructor(parts: SmtpConnectionParts) {
    this.capabilities = parts.capabilities;
    this.session = parts.session;
    this.#wire = parts.wire;
    this.#clock = parts.clock;
    this.#timeouts = parts.timeouts;
    this.#opening = parts.opening;
    this.#wire.onLost = (lost) => this.#onLost(lost);
  }

  /** The session stands and may take more messages. */
  get usable(): boolean {
    return this.#wire.open && this.#quitting === undefined;
  }

  /** Another `send` now would travel with what is on the wire, or start at once. */
  get hasRoom(): boolean {
    return this.usable && this.inFlight < (this.capabilities.pipelining ? DEPTH_MAX : 1);
  }

  /** Messages given to `send` and not yet answered. */
  get inFlight(): number {
    return this.#waiting.length + (this.#envelope ? 1 : 0) + (this.#finishing ? 1 : 0);
  }

  get messagesSent(): number {
    return this.#messagesSent;
  }

  /** May be called again before the first is answered; messages leave in the order of the calls. */
  send(message: SmtpMessage): Promise<SmtpSendResult> {
    if (!this.usable) {
      const gone = trouble('connection_lost', 'mail', 'The connection is closed.');
      return Promise.resolve(this.#notSent(message.recipients, gone));
    }
    const sendable = makeSendable(message, this.capabilities);
    if ('kind' in sendable) return Promise.resolve(this.#notSent(message.recipients, sendable));
    return new Promise((resolve) => {
      this.#waiting.push({ message: sendable, resolve });
      if (!this.#flushPlanned) this.#flush();
    });
  }

  /** Says goodbye after what is in flight. Resolves when the connection is closed. */
  quit(): Promise<void> {
    if (!this.#wire.open) return Promise.resolve();
    if (!this.#quitting) {
      this.#quitting = Promise.withResolvers();
      this.#quitWhenIdle();
    }
    return this.#quitting.promise;
  }

  /** Ends it now. What is in flight is answered as `aborted`. */
  destroy(): void {
    this.#wire.lose('aborted', 'We closed the connection.');
  }

  /**
   * Writes all that may be written now, in one piece: the message whose DATA was answered, and
   * behind it the next envelope.
   */
  #flush(): void {
    this.#flushPlanned = false;
    if (!this.#wire.open || this.#writingBlocks) return;
    const sending = this.#envelope;
    const due = this.#due;
    if (!sending || !due) {
      const commands = this.#nextEnvelope(this.#clock.now());
      if (commands !== '') this.#wire.write(commands);
      return;
    }
    this.#envelope = undefined;
    this.#due = undefined;
    this.#finishing = sending;
    const body = due === 'send_body' ? sending.transaction.message.body : NO_BODY;
    this.#wire.expect('body', this.#timeouts.finalDotMs, sending);
    if (body.blocksBytes > ONE_WRITE_BYTES_MAX) void this.#writeBlocks(sending);
    else this.#wire.write(joined(body.blocks, this.#finalDot(sending, body.blocksBytes)));
  }

  /** A large message goes out as fast as the receiver takes it, so that memory stays bounded. */
  async #writeBlocks(sending: Sending): Promise<void> {
    const { blocks, blocksBytes } = sending.transaction.message.body;
    this.#writingBlocks = true;
    for (const block of blocks) {
      for (let at = 0; at < block.length; at += BLOCK_BYTES) {
        this.#wire.setDeadline(this.#timeouts.blockMs);
        this.#wire.write(block.subarray(at, at + BLOCK_BYTES));
        await this.#wire.drained();
        // A fast receiver drains at once; other connections, and its refusal, still get their turn.
        await nextTurn();
        if (!this.#wire.open) return;
      }
    }
    this.#writingBlocks = false;
    this.#wire.setDeadline(this.#timeouts.finalDotMs);
    this.#wire.write(this.#finalDot(sending, blocksBytes));
  }

  /** The end of a message, and the envelope that may travel with it. */
  #finalDot({ transaction }: Sending, bytes: number): string {
    transaction.finalDotSent = true;
    const nowMs = this.#clock.now();
    transaction.transcript.add(nowMs, 'note', `(${bytes} bytes of message)`);
    return `.\r\n${this.#nextEnvelope(nowMs)}`;
  }

  /** The commands that may leave now, each with its reply announced; often none. */
  #nextEnvelope(nowMs: number): string {
    const { pipelining } = this.capabilities;
    if (this.#envelope || (this.#finishing && !pipelining)) return '';
    const next = this.#waiting.shift();
    if (!next) return '';
    const sending = this.#begin(next, nowMs);
    this.#envelope = sending;
    let commands = '';
    for (;;) {
      const command = sending.transaction.nextCommand();
      if (!command) return commands;
      commands += this.#say(sending, command, nowMs);
      if (!pipelining) return commands;
    }
  }

  #begin({ message, resolve }: Waiting, nowMs: number): Sending {
    const messageNumber = ++this.#messagesSent;
    const transcript = this.#takeOpening(nowMs);
    if (messageNumber > 1) {
      transcript.add(nowMs, 'note', `(connection reused, message ${messageNumber})`);
    }
    const transaction = new SmtpTransaction(message, transcript, {
      pipelined: this.capabilities.pipelining,
      resetFirst: this.#resetFirst,
      reused: messageNumber > 1,
    });
    this.#resetFirst = false;
    const take: ReplyTaker['take'] = (received, at) => this.#onReply(sending, received, at);
    const sending: Sending = { transaction, messageNumber, resolve, take };
    return sending;
  }

  #takeOpening(nowMs: number): TranscriptRecorder {
    const transcript = this.#opening ?? new TranscriptRecorder(nowMs);
    this.#opening = undefined;
    return transcript;
  }

  #say(sending: Sending, { line, stage }: SmtpCommand, nowMs: number): string {
    const { mailMs, rcptMs, dataMs } = this.#timeouts;
    this.#wire.expect(
      stage,
      stage === 'mail' ? mailMs : stage === 'rcpt' ? rcptMs : dataMs,
      sending,
    );
    sending.transaction.transcript.add(nowMs, 'client', line);
    return `${line}\r\n`;
  }

  #onReply(sending: Sending, received: ReceivedReply, nowMs: number): void {
    const { transaction } = sending;
    transaction.transcript.addAll(nowMs, 'server', received.lines);
    const step = transaction.take(received);
    // The wire closes itself after a 421 and everything in flight is settled then.
    if (received.reply.code === 421) return;
    switch (step) {
      case 'go_on':
        if (!this.capabilities.pipelining) this.#sayNext(sending, nowMs);
        break;
      case 'send_body':
      case 'send_lone_dot':
        this.#due = step;
        this.#planFlush();
        break;
      case 'over':
        this.#settle(sending);
        break;
      case 'broken':
        this.#wire.lose('protocol_error', `${received.reply.code} is no answer here.`);
        break;
      default:
        unreachable(step);
    }
  }

  #sayNext(sending: Sending, nowMs: number): void {
    const command = sending.transaction.nextCommand();
    if (command) this.#wire.write(this.#say(sending, command, nowMs));
  }

  /** Answers the caller of `send`. */
  #settle(sending: Sending): void {
    const { transaction, messageNumber, resolve } = sending;
    if (this.#finishing === sending) this.#finishing = undefined;
    else this.#envelope = undefined;
    this.#resetFirst ||= transaction.needsReset;
    const recipients = transaction.results();
    resolve({
      recipients,
      transcript: transaction.transcript.finish(),
      session: this.session,
      messageNumber,
    });
    if (!this.#wire.open) return;
    if (this.#waiting.length > 0) this.#planFlush();
    else if (this.#quitting) this.#quitWhenIdle();
    if (recipients.some(takesNothingNow)) void this.quit();
  }

  /**
   * Writing waits until this turn's replies are read and their callers have had their say: who
   * answers a result with the next `send` gets it into the same packet.
   */
  #planFlush(): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    setImmediate(() => this.#flush());
  }

  #quitWhenIdle(): void {
    if (this.inFlight > 0) return;
    void this.#wire.ask('QUIT', 'mail', this.#timeouts.quitMs).then(() => this.destroy());
  }

  #onLost(lost: SmtpTrouble): void {
    for (const sending of [this.#finishing, this.#envelope]) {
      if (!sending) continue;
      sending.transaction.lose(lost);
      sending.transaction.transcript.add(this.#clock.now(), 'note', `(${lost.detail})`);
      this.#settle(sending);
    }
    for (const { message, resolve } of this.#waiting) {
      resolve(this.#notSent(message.recipients, trouble(lost.kind, 'mail', lost.detail)));
    }
    this.#waiting = [];
    this.#quitting?.resolve();
  }

  #notSent(recipients: readonly string[], why: SmtpTrouble): SmtpSendResult {
    const nowMs = this.#clock.now();
    const transcript = this.#takeOpening(nowMs);
    transcript.add(nowMs, 'note', `(not sent: ${why.detail})`);
    // A message that waited behind others has not been tried at all when the connection ends.
    const failure = { ...why, staleConnection: !this.usable && this.#messagesSent > 0 };
    return {
      recipients: recipients.map((recipient) => ({ recipient, accepted: false, failure })),
      transcript: transcript.finish(),
      session: this.session,
      messageNumber: this.#messagesSent + 1,
    };
  }
}

/**
 * RFC 3463 4.3.2. Postscreen says it to a new client, and goes on saying it until the client has gone
 * and come again: a connection that is kept in use would never get through.
 */
function takesNothingNow(recipient: SmtpRecipientResult): boolean {
  if (recipient.accepted || recipient.failure.kind !== 'refused') return false;
  return recipient.failure.reply.enhanced === '4.3.2';
}

export interface SmtpConnectionParts {
  wire: SmtpWire;
  clock: Clock;
  timeouts: SmtpTimeouts;
  capabilities: SmtpCapabilities;
  session: SmtpSessionFacts;
  /** The session's opening: it becomes the beginning of the first message's transcript. */
  opening: TranscriptRecorder;
}

interface Waiting {
  message: SendableMessage;
  resolve: (result: SmtpSendResult) => void;
}

/** A call of `send` on the wire. */
interface Sending {
  transaction: SmtpTransaction;
  messageNumber: number;
  resolve: (result: SmtpSendResult) => void;
  take: ReplyTaker['take'];
}

/** One message on its way to its answer and the next envelope behind it: all that helps. */
const DEPTH_MAX = 2;
/** Up to here a message is copied into one write; above, it is written in blocks. */
const ONE_WRITE_BYTES_MAX = 128 * 1024;
const BLOCK_BYTES = 64 * 1024;
const NO_BODY = { blocks: [], blocksBytes: 0 };

/** One buffer is one system call and few packets; copying 2 KB costs less than a second write. */
function joined(blocks: readonly Buffer[], tail: string): Buffer {
  let bytes = Buffer.byteLength(tail);
  for (const block of blocks) bytes += block.length;
  const all = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const block of blocks) at += block.copy(all, at);
  all.write(tail, at);
  return all;
}
