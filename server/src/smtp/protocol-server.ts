import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { ClientOrigin } from './client-origin.ts';
import type { SmtpSession } from './smtp-session.ts';
import type { Certificate } from './tls-certificate.ts';

export type NewSession = (server: SMTPServer, socket: Socket, origin: ClientOrigin) => SmtpSession;

/**
 * The smtp-server library with our own session class. It does not listen: sockets are handed to it
 * by a TcpListener.
 */
export class ProtocolServer extends SMTPServer {
  readonly #newSession: NewSession;

  constructor(options: SMTPServerOptions, newSession: NewSession) {
    super(options);
    this.#newSession = newSession;
  }

  /** The TLS context with the current certificate. */
  get context(): SecureContext {
    return this.secureContext.get('*') as SecureContext;
  }

  handleSocket(socket: Socket, origin: ClientOrigin): void {
    const session = this.#newSession(this, socket, origin);
    this.connections.add(session);
    session.on('error', (error) => this._onError(error));
    session.init();
  }
}

/**
 * Sendmail backdoor commands that scanners try, and commands that only trusted proxies may send.
 */
const DISABLED = ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD'];

export function disabledCommands(
  certificate: Certificate | undefined,
  more: readonly string[] = [],
): string[] {
  return [...DISABLED, ...more, ...(certificate ? [] : ['STARTTLS'])];
}

export interface ProtocolSettings {
  hostname: string;
  messageBytesMax: number;
  recipientsMax: number;
  /** Time without a command from the client (RFC 5321 section 4.5.3.2.7). */
  idleMs: number;
}

const COMMAND_CHARS_MAX = 4096;

export function protocolOptions(
  settings: ProtocolSettings,
  certificate: Certificate | undefined,
): SMTPServerOptions {
  return {
    ...certificate,
    // TLS renegotiation in a loop would exhaust the CPU.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    name: settings.hostname,
    banner: 'Postrider',
    heloResponse: '%s',
    logger: false,
    size: settings.messageBytesMax,
    rejectOversized: true,
    maxRecipients: settings.recipientsMax,
    maxCommandLength: COMMAND_CHARS_MAX,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    socketTimeout: settings.idleMs,
  };
}
