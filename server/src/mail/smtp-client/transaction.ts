import type { ReceivedReply, SmtpReply } from './reply-parser.ts';
import type { SendableMessage } from './smtp-message.ts';
import {
  type SmtpError,
  type SmtpFailure,
  type SmtpRecipientResult,
  type SmtpStage,
  smtpError,
  smtpRejection,
} from './smtp-results.ts';
import type { TranscriptRecorder } from './transcript.ts';

/** What the connection must do after a reply. */
export type NextStep =
  /** Send the next command, unless it was already sent. */
  | 'go_on'
  /** DATA was accepted: send the message. */
  | 'send_body'
  /**
   * RFC 2920 section 3.1: DATA was accepted although every recipient was rejected; send only the
   * final dot.
   */
  | 'send_lone_dot'
  /** Every recipient has a result. */
  | 'over'
  /** The receiver violated the protocol; the connection must be closed. */
  | 'broken';

export interface SmtpCommand {
  line: string;
  /** `body` is BDAT, which the message follows at once. */
  stage: 'mail' | 'rcpt' | 'data' | 'body';
}

/**
 * One mail transaction: its commands in order, and what their replies mean for each recipient. It
 * does no I/O; the connection sends the commands, as far ahead as pipelining allows, and passes the
 * replies on in order.
 */
export class SmtpTransaction {
  readonly message: SendableMessage;
  readonly transcript: TranscriptRecorder;
  /** True once the final dot, or the message after BDAT, was passed to the socket. */
  finalDotSent = false;

  readonly #context: TransactionContext;
  readonly #commands: readonly SmtpCommand[];
  #sent = 0;
  #answered = 0;
  #mailAccepted = false;
  #mailFailure: SmtpFailure | undefined;
  /** In the order of the recipients; undefined for one that has not failed. */
  readonly #failures: (SmtpFailure | undefined)[] = [];
  #recipientsAnswered = 0;
  #recipientsAccepted = 0;
  #finalReply: SmtpReply | undefined;

  constructor(
    message: SendableMessage,
    transcript: TranscriptRecorder,
    circumstances: TransactionContext,
  ) {
    this.message = message;
    this.transcript = transcript;
    this.#context = circumstances;
    const commands: SmtpCommand[] = circumstances.resetFirst ? [RSET] : [];
    commands.push({ line: message.mailCommand, stage: 'mail' });
    for (const line of message.recipientCommands) commands.push({ line, stage: 'rcpt' });
    commands.push(circumstances.chunked ? bdatOf(message) : DATA);
    this.#commands = commands;
  }

  /** The message follows its commands at once. */
  get chunked(): boolean {
    return this.#context.chunked;
  }

  /** The next command to send; undefined after the last. */
  nextCommand(): SmtpCommand | undefined {
    return this.#commands[this.#sent++];
  }

  /**
   * Whether the receiver may still have an open transaction. A final dot always ends it, but a rejected
   * BDAT leaves it in an indeterminate state (RFC 3030 section 2).
   */
  get needsReset(): boolean {
    return this.#context.chunked ? !this.#finalReply : this.#mailAccepted && !this.finalDotSent;
  }

  /** Handles the reply to the oldest unanswered command, or to the message. */
  handleReply({ reply }: ReceivedReply): NextStep {
    const command = this.#commands[this.#answered];
    if (command === RSET) {
      this.#answered += 1;
      // RSET is never rejected: the reply is to something else, such as a line of an earlier message
      // in a chunk that the receiver has rejected and then read as commands.
      return reply.code < 300 ? 'go_on' : 'broken';
    }
    const next = command ? this.#onCommandReply(command.stage, reply) : this.#onFinalReply(reply);
    // A receiver that closes has rejected all recipients without a reply.
    if (reply.code === 421) this.#failRemaining(this.#rejection(command?.stage ?? 'body', reply));
    this.#answered += 1;
    return next;
  }

  /**
   * The connection failed: every recipient without a result of its own fails with this error. `unread`
   * says that the receiver did not read what was sent.
   */
  fail(error: SmtpError, unread: boolean): void {
    if (this.#finalReply) return;
    const stage: SmtpStage = this.#commands[this.#answered]?.stage ?? 'body';
    this.#failRemaining(
      smtpError(error.kind, stage, error.detail, {
        afterFinalDot: this.finalDotSent && !unread,
        staleConnection: this.#isStale(),
      }),
    );
  }

