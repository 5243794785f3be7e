import type { Socket } from 'node:net';
import type { SMTPServer } from 'smtp-server';
import type { ClientOrigin } from '../client-origin.ts';
import { type SessionRules, SmtpSession } from '../smtp-session.ts';

/** A session in which a client shows its key: the key passes only where nobody listens. */

export interface SubmissionRules extends SessionRules {
  /** Until AUTH has succeeded. */
  authMs: number;
  /** Whether a key may cross an unencrypted connection from there. */
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

  /** Hides AUTH where a key must not pass, so that no client gives it away unasked (RFC 4954 4). */
  override handler_EHLO(command: Buffer, callback: () => void): void {
    const { disabledCommands } = this.#rules;
    this.session.disabledCommands = this.#credentialsAllowed()
      ? [...disabledCommands]
      : [...disabledCommands, 'AUTH'];
    super.handler_EHLO(command, callback);
    // Only the list of extensions may lack it: without AUTH the library would not ask for a login.
    this.session.disabledCommands = [...disabledCommands];
  }

  override handler_AUTH(command: Buffer, callback: () => void): void {
    if (this.#credentialsAllowed()) {
      super.handler_AUTH(command, callback);
      return;
    }
    const text = this.#rules.offersTls
      ? '5.7.11 Use STARTTLS first: a key may not cross the network unencrypted.'
      : '5.7.11 This server has no certificate, and a key may not cross the network unencrypted.';
    this.send(538, text);
    callback();
  }

  /** After the reply that refused a key. */
  authFailed(): void {
    this.#failedAttempts += 1;
    if (this.#failedAttempts >= AUTH_FAILURES_MAX) this.disconnect('4.7.0 Too many wrong keys.');
  }

  protected override onAdmitted(): void {
    super.onAdmitted();
    this.schedule(this.#rules.authMs, () => {
      if (!this.session.user) this.disconnect('4.4.2 No key was given in time.');
    });
  }

  #credentialsAllowed(): boolean {
    return this.secure || this.#rules.plaintextAllowed(this.#origin);
  }
}
