import type { Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import { isLoopback } from '../../lib/net/client-network.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { NO_CAPABILITIES, parseCapabilities, type SmtpCapabilities } from './capabilities.ts';
import { CommandChannel } from './command-channel.ts';
import type { ReceivedReply } from './reply-parser.ts';
import { authenticateSmtp, type SmtpCredentials } from './smtp-auth.ts';
import { SmtpConnection } from './smtp-connection.ts';
import {
  type SmtpFailure,
  type SmtpSessionInfo,
  type SmtpStage,
  smtpError,
  smtpRejection,
} from './smtp-results.ts';
import { startTls, type TlsPolicy } from './start-tls.ts';
import { connectTcp, type SocketWait } from './tcp-connect.ts';
import { RFC_TIMEOUTS, type SmtpTimeouts } from './timeouts.ts';
import { type SmtpTranscript, TranscriptRecorder } from './transcript.ts';

/**
 * The SMTP client: pure protocol, without database or DNS. Takes an address and a TLS policy;
 * returns a session that is greeted, encrypted as the policy requires and authenticated, or the
 * error that prevented it. Nothing is ever sent in plaintext when the policy forbids it. Errors are
 * values, never exceptions.
 */
export async function openSmtp(
  target: SmtpTarget,
  options: SmtpOpenOptions,
): Promise<SmtpOpenResult> {
  const setup = new ConnectionSetup(target, options);
  const failure =
    (await setup.connect()) ??
    (await setup.startImplicitTls()) ??
    (await setup.readGreeting()) ??
    (await setup.sendEhlo()) ??
    (await setup.upgradeWithStartTls()) ??
    (await setup.authenticate());
  return setup.finish(failure);
}

export interface SmtpTarget {
  /** The MX or relay host name, for TLS and for display. */
  host: string;
  ip: string;
  port: number;
  tls: TlsPolicy;
  /** TLS from the first byte (port 465); `none` and `opportunistic` then mean `required`. */
  implicitTls?: boolean;
  auth?: SmtpCredentials;
  /** The local address to connect from. */
  localAddress?: string;
}

export interface SmtpOpenOptions {
  heloName: string;
  clock: Clock;
  timeouts?: Partial<SmtpTimeouts>;
  /** Aborts opening; an open connection is closed with `destroy`. */
  signal?: AbortSignal;
}

export type SmtpOpenResult =
  | { ok: true; connection: SmtpConnection }
  | { ok: false; failure: SmtpFailure; transcript: SmtpTranscript; session: SmtpSessionInfo };

/** The steps of opening a connection. Each resolves with undefined when the next may follow. */
class ConnectionSetup {
  readonly #target: SmtpTarget;
  readonly #options: SmtpOpenOptions;
  readonly #timeouts: SmtpTimeouts;
  readonly #transcript: TranscriptRecorder;
  readonly #session: SmtpSessionInfo;
  #socket: Socket | undefined;
  #channel: CommandChannel | undefined;
  #capabilities: SmtpCapabilities = NO_CAPABILITIES;

  constructor(target: SmtpTarget, options: SmtpOpenOptions) {
    const { host, ip, port } = target;
    this.#target = target;
    this.#options = options;
    this.#timeouts = { ...RFC_TIMEOUTS, ...options.timeouts };
    this.#transcript = new TranscriptRecorder(options.clock.now());
    this.#session = { host, ip, port, tls: null, receiverName: '' };
  }

  async connect(): Promise<SmtpFailure | undefined> {
    const { host, ip, port, localAddress } = this.#target;
    const from = localAddress === undefined ? '' : ` from ${localAddress}`;
    this.#note(`(connecting to ${host} [${ip}]:${port}${from})`);
    const socket = await connectTcp(this.#target, this.#socketWait(this.#timeouts.connectMs));
    if ('kind' in socket) return smtpError(socket.kind, 'connect', socket.detail);
    this.#socket = socket;
    return undefined;
  }

  async startImplicitTls(): Promise<SmtpFailure | undefined> {
    return this.#target.implicitTls ? this.#handshake('connect') : undefined;
  }

  async readGreeting(): Promise<SmtpFailure | undefined> {
    const { clock, signal } = this.#options;
    this.#channel = new CommandChannel(this.#socket as Socket, clock);
    const channel = this.#channel;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (signal?.aborted) this.#onAbort();
    const greeting = this.#recordReply(
      await channel.command(null, 'greeting', this.#timeouts.greetingMs),
    );
    if ('kind' in greeting) return greeting;
    this.#session.receiverName = receiverName(greeting);
    return requireSuccess('greeting', greeting);
  }

  async sendEhlo(): Promise<SmtpFailure | undefined> {
    const { heloName } = this.#options;
    const ehlo = await this.#sendCommand(`EHLO ${heloName}`, 'ehlo', this.#timeouts.ehloMs);
    if ('kind' in ehlo) return ehlo;
    if (ehlo.reply.code < 300) {
      this.#capabilities = parseCapabilities(ehlo.lines);
      this.#session.receiverName = receiverName(ehlo) || this.#session.receiverName;
      return undefined;
    }
    if (ehlo.reply.code < 500) return requireSuccess('ehlo', ehlo);
    // RFC 5321 section 3.2: a receiver that rejects EHLO may only support HELO.
    const helo = await this.#sendCommand(`HELO ${heloName}`, 'ehlo', this.#timeouts.ehloMs);
    if ('kind' in helo) return helo;
    this.#capabilities = NO_CAPABILITIES;
    return requireSuccess('ehlo', helo);
  }

  async upgradeWithStartTls(): Promise<SmtpFailure | undefined> {
    const { tls } = this.#target;
    if (this.#session.tls || tls.kind === 'none') return undefined;
    const optional = tls.kind === 'opportunistic';
    if (!this.#capabilities.startTls) {
      if (optional) return undefined;
      return smtpError('tls_not_offered', 'starttls', 'The receiver does not offer STARTTLS.');
    }
    const answer = await this.#sendCommand('STARTTLS', 'starttls', this.#timeouts.startTlsMs);
    if ('kind' in answer) return answer;
    if (answer.reply.code !== 220) {
      // An explicit refusal: under an opportunistic policy the session continues in plaintext.
      const refused = answer.reply.code >= 400 && answer.reply.code !== 421;
      return optional && refused ? undefined : requireSuccess('starttls', answer, 220);
    }
    const socket = (this.#channel as CommandChannel).detach();
    if ('kind' in socket) return { ...socket, stage: 'starttls' };
    this.#socket = socket;
    // RFC 3207 section 4.2: everything learned before TLS is discarded, including the extensions.
    return (await this.#handshake('starttls')) ?? (await this.#repeatEhlo());
  }

  async authenticate(): Promise<SmtpFailure | undefined> {
    const { auth, ip } = this.#target;
    if (!auth) return undefined;
    if (!this.#session.tls && !isLoopback(ip)) {
      return smtpError('auth_needs_tls', 'auth', 'Credentials are never sent without TLS.');
    }
    return authenticateSmtp(
      (prefix, secret) => this.#sendSecret(prefix, secret),
      this.#capabilities.auth,
      auth,
    );
  }

  finish(failure: SmtpFailure | undefined): SmtpOpenResult {
    const channel = this.#channel;
    const reason = failure ?? channel?.error;
    if (reason || !channel) {
      assert(reason, 'opening without a channel must have failed');
      if ('detail' in reason) this.#note(`(${reason.detail})`);
      if (channel?.open) this.#quit(channel);
      else this.#close();
      const transcript = this.#transcript.finish();
      return { ok: false, failure: reason, transcript, session: this.#session };
    }
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    const connection = new SmtpConnection({
      channel,
      clock: this.#options.clock,
      timeouts: this.#timeouts,
      capabilities: this.#capabilities,
      session: this.#session,
      openingTranscript: this.#transcript,
      localAddress: this.#target.localAddress,
    });
    return { ok: true, connection };
  }

  /**
   * RFC 5321 section 4.1.1.10: a client must not close the connection without QUIT, even when the
   * greeting was a rejection. Nothing waits for the reply.
   */
  #quit(channel: CommandChannel): void {
    this.#transcript.add(this.#options.clock.now(), 'client', 'QUIT');
    void channel.command('QUIT', 'mail', this.#timeouts.quitMs).then(() => this.#close());
  }

  #close(): void {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#channel?.close('aborted', 'We closed the connection.');
    this.#socket?.destroy();
  }

  async #handshake(stage: SmtpStage): Promise<SmtpFailure | undefined> {
    const { host, tls } = this.#target;
    const wait = this.#socketWait(this.#timeouts.startTlsMs);
    const secured = await startTls(this.#socket as Socket, host, tls, wait);
    if (!secured.ok) {
      return smtpError(secured.kind, stage, secured.detail);
    }
    this.#socket = secured.socket;
    this.#session.tls = secured.info;
    const { version, cipher, verified } = secured.info;
    this.#note(
      `(${version}, ${cipher}, certificate ${verified === 'no' ? 'not checked' : verified})`,
    );
    return undefined;
  }

  async #repeatEhlo(): Promise<SmtpFailure | undefined> {
    this.#channel?.attach(this.#socket as Socket);
    return this.sendEhlo();
  }

  readonly #onAbort = (): void => {
    this.#channel?.close('aborted', 'The attempt was aborted.');
  };

  async #sendCommand(line: string, stage: SmtpStage, timeoutMs: number) {
    this.#transcript.add(this.#options.clock.now(), 'client', line);
    return this.#recordReply(
      await (this.#channel as CommandChannel).command(line, stage, timeoutMs),
    );
  }

  async #sendSecret(prefix: string, secret: string) {
    const shown = secret === '' ? prefix : `${prefix}***`;
    this.#transcript.add(this.#options.clock.now(), 'client', shown);
    const channel = this.#channel as CommandChannel;
    const answer = await channel.command(prefix + secret, 'auth', this.#timeouts.authMs);
    return this.#recordReply('kind' in answer ? answer : redactSecret(answer, secret));
  }

  #recordReply(answer: ReceivedReply | SmtpFailure): ReceivedReply | SmtpFailure {
    if ('lines' in answer) {
      this.#transcript.addAll(this.#options.clock.now(), 'server', answer.lines);
    }
    return answer;
  }

  #note(text: string): void {
    this.#transcript.add(this.#options.clock.now(), 'note', text);
  }

  #socketWait(timeoutMs: number): SocketWait {
    const { clock, signal } = this.#options;
    return { clock, timeoutMs, signal };
  }
}

function requireSuccess(stage: SmtpStage, { reply }: ReceivedReply, exactly?: number) {
  if (exactly === undefined ? reply.code < 300 : reply.code === exactly) return undefined;
  if (reply.code >= 400) return smtpRejection(stage, reply);
  return smtpError('protocol_error', stage, `Unexpected reply: ${reply.code}`);
}

/** The first word of the greeting or the EHLO reply is the receiver's name. */
function receiverName({ reply }: ReceivedReply): string {
  return (reply.text.split(' ', 1)[0] ?? '').toLowerCase();
}

/** Some relays quote the line that they reject. */
function redactSecret({ reply, lines }: ReceivedReply, secret: string): ReceivedReply {
  if (secret === '') return { reply, lines };
  return {
    reply: { ...reply, text: reply.text.replaceAll(secret, '***') },
    lines: lines.map((line) => line.replaceAll(secret, '***')),
  };
}
