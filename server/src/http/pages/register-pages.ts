import type { FastifyInstance } from 'fastify';

/** What lies beside the API: its answers carry the name of their request too. */
export function addPages(server: FastifyInstance, add: (room: FastifyInstance) => void): void {
  void server.register(async (room) => {
    room.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id);
      done();
    });
    add(room);
  });
}
