import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const IDLE_CHECK_INTERVAL_MS = 50;

export type ListenAddresses = readonly [string, ...string[]];

/** Opening and closing the HTTP door. Must be made before the server listens. */
export interface HttpListener {
  /** On the same port of each address. Gives the first one as a URL. */
  listen(addresses: ListenAddresses, port: number): Promise<string>;
  /**
   * Nobody new comes in, requests in hand get their answers, and what is left after the limit is cut
   * off.
   *
   * Node cuts the connections that are idle when it begins to close, and no more. One whose request
   * ends later would stay for as long as connections are kept alive. And one without a request
   * (browsers open some, to be quicker later) is busy to Node, which no longer looks at its deadlines:
   * a single one would hold up everything that is stopped after the door.
   */
  drain(limitMs: number): Promise<void>;
}

export function createHttpListener(http: FastifyInstance): HttpListener {
  const { server } = http;
  const unusedSockets = new Set<Socket>();
  const extraServers: Server[] = [];
  server.on('connection', (socket) => {
    unusedSockets.add(socket);
    socket.once('close', () => unusedSockets.delete(socket));
  });
  server.on('request', ({ socket }) => unusedSockets.delete(socket));
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

/** `localhost` is both loopback addresses where a machine has both: clients try either first. */
export async function resolveListenAddresses(host: string): Promise<ListenAddresses> {
  if (host !== 'localhost') return [host];
  const found = await lookup(host, { all: true }).catch(() => []);
  const [first = host, ...others] = new Set(found.map(({ address }) => address));
  return [first, ...others];
}

/**
 * Another address on the same port, whose connections are the one server's: a second HTTP server would
 * have limits, refusals and an end of its own. None where the machine does not have the address.
 */
async function listenOnExtraAddress({ server }: FastifyInstance, host: string): Promise<Server[]> {
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
