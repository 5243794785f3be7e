import type { Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { Certificate } from './certificate.ts';
import { type SessionRules, SubmissionSession } from './session.ts';

/** The library's server, whose connections are our sessions, and how it is set up. */
export class ProtocolServer extends SMTPServer {
  readonly #rules: SessionRules;

  constructor(options: SMTPServerOptions, rules: SessionRules) {
    super(options);
    this.#rules = rules;
  }

  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const session = new SubmissionSession(this, socket, this.#rules, options);
    this.connections.add(session);
    session.on('error', (error) => this._onError(error));
    session.init();
  }
}

/** Old jokes of sendmail's, and what only proxies say. */
const DISABLED = ['WIZ', 'SHELL', 'KILL', 'XCLIENT', 'XFORWARD'];

export function disabledCommands(certificate: Certificate | undefined): string[] {
  return certificate ? DISABLED : [...DISABLED, 'STARTTLS'];
}

export interface ProtocolSettings {
  name: string;
  messageBytesMax: number;
  recipientsMax: number;
  idleMs: number;
}

const COMMAND_CHARS_MAX = 4096;

export function protocolOptions(
  settings: ProtocolSettings,
  certificate: Certificate | undefined,
): SMTPServerOptions {
  return {
    ...certificate,
    name: settings.name,
    banner: 'Postrider',
    heloResponse: '%s',
    logger: false,
    size: settings.messageBytesMax,
    rejectOversized: true,
    maxRecipients: settings.recipientsMax,
    maxCommandLength: COMMAND_CHARS_MAX,
    authMethods: ['PLAIN', 'LOGIN'],
    authRequiredMessage: '5.7.0 Authenticate first: any user name, and an API key as the password.',
    // The session decides itself where a key may pass.
    allowInsecureAuth: true,
    disabledCommands: disabledCommands(certificate),
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: false,
    socketTimeout: settings.idleMs,
    closeTimeout: 1_000,
  };
}
