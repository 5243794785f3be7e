import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';

/** For whoever runs the service: is it alive, may it get traffic, what does it count. */

export interface HealthDependencies {
  registry: Registry;
  /** Why no traffic should come now, or undefined when all is well. */
  notReady: () => Promise<string | undefined>;
}

export function registerHealthChecks(server: FastifyInstance, deps: HealthDependencies): void {
  server.get('/healthz', async (_request, reply) => {
    return reply.type('application/json').send('{"status":"ok"}');
  });
  server.get('/readyz', async (_request, reply) => {
    const reason = await deps.notReady();
    return reply
      .code(reason === undefined ? 200 : 503)
      .type('application/json')
      .send(JSON.stringify(reason === undefined ? { ready: true } : { ready: false, reason }));
  });
  server.get('/metrics', async (_request, reply) => {
    return reply.type(deps.registry.contentType).send(await deps.registry.metrics());
  });
}
