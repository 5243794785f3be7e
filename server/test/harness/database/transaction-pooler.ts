import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseIntoClientConfig } from 'pg-connection-string';

/**
 * A transaction pooler in front of a test's database, like PgBouncer with pool_mode = transaction: the
 * session that was released last serves the next transaction of any client.
 */
export async function startTransactionPooler(
  url: string,
): Promise<AsyncDisposable & { url: string }> {
  const { host, port, user, database } = parseIntoClientConfig(url);
  const folder = await mkdtemp(path.join(tmpdir(), 'pooler-'));
  const free: Session[] = [];
  const open = new Set<net.Socket>();
  const server = net.createServer((client) => {
    let session: Session | undefined = new Session(`${host}/.s.PGSQL.${port ?? 5432}`);
    open.add(session.socket).add(client);
    client.on('error', () => {});
    client.on('data', (query) => {
      session ??= free.pop() as Session;
      session.ask(query, client, (served) => {
        session = undefined;
        free.push(served);
      });
    });
  });
  await new Promise<void>((resolve) =>
    server.listen(path.join(folder, '.s.PGSQL.5432'), () => resolve()),
  );
  return {
    url: `postgresql://${user}@/${database}?host=${encodeURIComponent(folder)}&port=5432`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

class Session {
  readonly socket: net.Socket;
  #answers = Buffer.alloc(0);
  #client: net.Socket | undefined;
  #free: ((served: Session) => void) | undefined;

  constructor(socketPath: string) {
    this.socket = net.connect({ path: socketPath });
    this.socket.on('error', () => {});
    this.socket.on('data', (piece) => this.#answer(piece));
  }

  ask(query: Buffer, client: net.Socket, free: (served: Session) => void): void {
    this.#client = client;
    this.#free = free;
    // A client that disconnects from the pooler does not end the session.
    if (query[0] !== TERMINATE) this.socket.write(query);
  }

  /** A session is free again when PostgreSQL reports ReadyForQuery outside a transaction. */
  #answer(piece: Buffer): void {
    this.#client?.write(piece);
    this.#answers = Buffer.concat([this.#answers, piece]);
    for (;;) {
      if (this.#answers.length < 5) return;
      const length = 1 + this.#answers.readUInt32BE(1);
      if (this.#answers.length < length) return;
      const isFree = this.#answers[0] === READY && this.#answers[5] === IDLE;
      this.#answers = this.#answers.subarray(length);
      if (isFree) this.#free?.(this);
    }
  }
}

const [READY, IDLE, TERMINATE] = [...Buffer.from('ZIX')] as [number, number, number];
