import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';

/** Liveness, readiness and metrics endpoints for the operator. */

export interface HealthDependencies {
  registry: Registry;
  /** Returns why the node should not receive traffic, or undefined if it is ready. */
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
