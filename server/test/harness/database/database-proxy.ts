import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseIntoClientConfig } from 'pg-connection-string';

/**
 * A Unix socket in front of a test's database that can be disconnected and reconnected. While it is
 * disconnected, connections break and new ones are refused, as when the server is down.
 */
export interface DatabaseProxy extends AsyncDisposable {
  url: string;
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
  /** Connections stay open, but no more data passes. */
  stall(): void;
  /** Queries still arrive, but no response comes back. */
  dropResponses(): void;
}

export async function startDatabaseProxy(url: string): Promise<DatabaseProxy> {
  const { host, port, user, database } = parseIntoClientConfig(url);
  const folder = await mkdtemp(path.join(tmpdir(), 'database-proxy-'));
  const open = new Set<net.Socket>();
  const upstream = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect({ path: `${host}/.s.PGSQL.${port ?? 5432}` });
    upstream.add(far);
    far.on('close', () => upstream.delete(far));
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  const socketPath = path.join(folder, '.s.PGSQL.5432');
  const reconnect = () => new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const disconnect = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of open) socket.destroy();
    });
  await reconnect();
  return {
    url: `postgresql://${user}@/${database}?host=${encodeURIComponent(folder)}&port=5432`,
    disconnect,
    reconnect,
    stall() {
      for (const socket of open) socket.unpipe();
    },
    dropResponses() {
      for (const socket of upstream) socket.unpipe().resume();
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await disconnect();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A TCP proxy whose connections can be reset, as when a server is killed. */
export async function startResettableProxy(
  url: string,
): Promise<AsyncDisposable & ResettableProxy> {
  const { host, port, user, database } = parseIntoClientConfig(url);
  const open = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect({ path: `${host}/.s.PGSQL.${port ?? 5432}` });
    open.add(near);
    near.on('error', () => {}).on('close', () => far.destroy());
    far.on('error', () => {}).on('close', () => near.destroy());
    near.on('close', () => open.delete(near));
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const reset = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  const { port: own } = server.address() as net.AddressInfo;
  return {
    url: `postgresql://${user}@127.0.0.1:${own}/${database}`,
    reset,
    async [Symbol.asyncDispose]() {
      reset();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface ResettableProxy {
  url: string;
  reset(): void;
}
