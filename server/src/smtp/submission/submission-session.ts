import type { Socket } from 'node:net';
import type { SMTPServer } from 'smtp-server';
import type { ClientOrigin } from '../client-origin.ts';
import { type SessionRules, SmtpSession } from '../smtp-session.ts';

/**
 * An authenticated session. Credentials are accepted only over TLS or from trusted local clients.
 */

export interface SubmissionRules extends SessionRules {
  /** Time until AUTH succeeds. */
  authMs: number;
  /** Whether credentials may be sent unencrypted from this origin. */
  plaintextAllowed(origin: ClientOrigin): boolean;
}

const AUTH_FAILURES_MAX = 3;

export class SubmissionSession extends SmtpSession {
  readonly #rules: SubmissionRules;
  readonly #origin: ClientOrigin;
  #failedAttempts = 0;

  constructor(server: SMTPServer, socket: Socket, rules: SubmissionRules, origin: ClientOrigin) {
    super(server, socket, rules, origin);
    this.#rules = rules;
    this.#origin = origin;
  }

  /**
   * Hides AUTH where credentials are not allowed, so that no client sends them in the clear (RFC
   * 4954 section 4).
   */
  override handler_EHLO(command: Buffer, callback: () => void): void {
    const { disabledCommands } = this.#rules;
    this.session.disabledCommands = this.#credentialsAllowed()
      ? [...disabledCommands]
      : [...disabledCommands, 'AUTH'];
    super.handler_EHLO(command, callback);
    // Only the EHLO response omits AUTH: if it were disabled, the library would not require
    // authentication.
    this.session.disabledCommands = [...disabledCommands];
  }

  override handler_AUTH(command: Buffer, callback: () => void): void {
    if (this.#credentialsAllowed()) {
      super.handler_AUTH(command, callback);
      return;
    }
    const text = this.#rules.offersTls
      ? '5.7.11 Encryption required: use STARTTLS before AUTH.'
      : '5.7.11 Encryption required, but this server has no TLS certificate.';
    this.send(538, text);
    callback();
  }

  /** Called after the reply that refused the key. */
  authFailed(): void {
    this.#failedAttempts += 1;
    if (this.#failedAttempts >= AUTH_FAILURES_MAX)
      this.disconnect('4.7.0 Too many failed authentication attempts.');
  }

  protected override onAdmitted(): void {
    super.onAdmitted();
    this.schedule(this.#rules.authMs, () => {
      if (!this.session.user) this.disconnect('4.4.2 Authentication timed out.');
    });
  }

  #credentialsAllowed(): boolean {
    return this.secure || this.#rules.plaintextAllowed(this.#origin);
  }
}
