import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const IDLE_CHECK_INTERVAL_MS = 50;

/** What the listener needs of an HTTP server, which Fastify provides. */
export interface ListeningServer {
  readonly server: HttpServer;
  /** Returns the URL. */
  listen(options: { host: string; port: number }): Promise<string>;
  close(): PromiseLike<unknown>;
}

export type ListenAddresses = readonly [string, ...string[]];

/** Opens and drains the HTTP listeners. Create it before the server listens. */
export interface HttpListener {
  /** Listens on the same port of every address and returns the URL of the first. */
  listen(addresses: ListenAddresses, port: number): Promise<string>;
  /**
   * Still serves requests for a while, but each response ends its connection. A load balancer that has
   * noticed that the node is not ready then has no connection left on which it could send a request
   * while the node closes it.
   */
  discourage(forMs: number): Promise<void>;
  /**
   * Stops accepting connections, lets requests in progress finish, and closes what is left after
   * the limit.
   *
   * Node closes only the connections that are idle when closing begins. A connection whose request
   * ends later would stay open for the whole keep-alive time. A connection that never sent a
   * request (browsers open some in advance) counts as busy, and Node no longer enforces its
   * timeouts: a single one would delay the whole shutdown.
   */
  drain(limitMs: number): Promise<void>;
}

export function createHttpListener(http: ListeningServer): HttpListener {
  const { server } = http;
  const unusedSockets = new Set<Socket>();
  const extraServers: Server[] = [];
  server.on('connection', (socket) => {
    // Node determines the address on first use and keeps it. Requests whose client has disconnected
    // need it too, when it can no longer be determined.
    void socket.remoteAddress;
    unusedSockets.add(socket);
    socket.once('close', () => unusedSockets.delete(socket));
  });
  let endsConnections = false;
  // Before the handler of Fastify, which may respond at once.
  server.prependListener('request', ({ socket }, response) => {
    unusedSockets.delete(socket);
    if (endsConnections) response.shouldKeepAlive = false;
  });
  const closeIdleConnections = (): void => {
    server.closeIdleConnections();
    for (const socket of unusedSockets) socket.destroy();
  };
  return {
    async listen([first, ...others], port) {
      const address = await http.listen({ host: first, port });
      try {
        for (const other of others) extraServers.push(...(await listenOnExtraAddress(http, other)));
      } catch (error) {
        await Promise.all([http.close(), ...extraServers.map(closeServer)]);
        throw error;
      }
      return address;
    },
    async discourage(forMs) {
      endsConnections = true;
      if (forMs > 0) await sleep(forMs);
    },
    async drain(limitMs) {
      const closing = Promise.all([http.close(), ...extraServers.map(closeServer)]);
      closeIdleConnections();
      const idleCheck = setInterval(closeIdleConnections, IDLE_CHECK_INTERVAL_MS);
      const deadline = setTimeout(() => server.closeAllConnections(), limitMs);
      try {
        await closing;
      } finally {
        clearInterval(idleCheck);
        clearTimeout(deadline);
      }
    },
  };
}

/** `localhost` may be both loopback addresses, and clients try either first. */
export async function resolveListenAddresses(host: string): Promise<ListenAddresses> {
  if (host !== 'localhost') return [host];
  const found = await lookup(host, { all: true }).catch(() => []);
  const [first = host, ...others] = new Set(found.map(({ address }) => address));
  return [first, ...others];
}

/**
 * Listens on another address and passes its connections to the same HTTP server: a second HTTP
 * server would have its own limits, error handling and shutdown. Returns nothing if the machine
 * does not have the address.
 */
async function listenOnExtraAddress({ server }: ListeningServer, host: string): Promise<Server[]> {
  const { port } = server.address() as AddressInfo;
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    server.emit('connection', socket),
  );
  try {
    await once(listener.listen({ host, port }), 'listening');
    return [listener];
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(code)) return [];
    throw error;
  }
}

async function closeServer(listener: Server): Promise<void> {
  listener.close();
  await once(listener, 'close');
}
