import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

const LOOK_EVERY_MS = 50;

/**
 * Closing the HTTP door: nobody new comes in, requests in hand get their answers, and what is left
 * after the limit is cut off. Must be asked for before the server listens.
 *
 * Node cuts the connections that are idle when it begins to close, and no more. One whose request
 * ends later would stay for as long as connections are kept alive. And one without a request (browsers
 * open some, to be quicker later) is busy to Node, which no longer looks at its deadlines: a single
 * one would hold up everything that is stopped after the door.
 */
export function drainOf(http: FastifyInstance): (limitMs: number) => Promise<void> {
  const { server } = http;
  const silent = new Set<Socket>();
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.on('request', ({ socket }) => silent.delete(socket));
  const cutIdle = (): void => {
    server.closeIdleConnections();
    for (const socket of silent) socket.destroy();
  };
  return async (limitMs) => {
    const closed = http.close();
    cutIdle();
    const looking = setInterval(cutIdle, LOOK_EVERY_MS);
    const over = setTimeout(() => server.closeAllConnections(), limitMs);
    try {
      await closed;
    } finally {
      clearInterval(looking);
      clearTimeout(over);
    }
  };
}
