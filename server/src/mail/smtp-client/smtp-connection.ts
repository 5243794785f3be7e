import { setImmediate as nextTurn } from 'node:timers/promises';
import { unreachable } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { SmtpCapabilities } from './capabilities.ts';
import type { ReplyHandler, CommandChannel } from './command-channel.ts';
import type { ReceivedReply } from './reply-parser.ts';
import { toSendableMessage, type SendableMessage, type SmtpMessage } from './smtp-message.ts';
import {
  type SmtpRecipientResult,
  type SmtpSendResult,
  type SmtpSessionInfo,
  type SmtpError,
  smtpError,
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
  readonly session: SmtpSessionInfo;

  readonly #channel: CommandChannel;
  readonly #clock: Clock;
  readonly #timeouts: SmtpTimeouts;
  #openingTranscript: TranscriptRecorder | undefined;

  /** Taken by `send`, nothing written yet. */
  #queued: QueuedSend[] = [];
  /** MAIL is written, the message is not. Only one: nothing may follow an unanswered DATA. */
  #awaitingData: ActiveSend | undefined;
  /** What DATA's answer asks to be written for the envelope. */
  #dataAction: 'send_body' | 'send_lone_dot' | undefined;
  /** The message is written, or being written; the answer to its final dot comes next. */
  #awaitingFinalReply: ActiveSend | undefined;
  #writingBlocks = false;
  #resetFirst = false;
  #flushScheduled = false;
  #messagesSent = 0;
  #quitting: PromiseWithResolvers<void> | undefined;

  constructor(parts: SmtpConnectionParts) {
    this.capabilities = parts.capabilities;
    this.session = parts.session;
    this.#channel = parts.channel;
    this.#clock = parts.clock;
    this.#timeouts = parts.timeouts;
    this.#openingTranscript = parts.openingTranscript;
    this.#channel.onLost = (lost) => this.#onClosed(lost);
  }

  /** The session stands and may take more messages. */
  get usable(): boolean {
    return this.#channel.open && this.#quitting === undefined;
  }

  /** Another `send` now would travel with what is on the wire, or start at once. */
  get hasCapacity(): boolean {
    return this.usable && this.inFlight < (this.capabilities.pipelining ? PIPELINE_DEPTH_MAX : 1);
  }

  /** Messages given to `send` and not yet answered. */
  get inFlight(): number {
    return this.#queued.length + (this.#awaitingData ? 1 : 0) + (this.#awaitingFinalReply ? 1 : 0);
  }

  get messagesSent(): number {
    return this.#messagesSent;
  }

  /** May be called again before the first is answered; messages leave in the order of the calls. */
  send(message: SmtpMessage): Promise<SmtpSendResult> {
    if (!this.usable) {
      const closed = smtpError('connection_lost', 'mail', 'The connection is closed.');
      return Promise.resolve(this.#notSent(message.recipients, closed));
    }
    const sendable = toSendableMessage(message, this.capabilities);
    if ('kind' in sendable) return Promise.resolve(this.#notSent(message.recipients, sendable));
    return new Promise((resolve) => {
      this.#queued.push({ message: sendable, resolve });
      if (!this.#flushScheduled) this.#flush();
    });
  }

  /** Says goodbye after what is in flight. Resolves when the connection is closed. */
  quit(): Promise<void> {
    if (!this.#channel.open) return Promise.resolve();
    if (!this.#quitting) {
      this.#quitting = Promise.withResolvers();
      this.#quitWhenIdle();
    }
    return this.#quitting.promise;
  }

  /** Ends it now. What is in flight is answered as `aborted`. */
  destroy(): void {
    this.#channel.close('aborted', 'We closed the connection.');
  }

  /**
   * Writes all that may be written now, in one piece: the message whose DATA was answered, and
   * behind it the next envelope.
   */
  #flush(): void {
    this.#flushScheduled = false;
    if (!this.#channel.open || this.#writingBlocks) return;
    const sending = this.#awaitingData;
    const due = this.#dataAction;
    if (!sending || !due) {
      const commands = this.#nextEnvelope(this.#clock.now());
      if (commands !== '') this.#channel.write(commands);
      return;
    }
    this.#awaitingData = undefined;
    this.#dataAction = undefined;
    this.#awaitingFinalReply = sending;
    const body = due === 'send_body' ? sending.transaction.message.body : NO_BODY;
    this.#channel.expectReply('body', this.#timeouts.finalDotMs, sending);
    if (body.blocksBytes > ONE_WRITE_BYTES_MAX) void this.#writeBlocks(sending);
    else this.#channel.write(concatBlocks(body.blocks, this.#finalDot(sending, body.blocksBytes)));
  }

  /** A large message goes out as fast as the receiver takes it, so that memory stays bounded. */
  async #writeBlocks(sending: ActiveSend): Promise<void> {
    const { blocks, blocksBytes } = sending.transaction.message.body;
    this.#writingBlocks = true;
    for (const block of blocks) {
      for (let at = 0; at < block.length; at += BLOCK_BYTES) {
        this.#channel.setDeadline(this.#timeouts.blockMs);
        this.#channel.write(block.subarray(at, at + BLOCK_BYTES));
        await this.#channel.drained();
        // A fast receiver drains at once; other connections, and its refusal, still get their turn.
        await nextTurn();
        if (!this.#channel.open) return;
      }
    }
    this.#writingBlocks = false;
    this.#channel.setDeadline(this.#timeouts.finalDotMs);
    this.#channel.write(this.#finalDot(sending, blocksBytes));
  }

  /** The end of a message, and the envelope that may travel with it. */
  #finalDot({ transaction }: ActiveSend, bytes: number): string {
    transaction.finalDotSent = true;
    const nowMs = this.#clock.now();
    transaction.transcript.add(nowMs, 'note', `(${bytes} bytes of message)`);
    return `.\r\n${this.#nextEnvelope(nowMs)}`;
  }

  /** The commands that may leave now, each with its reply announced; often none. */
  #nextEnvelope(nowMs: number): string {
    const { pipelining } = this.capabilities;
    if (this.#awaitingData || (this.#awaitingFinalReply && !pipelining)) return '';
    const next = this.#queued.shift();
    if (!next) return '';
    const sending = this.#begin(next, nowMs);
    this.#awaitingData = sending;
    let commands = '';
    for (;;) {
      const command = sending.transaction.nextCommand();
      if (!command) return commands;
      commands += this.#recordCommand(sending, command, nowMs);
      if (!pipelining) return commands;
    }
  }

  #begin({ message, resolve }: QueuedSend, nowMs: number): ActiveSend {
    const messageNumber = ++this.#messagesSent;
    const transcript = this.#takeTranscript(nowMs);
    if (messageNumber > 1) {
      transcript.add(nowMs, 'note', `(connection reused, message ${messageNumber})`);
    }
    const transaction = new SmtpTransaction(message, transcript, {
      pipelined: this.capabilities.pipelining,
      resetFirst: this.#resetFirst,
      reused: messageNumber > 1,
    });
    this.#resetFirst = false;
    const onReply: ReplyHandler['onReply'] = (received, at) => this.#onReply(sending, received, at);
    const sending: ActiveSend = { transaction, messageNumber, resolve, onReply };
    return sending;
  }

  #takeTranscript(nowMs: number): TranscriptRecorder {
    const transcript = this.#openingTranscript ?? new TranscriptRecorder(nowMs);
    this.#openingTranscript = undefined;
    return transcript;
  }

  #recordCommand(sending: ActiveSend, { line, stage }: SmtpCommand, nowMs: number): string {
    const { mailMs, rcptMs, dataMs } = this.#timeouts;
    this.#channel.expectReply(
      stage,
      stage === 'mail' ? mailMs : stage === 'rcpt' ? rcptMs : dataMs,
      sending,
    );
    sending.transaction.transcript.add(nowMs, 'client', line);
    return `${line}\r\n`;
  }

  #onReply(sending: ActiveSend, received: ReceivedReply, nowMs: number): void {
    const { transaction } = sending;
    transaction.transcript.addAll(nowMs, 'server', received.lines);
    const step = transaction.handleReply(received);
    // The wire closes itself after a 421 and everything in flight is settled then.
    if (received.reply.code === 421) return;
    switch (step) {
      case 'go_on':
        if (!this.capabilities.pipelining) this.#sendNextCommand(sending, nowMs);
        break;
      case 'send_body':
      case 'send_lone_dot':
        this.#dataAction = step;
        this.#scheduleFlush();
        break;
      case 'over':
        this.#complete(sending);
        break;
      case 'broken':
        this.#channel.close('protocol_error', `${received.reply.code} is no answer here.`);
        break;
      default:
        unreachable(step);
    }
  }

  #sendNextCommand(sending: ActiveSend, nowMs: number): void {
    const command = sending.transaction.nextCommand();
    if (command) this.#channel.write(this.#recordCommand(sending, command, nowMs));
  }

  /** Answers the caller of `send`. */
  #complete(sending: ActiveSend): void {
    const { transaction, messageNumber, resolve } = sending;
    if (this.#awaitingFinalReply === sending) this.#awaitingFinalReply = undefined;
    else this.#awaitingData = undefined;
    this.#resetFirst ||= transaction.needsReset;
    const recipients = transaction.results();
    resolve({
      recipients,
      transcript: transaction.transcript.finish(),
      session: this.session,
      messageNumber,
    });
    if (!this.#channel.open) return;
    if (this.#queued.length > 0) this.#scheduleFlush();
    else if (this.#quitting) this.#quitWhenIdle();
    if (recipients.some(isTemporarilyUnavailable)) void this.quit();
  }

  /**
   * Writing waits until this turn's replies are read and their callers have had their say: who
   * answers a result with the next `send` gets it into the same packet.
   */
  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    setImmediate(() => this.#flush());
  }

  #quitWhenIdle(): void {
    if (this.inFlight > 0) return;
    void this.#channel.command('QUIT', 'mail', this.#timeouts.quitMs).then(() => this.destroy());
  }

  #onClosed(error: SmtpError): void {
    for (const sending of [this.#awaitingFinalReply, this.#awaitingData]) {
      if (!sending) continue;
      sending.transaction.fail(error);
      sending.transaction.transcript.add(this.#clock.now(), 'note', `(${error.detail})`);
      this.#complete(sending);
    }
    for (const { message, resolve } of this.#queued) {
      resolve(this.#notSent(message.recipients, smtpError(error.kind, 'mail', error.detail)));
    }
    this.#queued = [];
    this.#quitting?.resolve();
  }

  #notSent(recipients: readonly string[], error: SmtpError): SmtpSendResult {
    const nowMs = this.#clock.now();
    const transcript = this.#takeTranscript(nowMs);
    transcript.add(nowMs, 'note', `(not sent: ${error.detail})`);
    // A message that waited behind others has not been tried at all when the connection ends.
    const failure = { ...error, staleConnection: !this.usable && this.#messagesSent > 0 };
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
function isTemporarilyUnavailable(recipient: SmtpRecipientResult): boolean {
  if (recipient.accepted || recipient.failure.kind !== 'refused') return false;
  return recipient.failure.reply.enhanced === '4.3.2';
}

export interface SmtpConnectionParts {
  channel: CommandChannel;
  clock: Clock;
  timeouts: SmtpTimeouts;
  capabilities: SmtpCapabilities;
  session: SmtpSessionInfo;
  /** The session's opening: it becomes the beginning of the first message's transcript. */
  openingTranscript: TranscriptRecorder;
}

interface QueuedSend {
  message: SendableMessage;
  resolve: (result: SmtpSendResult) => void;
}

/** A call of `send` on the wire. */
interface ActiveSend {
  transaction: SmtpTransaction;
  messageNumber: number;
  resolve: (result: SmtpSendResult) => void;
  onReply: ReplyHandler['onReply'];
}

/** One message on its way to its answer and the next envelope behind it: all that helps. */
const PIPELINE_DEPTH_MAX = 2;
/** Up to here a message is copied into one write; above, it is written in blocks. */
const ONE_WRITE_BYTES_MAX = 128 * 1024;
const BLOCK_BYTES = 64 * 1024;
const NO_BODY = { blocks: [], blocksBytes: 0 };

/** One buffer is one system call and few packets; copying 2 KB costs less than a second write. */
function concatBlocks(blocks: readonly Buffer[], tail: string): Buffer {
  let bytes = Buffer.byteLength(tail);
  for (const block of blocks) bytes += block.length;
  const all = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const block of blocks) at += block.copy(all, at);
  all.write(tail, at);
  return all;
}
