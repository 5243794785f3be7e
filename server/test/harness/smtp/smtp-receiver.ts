import net, { type AddressInfo } from 'node:net';
import {
  type ReceivedMessage,
  type ReceiverScript,
  ReceiverSession,
} from './smtp-receiver-session.ts';

/**
 * A scripted SMTP receiver on a real loopback socket. It accepts everything by default; each step can be
 * scripted to reply anything, late, in pieces or never, or to hang up. It keeps what it was sent
 * (envelope, bytes, TLS) and records protocol violations of the client.
 *
 *   await using receiver = await startSmtpReceiver({ onRcpt: () => '550 5.1.1 no such user' });
 */
export async function startSmtpReceiver(script: ReceiverScript = {}): Promise<SmtpReceiver> {
  const receiver = new SmtpReceiver(script);
  await receiver.listen();
  return receiver;
}

export * from './smtp-receiver-session.ts';

export class SmtpReceiver {
  /** May be changed at any time. */
  script: ReceiverScript;
  /** Every message whose final dot was read, accepted or not. */
  readonly messages: ReceivedMessage[] = [];
  readonly sessions: ReceiverSession[] = [];
  /** Protocol violations of the client. */
  readonly violations: string[] = [];
  readonly #server: net.Server;
  readonly #watchers = new Set<() => void>();

  constructor(script: ReceiverScript) {
    this.script = script;
    this.#server = net.createServer({ noDelay: true }, (socket) => {
      this.sessions.push(new ReceiverSession(this, socket));
      this.notifyWatchers();
    });
  }

  get host(): string {
    return this.script.host ?? '127.0.0.1';
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Command lines of all sessions, in order within each. */
  get commands(): string[] {
    return this.sessions.flatMap((session) => session.commands);
  }

  /** Waits for a condition, evaluated whenever anything arrives. */
  until(condition: (receiver: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition(this)) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  untilMessages(count: number): Promise<void> {
    return this.until(() => this.messages.length >= count);
  }

  /** Waits for a command line that starts like this. */
  untilCommand(start: string): Promise<void> {
    return this.until(() => this.commands.some((command) => command.startsWith(start)));
  }

  notifyWatchers(): void {
    for (const look of [...this.#watchers]) look();
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.script.port ?? 0, this.host, resolve);
    });
  }

  async close(): Promise<void> {
    for (const session of this.sessions) session.hangUp();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
