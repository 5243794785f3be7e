import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

/** A raw SMTP client that sends exactly what a test specifies, without a library that would correct it. */
export interface Reply {
  code: number;
  /** All lines without their codes. */
  lines: string[];
  text: string;
}

export interface Mail {
  from?: string;
  to: string[];
  /** Header and body with CRLF; a final dot is added, without dot-stuffing. */
  data: string | Buffer;
}

export class SubmissionClient implements Disposable {
  #socket: net.Socket;
  #buffer = '';
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(socket: net.Socket) {
    this.#socket = socket;
    this.#listen();
  }

  static async connect(port: number, host = '127.0.0.1'): Promise<SubmissionClient> {
    const client = new SubmissionClient(net.connect(port, host));
    await once(client.#socket, 'connect');
    return client;
  }

  /** Connects with implicit TLS. */
  static async connectTls(port: number, options: tls.ConnectionOptions): Promise<SubmissionClient> {
    const socket = tls.connect({ port, host: '127.0.0.1', ...options });
    const client = new SubmissionClient(socket);
    await once(socket, 'secureConnect');
    return client;
  }

  /** Connects, sends EHLO and authenticates. */
  static async connectAndLogIn(
    port: number,
    key: string,
    host?: string,
  ): Promise<SubmissionClient> {
    const client = await SubmissionClient.connect(port, host);
    await client.reply();
    await client.command('EHLO client.example');
    const reply = await client.login(key);
    if (reply.code !== 235) throw new Error(`Not logged in: ${reply.code} ${reply.text}`);
    return client;
  }

  write(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /** Half-closes the connection: sends FIN and keeps reading. */
  endWriting(bytes: string | Buffer = ''): void {
    this.#socket.end(bytes);
  }

  /** The next complete reply; code 0 if the connection ended. */
  async reply(): Promise<Reply> {
    for (;;) {
      const end = /^\d{3}(?: [^\r\n]*)?\r\n/m.exec(this.#buffer);
      if (end) {
        const whole = this.#buffer.slice(0, end.index + end[0].length);
        this.#buffer = this.#buffer.slice(whole.length);
        const lines = whole.trimEnd().split('\r\n');
        const texts = lines.map((line) => line.slice(4));
        return { code: Number(whole.slice(0, 3)), lines: texts, text: texts.join('\n') };
      }
      if (this.#ended) return { code: 0, lines: [], text: '' };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  command(line: string): Promise<Reply> {
    this.write(`${line}\r\n`);
    return this.reply();
  }

  login(key: string, user = 'postrider'): Promise<Reply> {
    return this.command(`AUTH PLAIN ${Buffer.from(`\0${user}\0${key}`).toString('base64')}`);
  }

  /** Runs a whole transaction; returns the first negative reply, or the reply to the final dot. */
  async send({ from = 'hello@example.org', to, data }: Mail): Promise<Reply> {
    for (const line of [`MAIL FROM:<${from}>`, ...to.map((one) => `RCPT TO:<${one}>`), 'DATA']) {
      const reply = await this.command(line);
      if (reply.code >= 400) return reply;
    }
    this.write(data);
    this.write('\r\n.\r\n');
    return this.reply();
  }

  async startTls(options: tls.ConnectionOptions): Promise<void> {
    this.#socket.removeAllListeners();
    const secure = tls.connect({ socket: this.#socket, ...options });
    await once(secure, 'secureConnect');
    this.#socket = secure;
    this.#listen();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #listen(): void {
    this.#socket.on('data', (chunk: Buffer) => {
      this.#buffer += chunk.toString('utf8');
      this.#wake?.();
    });
    for (const event of ['close', 'error']) {
      this.#socket.on(event, () => {
        this.#ended = true;
        this.#wake?.();
      });
    }
  }
}
