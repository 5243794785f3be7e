import { unreachable } from '../../lib/assert.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { SmtpCapabilities } from './capabilities.ts';
import { Chunking } from './chunking.ts';
import type { CommandChannel, ReplyHandler } from './command-channel.ts';
import { concatPieces, type Piece } from './concat-pieces.ts';
import type { ReceivedReply } from './reply-parser.ts';
import { type SendableMessage, type SmtpMessage, toSendableMessage } from './smtp-message.ts';
import {
  isTemporarilyUnavailable,
  type SmtpError,
  type SmtpSendResult,
  type SmtpSessionInfo,
  smtpError,
} from './smtp-results.ts';
import type { SmtpTimeouts } from './timeouts.ts';
import { type SmtpCommand, SmtpTransaction } from './transaction.ts';
import { TranscriptRecorder } from './transcript.ts';
import { writeBlocks } from './write-blocks.ts';

/**
 * An open SMTP session: takes messages and returns one result per recipient. With PIPELINING, MAIL,
 * RCPT and DATA are sent in one write, together with the previous message (RFC 2920 section 3.1),
 * so that a busy connection needs one round trip per message. With CHUNKING too (RFC 3030), several
 * messages are sent in one write. `send` never throws because of the receiver, and every call
 * completes exactly once, whatever happens to the connection.
 */
export class SmtpConnection {
  readonly capabilities: SmtpCapabilities;
  readonly session: SmtpSessionInfo;

  readonly #channel: CommandChannel;
  readonly #clock: Clock;
  readonly #timeouts: SmtpTimeouts;
  readonly #chunking: Chunking;
  #openingTranscript: TranscriptRecorder | undefined;
  /** For transcripts: the source address, if it was chosen. */
  readonly #from: string;

  /** Passed to `send`; nothing is written yet. */
  #queued: QueuedSend[] = [];
  /**
   * The envelope is written, the message is not. Only one at a time: nothing may follow an
   * unanswered DATA.
   */
  #awaitingData: ActiveSend | undefined;
  /** What to write next for that message, after the reply to DATA. */
  #dataAction: 'send_body' | 'send_lone_dot' | undefined;
  /** Messages that are written, or being written; their final replies come next, in this order. */
  readonly #awaitingFinalReply: ActiveSend[] = [];
  #writingBlocks = false;
  #resetFirst = false;
  #flushScheduled = false;
  #messagesSent = 0;
  /** After a 421 the receiver reads nothing more (RFC 5321 section 3.8). */
  #receiverCloses = false;
  #quitting: PromiseWithResolvers<void> | undefined;

  constructor(parts: SmtpConnectionParts) {
    this.capabilities = parts.capabilities;
    this.session = parts.session;
    this.#channel = parts.channel;
    this.#clock = parts.clock;
    this.#timeouts = parts.timeouts;
    this.#openingTranscript = parts.openingTranscript;
    this.#from = parts.localAddress === undefined ? '' : ` from ${parts.localAddress}`;
    this.#chunking = new Chunking(this.capabilities, this.#clock.now());
    this.#channel.onClosed = (lost) => this.#onClosed(lost);
  }

  /** Whether the session is open for more messages. */
  get usable(): boolean {
    return this.#channel.open && this.#quitting === undefined;
  }

  /** Whether another `send` now would be pipelined or start at once. */
  get hasCapacity(): boolean {
    return this.usable && this.inFlight < this.depth;
  }

