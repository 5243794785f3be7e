import type { FastifyInstance } from 'fastify';

/**
 * Registers routes outside the API. Like API responses, their responses carry X-Request-Id.
 */
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
