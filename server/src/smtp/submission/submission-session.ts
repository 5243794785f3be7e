import type { Socket } from 'node:net';
import type { Caller } from '../../accounts/caller.ts';
import type { ClientOrigin } from '../client-origin.ts';
import { authReplyForError, SmtpReplyError } from '../error-replies.ts';
import type { MessageData } from '../message-data.ts';
import { type SessionRules, SmtpSession } from '../smtp-session.ts';
import type { AuthenticatedClient } from './submission-auth.ts';

/**
 * A session with authentication (RFC 4954): any user name, with an API key as the password.
 * Credentials are accepted only over TLS or from trusted local clients.
 */

export interface SubmissionRules extends SessionRules {
  /** Time until AUTH succeeds. */
  authMs: number;
  /** Whether credentials may be sent unencrypted from this origin. */
  plaintextAllowed(origin: ClientOrigin): boolean;
  handlers: SubmissionHandlers;
}

/** Each of them throws to refuse. */
export interface SubmissionHandlers {
  authenticate(key: string, ip: string): Promise<AuthenticatedClient>;
  /** Checks the key again, for one message. */
  authorize(client: AuthenticatedClient): Promise<Caller>;
  checkRecipient(address: string): void;
  /** Resolves with the text of the 250 reply. */
  accept(data: MessageData, caller: Caller, recipients: readonly string[]): Promise<string>;
}

const AUTH_FAILURES_MAX = 3;
const AUTH_REQUIRED =
  '5.7.0 Authentication required: any user name, with an API key as the password.';
/** The prompts of AUTH LOGIN: "Username:" and "Password:". */
const USERNAME_PROMPT = 'VXNlcm5hbWU6';
const PASSWORD_PROMPT = 'UGFzc3dvcmQ6';

export class SubmissionSession extends SmtpSession {
  readonly #rules: SubmissionRules;
  readonly #origin: ClientOrigin;
  #client: AuthenticatedClient | undefined;
  /** Who the current message is from. */
  #caller: Caller | undefined;
  #failedAttempts = 0;

  constructor(socket: Socket, rules: SubmissionRules, origin: ClientOrigin) {
    super(socket, rules, origin);
    this.#rules = rules;
    this.#origin = origin;
  }

  protected override onAdmitted(): void {
    this.schedule(this.#rules.authMs, () => {
      if (!this.#client) this.disconnect('4.4.2 Authentication timed out.');
    });
  }

  /**
   * Hides AUTH where credentials are not allowed, so that no client sends them in the clear (RFC
   * 4954 section 4).
   */
  protected override extensions(): string[] {
    return this.#credentialsAllowed() && !this.#client ? ['AUTH PLAIN LOGIN'] : [];
  }

  protected override authenticationRequired(): string | undefined {
    return this.#client ? undefined : AUTH_REQUIRED;
  }

  protected override forgetClient(): void {
    this.#client = undefined;
  }

  protected override async handleExtension(verb: string, argument: string): Promise<boolean> {
    if (verb !== 'AUTH') return false;
    const [mechanism = '', initial, ...more] = argument.split(/\s+/);
    if (!this.#credentialsAllowed()) {
      const text = this.#rules.secureContext
        ? '5.7.11 Encryption required: use STARTTLS before AUTH.'
        : '5.7.11 Encryption required, but this server has no TLS certificate.';
      this.reply(538, text);
    } else if (this.#client) this.reply(503, '5.5.1 Already authenticated.');
    else if (more.length > 0) this.reply(501, '5.5.4 Syntax: AUTH mechanism [response]');
    else await this.#authenticate(mechanism.toUpperCase(), initial);
    return true;
  }

  protected override async acceptSender(): Promise<void> {
    if (!this.#client) throw new SmtpReplyError(530, '5.7.0', 'Authentication required.');
    this.#caller = await this.#rules.handlers.authorize(this.#client);
  }

  protected override get turnKey(): string {
    return this.#caller?.workspaceId ?? super.turnKey;
  }

  protected override async acceptRecipient(address: string): Promise<void> {
    this.#rules.handlers.checkRecipient(address);
  }

  protected override async acceptMessage(
    data: MessageData,
    _from: string,
    recipients: readonly string[],
  ): Promise<string> {
    if (!this.#caller) throw new SmtpReplyError(530, '5.7.0', 'Authentication required.');
    return this.#rules.handlers.accept(data, this.#caller, recipients);
  }

  async #authenticate(mechanism: string, initial: string | undefined): Promise<void> {
    let key: string | undefined;
    if (mechanism === 'PLAIN') key = await this.#plainPassword(initial);
    else if (mechanism === 'LOGIN') key = await this.#loginPassword(initial);
    else return this.reply(504, '5.5.4 Supported mechanisms are PLAIN and LOGIN.');
    if (key === undefined) return;
    try {
      this.#client = await this.#rules.handlers.authenticate(key, this.remoteAddress);
      this.reply(235, '2.7.0 Authentication successful');
    } catch (error) {
      const { responseCode, message } = authReplyForError(error);
      this.reply(responseCode, message);
      this.#failedAttempts += 1;
      if (this.#failedAttempts < AUTH_FAILURES_MAX) return;
      this.disconnect('4.7.0 Too many failed authentication attempts.');
    }
  }

  /** RFC 4616: authorization identity, user name and password, separated by NUL. */
  async #plainPassword(initial: string | undefined): Promise<string | undefined> {
    const response = initial ?? (await this.#challenge(''));
    if (response === undefined) return undefined;
    const fields = decodeBase64(response).split('\0');
    if (fields.length === 3) return fields[2];
    this.reply(501, '5.5.2 Invalid response.');
    return undefined;
  }

  async #loginPassword(initial: string | undefined): Promise<string | undefined> {
    if (initial === undefined && (await this.#challenge(USERNAME_PROMPT)) === undefined) {
      return undefined;
    }
    const password = await this.#challenge(PASSWORD_PROMPT);
    return password === undefined ? undefined : decodeBase64(password);
  }

  /** The client's response; undefined when it cancels the exchange (RFC 4954 section 4) or leaves. */
  async #challenge(prompt: string): Promise<string | undefined> {
    this.reply(334, prompt);
    const response = await this.readResponse();
    if (response !== '*') return response;
    this.reply(501, '5.7.0 Authentication aborted.');
    return undefined;
  }

  #credentialsAllowed(): boolean {
    return this.isEncrypted || this.#rules.plaintextAllowed(this.#origin);
  }
}

function decodeBase64(text: string): string {
  return Buffer.from(text, 'base64').toString();
}