  /** How many messages may be in flight. */
  get depth(): number {
    if (this.#chunking.inUse) return this.#chunking.depth;
    return this.capabilities.pipelining ? PIPELINING_DEPTH : 1;
  }

  /** Whether messages sent in chunks got no reply, perhaps because a firewall does not know BDAT. */
  get lostChunks(): boolean {
    return this.#chunking.lostChunks;
  }

  /** From now on messages are sent with DATA. */
  stopChunking(): void {
    this.#chunking.stop();
  }

  /** Messages passed to `send` that have no result yet. */
  get inFlight(): number {
    return this.#queued.length + (this.#awaitingData ? 1 : 0) + this.#awaitingFinalReply.length;
  }

  get messagesSent(): number {
    return this.#messagesSent;
  }

  /**
   * May be called again before the first call completes; messages are sent in the order of the
   * calls.
   */
  send(message: SmtpMessage): Promise<SmtpSendResult> {
    if (!this.usable) {
      const closed = smtpError('connection_lost', 'mail', 'The connection is closed.');
      return Promise.resolve(this.#notSent(message.recipients, closed));
    }
    const sendable = toSendableMessage(message, this.capabilities);
    if ('kind' in sendable) return Promise.resolve(this.#notSent(message.recipients, sendable));
    return new Promise((resolve) => {
      this.#queued.push({ message: sendable, resolve });
      // Messages that are passed at the same time share a write where the receiver allows it.
      if (this.#chunking.inUse) this.#scheduleFlush();
      else if (!this.#flushScheduled) this.#flush();
    });
  }

  /** Sends QUIT after the messages in flight. Resolves when the connection is closed. */
  quit(): Promise<void> {
    if (!this.#channel.open) return Promise.resolve();
    if (!this.#quitting) {
      this.#quitting = Promise.withResolvers();
      this.#quitWhenIdle();
    }
    return this.#quitting.promise;
  }

  /** Closes immediately. Messages in flight fail as `aborted`. */
  destroy(): void {
    this.#channel.close('aborted', 'We closed the connection.');
  }

  /**
   * Writes everything that can be written now in one piece: the message whose DATA was answered,
   * followed by the next envelope, or by messages in chunks.
   */
  #flush(): void {
    this.#flushScheduled = false;
    if (!this.#channel.open || this.#writingBlocks) return;
    const sending = this.#awaitingData;
    const due = this.#dataAction;
    if (!sending || !due) {
      this.#writeAll(this.#nextMessages(this.#clock.now()));
      return;
    }
    if (due === 'send_body' && !this.#mayTransmit(sending)) return;
    this.#awaitingData = undefined;
    this.#dataAction = undefined;
    this.#awaitingFinalReply.push(sending);
    const body = due === 'send_body' ? sending.transaction.message.body : NO_BODY;
    this.#channel.expectReply('body', this.#timeouts.finalDotMs, sending);
    if (body.blocksBytes > ONE_WRITE_BYTES_MAX) void this.#writeLarge(sending);
    else this.#writeAll([...body.blocks, ...this.#finalDot(sending, body.blocksBytes)]);
  }

  #writeAll(pieces: readonly Piece[]): void {
    const [first] = pieces;
    if (first === undefined || !this.#channel.open) return;
    this.#channel.write(pieces.length === 1 ? first : concatPieces(pieces));
  }

  /** Writes a large message; nothing else is written meanwhile. */
  async #writeLarge(sending: ActiveSend): Promise<void> {
    const { blocks, blocksBytes } = sending.transaction.message.body;
    const { blockMs, finalDotMs } = this.#timeouts;
    this.#writingBlocks = true;
    const mayContinue = () => this.#mayTransmit(sending);
    if (!(await writeBlocks(this.#channel, blocks, blockMs, mayContinue))) return;
    this.#writingBlocks = false;
    this.#channel.setDeadline(finalDotMs);
    this.#writeAll(this.#finalDot(sending, blocksBytes));
  }

  /** The receiver discards what has no final dot. All earlier messages have their replies by then. */
  #mayTransmit({ transaction }: ActiveSend): boolean {
    if (transaction.message.mayTransmit()) return true;
    this.destroy();
    return false;
  }

  /** The end of a message, and what may be pipelined behind it. */
  #finalDot({ transaction }: ActiveSend, bytes: number): Piece[] {
    transaction.finalDotSent = true;
    const nowMs = this.#clock.now();
    transaction.transcript.add(nowMs, 'note', `(${bytes} bytes of message)`);
    return ['.\r\n', ...this.#nextMessages(nowMs)];
  }

  /** What can be sent now, each command with its reply registered; often nothing. */
  #nextMessages(nowMs: number): Piece[] {
    const pieces: Piece[] = [];
    let bytes = 0;
    while (!this.#awaitingData && bytes < ONE_WRITE_BYTES_MAX) {
      if (this.#awaitingFinalReply.length >= this.depth) break;
      const next = this.#queued.shift();
      if (!next) break;
      if (!next.message.mayTransmit()) {
        this.#abortUnsent(next);
        continue;
      }
      const sending = this.#begin(next, nowMs);
      const { transaction } = sending;
      const commands = this.#nextCommands(sending, nowMs);
      if (transaction.chunked) {
        this.#awaitingFinalReply.push(sending);
        transaction.finalDotSent = true;
        const { blocks, blocksBytes } = transaction.message.body;
        pieces.push(commands, ...blocks);
        bytes += blocksBytes;
      } else {
        this.#awaitingData = sending;
        pieces.push(commands);
      }
    }
    return pieces;
  }

  /**
   * The connection stays open, because messages in flight were handed over: if their replies were lost,
   * they would be sent again.
   */
  #abortUnsent({ message, resolve }: QueuedSend): void {
    resolve(
      this.#notSent(message.recipients, smtpError('aborted', 'mail', 'It may not be sent now.')),
    );
    if (this.#quitting) this.#quitWhenIdle();
  }

  #nextCommands(sending: ActiveSend, nowMs: number): string {
    let commands = '';
    for (;;) {
      const command = sending.transaction.nextCommand();
      if (!command) return commands;
      commands += this.#recordCommand(sending, command, nowMs);
      if (!this.capabilities.pipelining) return commands;
    }
  }

  #begin({ message, resolve }: QueuedSend, nowMs: number): ActiveSend {
    const messageNumber = ++this.#messagesSent;
    const transcript = this.#takeTranscript(nowMs);
    if (messageNumber > 1) {
      transcript.add(nowMs, 'note', `(connection${this.#from} reused, message ${messageNumber})`);
    }
    const transaction = new SmtpTransaction(message, transcript, {
      pipelined: this.capabilities.pipelining,
      chunked: this.#chunking.mayChunk(message.body, nowMs),
      // A message in chunks that is rejected leaves its transaction open, and its reply is not known yet.
      resetFirst:
        this.#resetFirst || this.#awaitingFinalReply.some((one) => one.transaction.chunked),
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
    const { mailMs, rcptMs, dataMs, finalDotMs } = this.#timeouts;
    const timeoutMs = { mail: mailMs, rcpt: rcptMs, data: dataMs, body: finalDotMs }[stage];
    this.#channel.expectReply(stage, timeoutMs, sending);
    sending.transaction.transcript.add(nowMs, 'client', line);
    return `${line}\r\n`;
  }

  #onReply(sending: ActiveSend, received: ReceivedReply, nowMs: number): void {
    const { transaction } = sending;
    this.#chunking.onReply(nowMs);
    this.#receiverCloses = received.reply.code === 421;
    transaction.transcript.addAll(nowMs, 'server', received.lines);
    const step = transaction.handleReply(received);
    // The channel closes after a 421, and everything in flight fails then.
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
        this.#channel.close('protocol_error', `Unexpected reply: ${received.reply.code}`);
        break;
      default:
        unreachable(step);
    }
  }

  #sendNextCommand(sending: ActiveSend, nowMs: number): void {
    const command = sending.transaction.nextCommand();
    if (command) this.#channel.write(this.#recordCommand(sending, command, nowMs));
  }

  /** Completes a call of `send`. */
  #complete(sending: ActiveSend): void {
    const { transaction, messageNumber, resolve } = sending;
    if (this.#awaitingData === sending) this.#awaitingData = undefined;
    else this.#awaitingFinalReply.splice(this.#awaitingFinalReply.indexOf(sending), 1);
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
   * Defers writing until all replies of this turn are handled, so that a `send` called in response
   * to a result goes into the same packet.
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
    this.#chunking.onLost(
      error.kind !== 'aborted' &&
        !this.#receiverCloses &&
        this.#awaitingFinalReply.some(({ transaction }) => transaction.chunked),
    );
    for (const sending of [...this.#awaitingFinalReply, this.#awaitingData]) {
      if (!sending) continue;
      sending.transaction.fail(error, this.#receiverCloses);
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
    // A queued message was never tried when the connection closed.
    const failure = { ...error, staleConnection: !this.usable && this.#messagesSent > 0 };
    return {
      recipients: recipients.map((recipient) => ({ recipient, accepted: false, failure })),
      transcript: transcript.finish(),
      session: this.session,
      messageNumber: this.#messagesSent + 1,
    };
  }
}

export interface SmtpConnectionParts {
  channel: CommandChannel;
  clock: Clock;
  timeouts: SmtpTimeouts;
  capabilities: SmtpCapabilities;
  session: SmtpSessionInfo;
  /**
   * The transcript of opening the session, which becomes the start of the first message's
   * transcript.
   */
  openingTranscript: TranscriptRecorder;
  localAddress?: string | undefined;
}

interface QueuedSend {
  message: SendableMessage;
  resolve: (result: SmtpSendResult) => void;
}

/** A call of `send` that is in progress. */
interface ActiveSend {
  transaction: SmtpTransaction;
  messageNumber: number;
  resolve: (result: SmtpSendResult) => void;
  onReply: ReplyHandler['onReply'];
}

/** One message waiting for its reply and the next envelope behind it; more would not help. */
const PIPELINING_DEPTH = 2;
/** Messages up to this size are copied into one write; larger ones are written in blocks. */
const ONE_WRITE_BYTES_MAX = 128 * 1024;
const NO_BODY = { blocks: [], blocksBytes: 0 };
