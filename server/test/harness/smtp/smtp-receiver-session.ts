import type { Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';

/** Closes the connection immediately without a reply. */
export const HANG_UP = Symbol('hang up');
/** Never replies. */
export const SILENCE = Symbol('silence');

/**
 * A reply without its line end (`\n` separates lines), raw bytes as a Buffer, HANG_UP, SILENCE, or
 * undefined for the default reply. A promise delays it: tests delay replies with their own promises,
 * never by sleeping.
 */
export type ScriptedReply = PlainReply | Promise<PlainReply>;
export type PlainReply = string | Buffer | typeof HANG_UP | typeof SILENCE | undefined;

export interface ReceiverScript {
  host?: string;
  port?: number;
  /** EHLO keywords; STARTTLS is added if `tls` is given and not yet in use. */
  keywords?: readonly string[];
  /** Key and certificate for STARTTLS, or for implicit TLS with `implicitTls`. */
  tls?: SecureContextOptions;
  implicitTls?: boolean;
  /** Replies 220 to STARTTLS, then breaks the handshake like this. */
  brokenTls?: 'nonsense' | 'silence' | 'hang_up';
  /** Writes each reply byte by byte. */
  oneByteAtATime?: boolean;
  /** Awaited before each of these bytes, so that a test can slow the receiver down on its own clock. */
  beforeEachByte?: () => Promise<void>;
  onConnect?: (session: ReceiverSession) => ScriptedReply;
  onEhlo?: (name: string, session: ReceiverSession) => ScriptedReply;
  onHelo?: (name: string, session: ReceiverSession) => ScriptedReply;
  onStartTls?: (session: ReceiverSession) => ScriptedReply;
  onAuth?: (user: string, password: string, session: ReceiverSession) => ScriptedReply;
  onMail?: (from: string, session: ReceiverSession) => ScriptedReply;
  onRcpt?: (to: string, session: ReceiverSession) => ScriptedReply;
  onData?: (session: ReceiverSession) => ScriptedReply;
  /** Called while a message arrives, with the byte count so far; a reply interrupts it. */
  onDataBytes?: (bytes: number, session: ReceiverSession) => PlainReply;
  /** A reply before the message after BDAT is read, as of a server that does not know the command. */
  onBdat?: (session: ReceiverSession) => ScriptedReply;
  /** The reply to the final dot, or to BDAT. */
  onMessage?: (message: ReceivedMessage, session: ReceiverSession) => ScriptedReply;
  onRset?: (session: ReceiverSession) => ScriptedReply;
  onQuit?: (session: ReceiverSession) => ScriptedReply;
}

export interface ReceivedMessage {
  mailFrom: string;
  /** ESMTP parameters: `SIZE=…`, `BODY=8BITMIME`, `SMTPUTF8`. */
  mailParameters: readonly string[];
  /** Recipients with a 2xx reply. */
  recipients: readonly string[];
  /** The message without dot-stuffing. */
  raw: Buffer;
  /** Whether the reply to the final dot was 2xx. */
  accepted: boolean;
  tls: ReceiverTls | null;
  session: ReceiverSession;
}

export interface ReceiverTls {
  version: string;
  servername: string | null;
}

/** What a session needs to know of the receiver that it belongs to. */
interface SessionOwner {
  readonly script: ReceiverScript;
  readonly messages: ReceivedMessage[];
  readonly sessions: readonly ReceiverSession[];
  readonly violations: string[];
  notifyWatchers(): void;
}

/** What a receiver offers unless its script says otherwise. */
export const KEYWORDS = [
  'PIPELINING',
  'SIZE 26214400',
  '8BITMIME',
  'SMTPUTF8',
  'ENHANCEDSTATUSCODES',
];
/** RFC 2920 3.1: these may only be the last of a group of pipelined commands. */
const ENDS_GROUP = new Set(['EHLO', 'HELO', 'DATA', 'STARTTLS', 'AUTH', 'QUIT', 'VRFY', 'NOOP']);

/** One connection to the scripted receiver, which handles one command after another. */
export class ReceiverSession {
  readonly number: number;
  /** The client's address. */
  readonly from: string | undefined;
  readonly commands: string[] = [];
  heloName = '';
  tls: ReceiverTls | null = null;
  mailFrom: string | undefined;
  mailParameters: readonly string[] = [];
  recipients: string[] = [];
  /** Number of messages whose final dot was read on this connection. */
  messageCount = 0;
  closed = false;
  /** Replies to RCPT and DATA as scripted even outside a transaction. */
  lenient = false;
  stopped = false;

  readonly #receiver: SessionOwner;
  #socket: Socket;
  #unread: Buffer = Buffer.alloc(0);
  #wake: () => void = () => {};
  #silent = false;

  constructor(receiver: SessionOwner, socket: Socket) {
    this.#receiver = receiver;
    this.#socket = socket;
    this.number = receiver.sessions.length + 1;
    this.from = socket.remoteAddress;
    if (receiver.script.implicitTls) void this.#secure(receiver.script.tls as SecureContextOptions);
    else this.#listen();
    void this.#run();
  }

  /** Bytes that were received but not processed yet, because an earlier reply is delayed. */
  get unread(): string {
    return this.#unread.toString();
  }

  /** Sends raw bytes at any time. */
  send(bytes: string | Buffer): void {
    if (!this.closed) this.#socket.write(bytes);
  }

  /** Leaves everything from now on in the network buffers. */
  stopReading(): void {
    this.stopped = true;
    this.#socket.pause();
    this.#receiver.notifyWatchers();
  }

  hangUp(): void {
    this.closed = true;
    this.#socket.destroy();
    this.#wake();
  }

  get #script(): ReceiverScript {
    return this.#receiver.script;
  }

  async #run(): Promise<void> {
    await this.#reply(this.#script.onConnect?.(this), '220 mx.example.test ESMTP');
    for (;;) {
      const line = await this.#readLine();
      if (line === undefined) return;
      this.commands.push(line);
      this.#receiver.notifyWatchers();
      await this.#handle(line);
    }
  }

  async #handle(line: string): Promise<void> {
    const verb = (line.split(' ', 1)[0] ?? '').toUpperCase();
    const rest = line.slice(verb.length + 1);
    const script = this.#script;
    if (verb === 'EHLO' || verb === 'HELO') this.heloName = rest;
    if (verb === 'EHLO') await this.#reply(script.onEhlo?.(rest, this), this.#ehloReply(), verb);
    else if (verb === 'HELO') {
      await this.#reply(script.onHelo?.(rest, this), '250 mx.example.test', verb);
    } else if (verb === 'STARTTLS') await this.#handleStartTls();
    else if (verb === 'AUTH') await this.#handleAuth(rest);
    else if (verb === 'MAIL') await this.#handleMail(rest);
    else if (verb === 'RCPT') await this.#handleRcpt(rest);
    else if (verb === 'DATA') await this.#handleData();
    else if (verb === 'BDAT' && this.#offers('CHUNKING')) await this.#handleBdat(rest);
    else if (verb === 'RSET') {
      this.#resetTransaction();
      await this.#reply(script.onRset?.(this), '250 2.0.0 reset', verb);
    } else if (verb === 'QUIT') {
      await this.#reply(script.onQuit?.(this), '221 2.0.0 bye', verb);
      this.closed = true;
      this.#socket.end();
    } else await this.#reply(undefined, '500 5.5.2 unknown command', verb);
  }

  #ehloReply(): string {
    const { keywords = KEYWORDS, tls, brokenTls } = this.#script;
    const offered = ['mx.example.test', ...keywords];
    if ((tls || brokenTls) && !this.tls) offered.push('STARTTLS');
    return offered
      .map((keyword, index) => `250${index === offered.length - 1 ? ' ' : '-'}${keyword}`)
      .join('\n');
  }

  async #handleStartTls(): Promise<void> {
    const reply = await this.#reply(this.#script.onStartTls?.(this), '220 2.0.0 go', 'STARTTLS');
    if (!reply.startsWith('220')) return;
    if (this.#script.brokenTls) await this.#breakTls(this.#script.brokenTls);
    else if (this.#script.tls) await this.#secure(this.#script.tls);
  }

  async #breakTls(how: NonNullable<ReceiverScript['brokenTls']>): Promise<void> {
    if (this.#unread.length === 0) await this.#more();
    this.#unread = Buffer.alloc(0);
    this.#silent = true;
    if (how === 'nonsense') this.send('this is not TLS at all\r\n');
    if (how === 'hang_up') this.hangUp();
  }

  async #handleAuth(rest: string): Promise<void> {
    const [mechanism = '', initial] = rest.split(' ');
    let user = '';
    let password = '';
    if (mechanism.toUpperCase() === 'PLAIN') {
      [, user = '', password = ''] = decode(initial ?? (await this.#challenge(''))).split('\0');
    } else {
      user = decode(await this.#challenge('VXNlcm5hbWU6'));
      password = decode(await this.#challenge('UGFzc3dvcmQ6'));
    }
    await this.#reply(this.#script.onAuth?.(user, password, this), '235 2.7.0 welcome', 'AUTH');
  }

  async #challenge(text: string): Promise<string> {
    await this.#reply(undefined, `334 ${text}`);
    return (await this.#readLine()) ?? '';
  }

  async #handleMail(rest: string): Promise<void> {
    if (this.mailFrom !== undefined) {
      this.#violation('MAIL inside a transaction');
      await this.#reply('503 5.5.1 nested MAIL', '');
      return;
    }
    const [, from = '', parameters = ''] = /^FROM:<(.*?)>(?: (.*))?$/i.exec(rest) ?? [];
    const reply = await this.#reply(this.#script.onMail?.(from, this), '250 2.1.0 ok', 'MAIL');
    if (!reply.startsWith('2')) return;
    this.mailFrom = from;
    this.mailParameters = parameters === '' ? [] : parameters.split(' ');
  }

  async #handleRcpt(rest: string): Promise<void> {
    const [, to = ''] = /^TO:<(.*?)>/i.exec(rest) ?? [];
    const begun = this.mailFrom !== undefined || this.lenient;
    const usual = begun ? '250 2.1.5 ok' : '503 5.5.1 MAIL first';
    const scripted = begun ? this.#script.onRcpt?.(to, this) : undefined;
    const reply = await this.#reply(scripted, usual, 'RCPT');
    if (reply.startsWith('2')) this.recipients.push(to);
  }

  async #handleData(): Promise<void> {
    const usual = this.recipients.length > 0 ? '354 go ahead' : '554 5.5.1 no valid recipients';
    const reply = await this.#reply(this.#script.onData?.(this), usual, 'DATA');
    if (!reply.startsWith('354')) return;
    const stuffed = await this.#readMessage();
    if (!stuffed) return;
    const envelope = this.#envelope();
    this.#resetTransaction();
    await this.#receive({ ...envelope, raw: this.#unstuffed(stuffed) });
  }

  /** RFC 3030: the message is read whatever the reply, and a rejected one must be followed by RSET. */
  async #handleBdat(rest: string): Promise<void> {
    const [, octets = '', last] = /^(\d+)( LAST)?$/.exec(rest) ?? [];
    if (last === undefined) this.#violation(`BDAT ${rest}`);
    const reply = await this.#script.onBdat?.(this);
    if (reply !== undefined) {
      await this.#reply(reply, '');
      return;
    }
    while (this.#unread.length < Number(octets)) if (!(await this.#more())) return;
    const raw = Buffer.from(this.#unread.subarray(0, Number(octets)));
    this.#unread = this.#unread.subarray(Number(octets));
    if (this.recipients.length === 0) await this.#reply(undefined, '503 5.5.1 no valid recipients');
    else {
      this.#checkLines(raw.toString('latin1'));
      const isAccepted = await this.#receive({ ...this.#envelope(), raw });
      if (isAccepted) this.#resetTransaction();
    }
  }

  #envelope(): Pick<ReceivedMessage, 'mailFrom' | 'mailParameters' | 'recipients'> {
    const { mailFrom = '', mailParameters, recipients } = this;
    return { mailFrom, mailParameters, recipients };
  }

  /** Returns whether the message was accepted. */
  async #receive(
    received: Pick<ReceivedMessage, 'mailFrom' | 'mailParameters' | 'recipients' | 'raw'>,
  ): Promise<boolean> {
    const message = { ...received, accepted: false, tls: this.tls, session: this };
    this.messageCount += 1;
    this.#receiver.messages.push(message);
    this.#receiver.notifyWatchers();
    const final = await this.#reply(this.#script.onMessage?.(message, this), '250 2.0.0 queued');
    message.accepted = final.startsWith('2');
    this.#receiver.notifyWatchers();
    return message.accepted;
  }

  #resetTransaction(): void {
    this.mailFrom = undefined;
    this.mailParameters = [];
    this.recipients = [];
  }

  /** Sends the scripted reply or the default; returns what was sent. */
  async #reply(scripted: ScriptedReply, usual: string, verb?: string): Promise<string> {
    const answer: PlainReply = (await scripted) ?? usual;
    if (verb) this.#checkGroup(verb);
    if (answer === HANG_UP) this.hangUp();
    if (answer === SILENCE) this.#silent = true;
    if (this.closed || this.#silent || typeof answer === 'symbol') return '';
    const bytes = typeof answer === 'string' ? wire(answer) : answer;
    if (this.#script.oneByteAtATime) await this.#drip(bytes);
    else this.send(bytes);
    return bytes.toString();
  }

  async #drip(bytes: Buffer): Promise<void> {
    for (const byte of bytes) {
      await this.#script.beforeEachByte?.();
      this.send(Buffer.of(byte));
    }
  }

  /** Called before the reply is sent: unread bytes were sent without waiting for it. */
  #checkGroup(verb: string): void {
    if (this.#unread.length === 0) return;
    if (!this.#offers('PIPELINING')) this.#violation(`did not wait for the reply to ${verb}`);
    else if (ENDS_GROUP.has(verb)) this.#violation(`pipelined after ${verb}`);
  }

  #offers(keyword: string): boolean {
    return (this.#script.keywords ?? KEYWORDS).includes(keyword);
  }

  #violation(what: string): void {
    this.#receiver.violations.push(what);
  }

  #listen(): void {
    const socket = this.#socket;
    const onEnd = () => {
      this.closed = true;
      this.#wake();
      this.#receiver.notifyWatchers();
    };
    socket.on('data', (chunk: Buffer) => {
      this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
      this.#wake();
      this.#receiver.notifyWatchers();
    });
    socket.on('error', onEnd).on('close', onEnd);
  }

  #secure(options: SecureContextOptions): Promise<void> {
    const raw = this.#socket;
    raw.removeAllListeners('data').on('error', () => {});
    const secured = new TLSSocket(raw, {
      isServer: true,
      secureContext: createSecureContext(options),
    });
    this.#socket = secured;
    this.#listen();
    return new Promise((resolve) => {
      secured.once('secure', () => {
        const servername = (secured as TLSSocket & { servername?: string | false }).servername;
        this.tls = { version: secured.getProtocol() ?? '', servername: servername || null };
        resolve();
      });
      secured.once('close', () => resolve());
    });
  }

  async #readLine(): Promise<string | undefined> {
    for (;;) {
      const end = this.#unread.indexOf('\n');
      if (end !== -1 && !this.#silent) {
        const line = this.#unread.subarray(0, end + 1).toString();
        this.#unread = this.#unread.subarray(end + 1);
        if (!line.endsWith('\r\n')) this.#violation('command without CRLF');
        return line.trimEnd();
      }
      if (!(await this.#more())) return undefined;
    }
  }

  /** The bytes up to the final dot, still dot-stuffed; undefined if the connection ends first. */
  async #readMessage(): Promise<Buffer | undefined> {
    // Include the preceding line end, because a message may consist of the final dot only.
    const parts: Buffer[] = [Buffer.from('\r\n')];
    let tail = parts[0] as Buffer;
    let bytes = 0;
    for (;;) {
      const seen = Buffer.concat([tail, this.#unread]);
      const end = seen.indexOf('\r\n.\r\n');
      if (end !== -1) {
        const used = end + 5 - tail.length;
        parts.push(this.#unread.subarray(0, used));
        this.#unread = this.#unread.subarray(used);
        return Buffer.concat(parts).subarray(2, -3);
      }
      tail = seen.subarray(-4);
      if (this.#unread.length > 0) {
        parts.push(this.#unread);
        bytes += this.#unread.length;
        this.#unread = Buffer.alloc(0);
        const interruption = this.#script.onDataBytes?.(bytes, this);
        if (interruption !== undefined) await this.#reply(interruption, '');
      }
      if (!(await this.#more())) return undefined;
    }
  }

  #more(): Promise<boolean> {
    if (this.closed) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#wake = () => resolve(!this.closed || this.#unread.length > 0);
    return promise;
  }

  #unstuffed(stuffed: Buffer): Buffer {
    const text = stuffed.toString('latin1');
    this.#checkLines(text);
    return Buffer.from(text.replace(/(^|\n)\./g, '$1'), 'latin1');
  }

  #checkLines(text: string): void {
    if (/\r(?!\n)|(?<!\r)\n/.test(text)) this.#violation('bare CR or LF in a message');
    // Not a pattern of 999 characters, which would be tried at every character of large messages.
    if (text.split(/[\r\n]/).some((line) => line.length > 998)) {
      this.#violation('line over 998 bytes');
    }
  }
}

function wire(reply: string): Buffer {
  return Buffer.from(`${reply.replaceAll('\n', '\r\n')}\r\n`);
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}
