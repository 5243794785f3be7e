import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { clientNetwork } from '../lib/net/client-network.ts';
import { eventLoopTurns } from '../lib/scheduling/turns.ts';
import type { Clock, Timer } from '../lib/time/clock.ts';
import type { ClientOrigin } from './client-origin.ts';
import type { SmtpReplyError } from './error-replies.ts';
import { MessageData } from './message-data.ts';
import {
  decodeLine,
  isHttpRequest,
  type PathArgument,
  parseCommand,
  parsePath,
  refusedParameter,
} from './smtp-command.ts';
import { SmtpConnection } from './smtp-connection.ts';

/**
 * One client connection: the server side of SMTP (RFC 5321) with PIPELINING, 8BITMIME, SMTPUTF8,
 * SIZE, ENHANCEDSTATUSCODES and STARTTLS. Commands are read and answered one at a time. Every
 * session has a maximum duration, and it is closed only between messages, never inside one.
 * Subclasses decide which senders, recipients and messages are accepted.
 */

export interface SessionRules {
  clock: Clock;
  timeouts: SessionTimeouts;
  /** The host name in the greeting. */
  hostname: string;
  messageBytesMax: number;
  recipientsMax: number;
  /** The TLS context with the current certificate; undefined without a certificate. */
  secureContext: (() => SecureContext) | undefined;
  /** Returns the reason to refuse the connection, or undefined. */
  onReady(session: SmtpSession): string | undefined;
  /** Called once for every session. */
  onClosed(session: SmtpSession): void;
  /** Logs an unexpected error and returns the reply to it. */
  replyForError(error: unknown, session: SmtpSession): SmtpReplyError;
  /** Called when a message is no longer in progress; `reply` is the reply to its final dot. */
  onMessage(reply: MessageReply | undefined): void;
}

export interface MessageReply {
  code: number;
  /** Since the final dot. */
  elapsedMs: number;
}

export interface SessionTimeouts {
  /** Time for the TLS handshake. */
  handshakeMs: number;
  /** Time without a byte from the client (RFC 5321 section 4.5.3.2.7). */
  idleMs: number;
  /** For one message, from 354 to the final dot. */
  dataMs: number;
  /** For the whole session. */
  sessionMs: number;
}

interface Envelope {
  from: string;
  /** By lower-case address. A repeated recipient replaces the earlier one. */
  recipients: Map<string, string>;
}

/** A client that does nothing else is not a mail client. */
const UNRECOGNIZED_MAX = 10;
const UNAUTHENTICATED_MAX = 10;

export abstract class SmtpSession {
  readonly id = randomUUID();
  readonly remoteAddress: string;
  readonly #rules: SessionRules;
  readonly #connection: SmtpConnection;
  /** What the client sent in EHLO or HELO; undefined before. */
  #hello: { verb: string; name: string } | undefined;
  #envelope: Envelope | undefined;
  #processing = false;
  #disconnectReply: string | undefined;
  #unrecognizedCommands = 0;
  #unauthenticatedCommands = 0;

