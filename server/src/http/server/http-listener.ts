import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const LOOK_EVERY_MS = 50;

export type Addresses = readonly [string, ...string[]];

/** Opening and closing the HTTP door. Must be made before the server listens. */
export interface HttpDoor {
  /** On the same port of each address. Gives the first one as a URL. */
  open(addresses: Addresses, port: number): Promise<string>;
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

export function httpDoor(http: FastifyInstance): HttpDoor {
  const { server } = http;
  const silent = new Set<Socket>();
  const beside: Server[] = [];
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.on('request', ({ socket }) => silent.delete(socket));
  const cutIdle = (): void => {
    server.closeIdleConnections();
    for (const socket of silent) socket.destroy();
  };
  return {
    async open([first, ...others], port) {
      const address = await http.listen({ host: first, port });
      try {
        for (const other of others) beside.push(...(await listenBeside(http, other)));
      } catch (error) {
        await Promise.all([http.close(), ...beside.map(closed)]);
        throw error;
      }
      return address;
    },
    async drain(limitMs) {
      const shut = Promise.all([http.close(), ...beside.map(closed)]);
      cutIdle();
      const looking = setInterval(cutIdle, LOOK_EVERY_MS);
      const over = setTimeout(() => server.closeAllConnections(), limitMs);
      try {
        await shut;
      } finally {
        clearInterval(looking);
        clearTimeout(over);
      }
    },
  };
}

/** `localhost` is both loopback addresses where a machine has both: clients try either first. */
export async function addressesOf(host: string): Promise<Addresses> {
  if (host !== 'localhost') return [host];
  const found = await lookup(host, { all: true }).catch(() => []);
  const [first = host, ...others] = new Set(found.map(({ address }) => address));
  return [first, ...others];
}

/**
 * Another address on the same port, whose connections are the one server's: a second HTTP server would
 * have limits, refusals and an end of its own. None where the machine does not have the address.
 */
async function listenBeside({ server }: FastifyInstance, host: string): Promise<Server[]> {
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

async function closed(listener: Server): Promise<void> {
  listener.close();
  await once(listener, 'close');
}