  results(): SmtpRecipientResult[] {
    return this.message.recipients.map((recipient, index) => {
      const failure = this.#mailFailure ?? this.#failures[index];
      if (failure) return { recipient, accepted: false, failure };
      return { recipient, accepted: true, reply: this.#finalReply as SmtpReply };
    });
  }

  #onCommandReply(stage: SmtpCommand['stage'], reply: SmtpReply): NextStep {
    if (stage === 'data') return this.#onData(reply);
    if (stage === 'body') return this.#onFinalReply(reply);
    if (reply.code >= 300 && reply.code < 400) return 'broken';
    return stage === 'mail' ? this.#onMail(reply) : this.#onRcpt(reply);
  }

  #onMail(reply: SmtpReply): NextStep {
    if (reply.code < 400) {
      this.#mailAccepted = true;
      return 'go_on';
    }
    this.#mailFailure = this.#rejection('mail', reply);
    return this.#context.pipelined ? 'go_on' : 'over';
  }

  #onRcpt(reply: SmtpReply): NextStep {
    const index = this.#recipientsAnswered++;
    if (reply.code < 400) this.#recipientsAccepted += 1;
    else this.#failures[index] = this.#rejection('rcpt', reply);
    const allRejected =
      this.#recipientsAnswered === this.message.recipients.length && this.#recipientsAccepted === 0;
    return allRejected && !this.#context.pipelined ? 'over' : 'go_on';
  }

  #onData(reply: SmtpReply): NextStep {
    if (reply.code === 354) {
      if (this.#recipientsAccepted === 0) return 'send_lone_dot';
      // MAIL was rejected but recipients were accepted: even a lone dot could deliver something to
      // them.
      return this.#mailAccepted ? 'send_body' : 'broken';
    }
    if (reply.code < 400) return 'broken';
    this.#failRemaining(this.#rejection('data', reply));
    return 'over';
  }

  #onFinalReply(reply: SmtpReply): NextStep {
    const { chunked } = this.#context;
    const isUnknown = chunked && this.#recipientsAccepted > 0 && UNKNOWN_COMMAND.has(reply.code);
    if (isUnknown) return 'broken';
    if (reply.code >= 400) {
      this.#failRemaining(this.#rejection('body', reply));
      // Rejected while we are still writing: the rest would be read as commands.
      return this.finalDotSent ? 'over' : 'broken';
    }
    if (reply.code >= 300 || !this.finalDotSent) return 'broken';
    this.#finalReply = reply;
    // BDAT was accepted although MAIL was rejected: whatever it delivered, and to whom, is unknown.
    return chunked && !this.#mailAccepted ? 'broken' : 'over';
  }

  #rejection(stage: SmtpStage, reply: SmtpReply): SmtpFailure {
    return smtpRejection(stage, reply, reply.code === 421 && this.#isStale());
  }

  /** On a reused connection, before any reply about this message. */
  #isStale(): boolean {
    const { reused, resetFirst } = this.#context;
    return reused && this.#answered <= (resetFirst ? 1 : 0);
  }

  #failRemaining(failure: SmtpFailure): void {
    for (let index = 0; index < this.message.recipients.length; index++) {
      this.#failures[index] ??= failure;
    }
  }
}

export interface TransactionContext {
  /** All commands are sent at once, so each gets a reply regardless of the others. */
  pipelined: boolean;
  /** The message follows the commands at once (RFC 3030); only if `pipelined`. */
  chunked: boolean;
  /** An earlier transaction was left open. */
  resetFirst: boolean;
  /** The connection has carried other messages before. */
  reused: boolean;
}

const RSET: SmtpCommand = { line: 'RSET', stage: 'mail' };
const DATA: SmtpCommand = { line: 'DATA', stage: 'data' };

/** To BDAT, from a receiver that offers it and does not know it: it reads the message as commands. */
const UNKNOWN_COMMAND = new Set([500, 502, 503, 504]);

function bdatOf({ body }: SendableMessage): SmtpCommand {
  return { line: `BDAT ${body.blocksBytes} LAST`, stage: 'body' };
}
