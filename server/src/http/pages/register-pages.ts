import type { FastifyInstance } from 'fastify';

/** What lies beside the API: its answers carry the name of their request too. */
export function registerPages(
  server: FastifyInstance,
  register: (scope: FastifyInstance) => void,
): void {
  void server.register(async (scope) => {
    scope.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id);
      done();
    });
    register(scope);
  });
}