  constructor(socket: Socket, rules: SessionRules, { ip, encrypted }: ClientOrigin) {
    this.#rules = rules;
    this.remoteAddress = ipaddr.isValid(ip) ? ipaddr.process(ip).toString() : ip;
    this.#connection = new SmtpConnection(socket, {
      clock: rules.clock,
      idleMs: rules.timeouts.idleMs,
      encrypted,
      onClosed: () => rules.onClosed(this),
    });
  }

  /** Whether a message is in progress; it is completed before the session is closed. */
  get isProcessing(): boolean {
    return this.#processing;
  }

  get isEncrypted(): boolean {
    return this.#connection.isEncrypted;
  }

  start(): void {
    const refusal = this.#rules.onReady(this);
    if (refusal !== undefined) {
      this.#connection.closeWith(refusal);
      return;
    }
    const { timeouts, hostname } = this.#rules;
    this.schedule(timeouts.sessionMs, () =>
      this.disconnect('4.4.2 Maximum session duration reached.'),
    );
    this.onAdmitted();
    this.#connection.startReading();
    this.reply(220, `${hostname} ESMTP Postrider`);
    void this.#serve();
  }

  /** How the client has introduced itself. */
  protected get helloName(): string {
    return this.#hello?.name ?? '';
  }

  /** For the trace field of a mail (RFC 3848). */
  protected get protocolName(): 'SMTP' | 'ESMTP' | 'ESMTPS' {
    if (this.isEncrypted) return 'ESMTPS';
    return this.#hello?.verb === 'EHLO' ? 'ESMTP' : 'SMTP';
  }

  /** Sends 421 and closes, now or after the message in progress. */
  disconnect(text: string): void {
    if (this.#processing) this.#disconnectReply = text;
    else this.#connection.closeWith(text);
  }

  /** Closes without a reply. */
  destroySocket(): void {
    this.#connection.destroy();
  }

  /** Called before the greeting of a session that was not refused. */
  protected onAdmitted(): void {}

  /** Extensions besides those that every session has, for the reply to EHLO. */
  protected extensions(): string[] {
    return [];
  }

  /** Handles a command that is not part of every session; false when there is no such command. */
  protected async handleExtension(_verb: string, _argument: string): Promise<boolean> {
    return false;
  }

  /** The reply to a client that must authenticate first; undefined when it may send. */
  protected authenticationRequired(): string | undefined {
    return undefined;
  }

  /** Clients with the same key share the turns in which large messages are received. */
  protected get turnKey(): string {
    return clientNetwork(this.remoteAddress);
  }

  /** Called when TLS starts: what the client said before could have been said by anyone. */
  protected forgetClient(): void {}

  /** MAIL. Rejecting refuses the message. */
  protected abstract acceptSender(from: string): Promise<void>;

  /** RCPT. Rejecting refuses the recipient. */
  protected abstract acceptRecipient(address: string): Promise<void>;

  /** Called after the reply that refused a recipient. */
  protected recipientRefused(_error: unknown): void {}

  /** The message. Resolves with the text after 250; rejecting refuses the message. */
  protected abstract acceptMessage(
    data: MessageData,
    from: string,
    recipients: readonly string[],
  ): Promise<string>;

  /** The text starts with an enhanced status code (RFC 3463), except in 220, 334 and 354. */
  protected reply(code: number, ...lines: string[]): void {
    this.#connection.reply(code, ...lines);
  }

  /** The client's answer to a 334; undefined when the connection has ended. */
  protected async readResponse(): Promise<string | undefined> {
    const line = await this.#connection.input.readLine();
    return line === undefined || line === 'too_long' ? undefined : line.toString('latin1').trim();
  }

  /** Runs a task after a delay, unless the connection closes first. */
  protected schedule(delayMs: number, task: () => void): Timer {
    return this.#connection.schedule(delayMs, task);
  }

  async #serve(): Promise<void> {
    try {
      while (this.#connection.isOpen) {
        const line = await this.#connection.input.readLine();
        // Every command that was sent before the client closed its side has been answered by now.
        if (line === undefined) return this.#connection.close();
        if (line === 'too_long')
          return this.#connection.closeWith('5.5.2 The command line is too long.');
        await this.#handleLine(line);
        await this.#connection.input.untilFlushed();
      }
    } catch (error) {
      this.#rules.replyForError(error, this);
      this.#connection.closeWith('4.3.0 Internal error.');
    }
  }

  async #handleLine(bytes: Buffer): Promise<void> {
    const line = decodeLine(bytes);
    if (line === undefined) {
      // The verb is ASCII, so it is known even then.
      const { verb } = parseCommand(bytes.toString('latin1'));
      const status = verb === 'RCPT' ? '5.1.3' : verb === 'MAIL' ? '5.1.7' : '5.5.2';
      return this.reply(501, `${status} The command is not valid UTF-8.`);
    }
    if (isHttpRequest(line)) return this.#connection.closeWith('5.5.2 This is not a web server.');
    const { verb, argument } = parseCommand(line);
    const required = this.authenticationRequired();
    if (required !== undefined && verb !== 'AUTH') {
      this.#unauthenticatedCommands += 1;
      if (this.#unauthenticatedCommands >= UNAUTHENTICATED_MAX) {
        return this.#connection.closeWith('4.7.0 Too many commands without authentication.');
      }
    }
    if (TRANSACTION.has(verb) || verb === 'AUTH') {
      if (!this.#hello) return this.reply(503, '5.5.1 Send EHLO first.');
      if (TRANSACTION.has(verb) && required !== undefined) return this.reply(530, required);
    }
    await this.#handleCommand(verb, argument);
  }

  async #handleCommand(verb: string, argument: string): Promise<void> {
    switch (verb) {
      case 'EHLO':
      case 'HELO':
        return this.#handleHello(verb, argument);
      case 'MAIL':
        return this.#handleMail(argument);
      case 'RCPT':
        return this.#handleRecipient(argument);
      case 'DATA':
        return this.#handleData(argument);
      case 'RSET':
        this.#envelope = undefined;
        return this.reply(250, '2.0.0 Flushed');
      case 'NOOP':
        return this.reply(250, '2.0.0 OK');
      case 'HELP':
        return this.reply(214, '2.0.0 See https://www.rfc-editor.org/rfc/rfc5321');
      case 'VRFY':
        return this.reply(252, '2.1.5 Addresses are checked when mail is sent.');
      case 'EXPN':
        return this.reply(502, '5.5.1 EXPN is not supported.');
      case 'QUIT':
        this.reply(221, '2.0.0 Bye');
        return this.#connection.close();
      case 'STARTTLS':
        if (this.#rules.secureContext) return this.#startTls(argument, this.#rules.secureContext());
    }
    if (!(await this.handleExtension(verb, argument))) this.#countUnrecognized();
  }

  #countUnrecognized(): void {
    this.#unrecognizedCommands += 1;
    if (this.#unrecognizedCommands < UNRECOGNIZED_MAX) this.reply(500, '5.5.2 Unknown command.');
    else this.#connection.closeWith('4.7.0 Too many unknown commands.');
  }

  #handleHello(verb: string, name: string): void {
    if (!CLIENT_NAME.test(name)) {
      this.reply(501, `5.5.4 Syntax: ${verb} hostname`);
      return;
    }
    this.#hello = { verb, name };
    this.#envelope = undefined;
    const { hostname, secureContext, messageBytesMax } = this.#rules;
    const extensions = [
      ...['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES'],
      ...this.extensions(),
      ...(secureContext && !this.isEncrypted ? ['STARTTLS'] : []),
      `SIZE ${messageBytesMax}`,
    ];
    this.reply(250, hostname, ...(verb === 'EHLO' ? extensions : []));
  }

  async #handleMail(argument: string): Promise<void> {
    const path = this.#parsePath('FROM', argument);
    if (!path) return;
    if (this.#envelope) return this.reply(503, '5.5.1 A message is already in progress.');
    const { address: from, parameters } = path;
    if (this.#refuseParameters('MAIL', path)) return;
    const { messageBytesMax } = this.#rules;
    if (Number(parameters.get('SIZE')) > messageBytesMax) {
      return this.reply(552, `5.3.4 A message can have at most ${messageBytesMax} bytes.`);
    }
    try {
      await this.acceptSender(from);
      this.#envelope = { from, recipients: new Map() };
      this.reply(250, '2.1.0 Accepted');
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #handleRecipient(argument: string): Promise<void> {
    const path = this.#parsePath('TO', argument);
    if (!path) return;
    const envelope = this.#envelope;
    if (!envelope) return this.reply(503, '5.5.1 Send MAIL first.');
    if (this.#refuseParameters('RCPT', path)) return;
    const { address } = path;
    const key = address.toLowerCase();
    const { recipients } = envelope;
    if (recipients.size >= this.#rules.recipientsMax && !recipients.has(key)) {
      return this.reply(452, '4.5.3 Too many recipients.');
    }
    try {
      await this.acceptRecipient(address);
      recipients.set(key, address);
      this.reply(250, '2.1.5 Accepted');
    } catch (error) {
      this.#refuse(error);
      this.recipientRefused(error);
    }
  }

  #parsePath(keyword: 'FROM' | 'TO', argument: string): PathArgument | undefined {
    const parsed = parsePath(keyword, argument);
    if (parsed.ok && (keyword === 'FROM' || parsed.path.address !== '')) return parsed.path;
    if (!parsed.ok && parsed.reason === 'parameters') {
      this.reply(501, '5.5.4 Malformed or repeated parameter.');
    } else if (keyword === 'FROM') {
      this.reply(501, '5.1.7 Syntax: MAIL FROM:<address>');
    } else {
      this.reply(501, '5.1.3 Syntax: RCPT TO:<address>');
    }
    return undefined;
  }

  /** RFC 5321 section 4.1.1.11. */
  #refuseParameters(command: 'MAIL' | 'RCPT', { parameters }: PathArgument): boolean {
    const refused = refusedParameter(command, parameters);
    if (!refused) return false;
    if (refused.reason === 'invalid') this.reply(501, `5.5.4 Invalid parameter ${refused.name}.`);
    else this.reply(555, `5.5.4 The parameter ${refused.name} is not supported.`);
    return true;
  }

  async #handleData(argument: string): Promise<void> {
    if (argument !== '') return this.reply(501, '5.5.4 Syntax: DATA');
    const envelope = this.#envelope;
    if (!envelope || envelope.recipients.size === 0) {
      return this.reply(503, '5.5.1 Send RCPT first.');
    }
    this.#processing = true;
    this.reply(354, 'End data with <CR><LF>.<CR><LF>');
    const reply = await this.#receiveMessage(envelope);
    this.#processing = false;
    this.#envelope = undefined;
    this.#unrecognizedCommands = 0;
    if (this.#disconnectReply !== undefined) this.#connection.closeWith(this.#disconnectReply);
    this.#rules.onMessage(reply);
  }

  /** Returns the reply to the final dot; undefined when the client left before. */
  async #receiveMessage({ from, recipients }: Envelope): Promise<MessageReply | undefined> {
    const { clock, timeouts, messageBytesMax } = this.#rules;
    const timer = this.schedule(timeouts.dataMs, () => {
      this.reply(421, '4.4.2 Timed out while receiving the message.');
      this.destroySocket();
    });
    let receivedAtMs = clock.now();
    const data = new MessageData(this.#connection.input, {
      bytesMax: messageBytesMax,
      nextTurn: () => eventLoopTurns.next(this.turnKey),
      onEnd: () => {
        receivedAtMs = clock.now();
        timer.cancel();
      },
    });
    let code = 250;
    let text: string;
    try {
      text = await this.acceptMessage(data, from, [...recipients.values()]);
    } catch (error) {
      const refusal = this.#rules.replyForError(error, this);
      code = refusal.responseCode;
      text = refusal.message;
    }
    try {
      await data.discard();
    } catch {
      timer.cancel();
      this.#connection.close();
      return undefined;
    }
    this.reply(code, text);
    return { code, elapsedMs: clock.now() - receivedAtMs };
  }

  #refuse(error: unknown): void {
    const { responseCode, message } = this.#rules.replyForError(error, this);
    this.reply(responseCode, message);
  }

  async #startTls(argument: string, secureContext: SecureContext): Promise<void> {
    if (argument !== '') return this.reply(501, '5.5.4 Syntax: STARTTLS');
    if (this.isEncrypted) return this.reply(503, '5.5.1 TLS is already active.');
    const { handshakeMs } = this.#rules.timeouts;
    if (!(await this.#connection.startTls(secureContext, handshakeMs))) return;
    this.#hello = undefined;
    this.#envelope = undefined;
    this.forgetClient();
  }
}

const TRANSACTION = new Set(['MAIL', 'RCPT', 'DATA']);

/** Real clients send bare IP addresses and machine names, so only the length is limited. */
const CLIENT_NAME = /^[^\s\p{Cc}]{1,300}$/u;
