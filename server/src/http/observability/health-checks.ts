import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';

/** For whoever runs the service: is it alive, may it get traffic, what does it count. */

export interface HealthParts {
  registry: Registry;
  /** Why no traffic should come now, or undefined when all is well. */
  notReady: () => Promise<string | undefined>;
}

export function addHealth(server: FastifyInstance, parts: HealthParts): void {
  server.get('/healthz', async (_request, reply) => {
    return reply.type('application/json').send('{"status":"ok"}');
  });
  server.get('/readyz', async (_request, reply) => {
    const reason = await parts.notReady();
    return reply
      .code(reason === undefined ? 200 : 503)
      .type('application/json')
      .send(JSON.stringify(reason === undefined ? { ready: true } : { ready: false, reason }));
  });
  server.get('/metrics', async (_request, reply) => {
    return reply.type(parts.registry.contentType).send(await parts.registry.metrics());
  });
}
