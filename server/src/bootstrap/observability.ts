import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Config } from '../config/read-config.ts';
import { isDatabaseReachable } from '../db/database-answers.ts';
import { poolUsage, type Pool } from '../db/pool.ts';
import { registerHealthChecks } from '../http/observability/health-checks.ts';
import { resolveListenAddresses, type HttpListener } from '../http/server/http-listener.ts';
import { addCollectedMetric } from '../http/observability/http-metrics.ts';
import {
  addDeliveryMetrics,
  addPoolMetrics,
  addProcessMetrics,
  addQueueMetrics,
  addWebhookMetrics,
} from '../http/observability/node-metrics.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { MessageAcceptor } from '../messages/accept/accept-message.ts';
import { readQueue } from '../stats/queue-store.ts';
import { VERSION } from '../version.ts';
import type { WebhookDispatcher } from '../webhooks/webhook-dispatcher.ts';
import type { DeliveryRoom } from './build-delivery.ts';

/**
 * What an operator may ask of every node, whatever its roles: whether it lives, whether it should
 * get traffic, and its figures.
 */
export interface WatchedParts {
  registry: Registry;
  clock: Clock;
  /** `ready`, or what the node is doing instead. */
  state: () => string;
  /** Asked whether the database answers. */
  pool: Pool;
  webhooksPool: Pool | undefined;
  acceptor: MessageAcceptor;
  delivery: DeliveryRoom;
  dispatcher: WebhookDispatcher | undefined;
}

export function registerHealthAndMetrics(http: FastifyInstance, parts: WatchedParts): void {
  const { registry, clock, pool, webhooksPool, delivery, dispatcher, acceptor } = parts;
  registerHealthChecks(http, {
    registry,
    notReady: async () => {
      const state = parts.state();
      if (state !== 'ready') return state;
      return (await isDatabaseReachable(pool)) ? undefined : 'the database cannot be reached';
    },
  });
  addProcessMetrics(registry, VERSION, delivery.busyMs ? { delivery: delivery.busyMs } : {});
  addCollectedMetric(registry, {
    name: 'postrider_accept_waiting',
    help: 'Sends that wait for their commit.',
    type: 'gauge',
    read: () => acceptor.waiting,
  });
  const { engine } = delivery;
  if (engine) addDeliveryMetrics(registry, () => engine.stats);
  if (dispatcher) addWebhookMetrics(registry, () => dispatcher.stats);
  addPoolMetrics(registry, async () => ({
    main: poolUsage(pool),
    ...(await delivery.connections()),
    ...(webhooksPool ? { webhooks: poolUsage(webhooksPool) } : {}),
  }));
  addQueueMetrics(registry, {
    readQueue: () => readQueue(pool, 'all', clock.now()),
    now: () => clock.now(),
  });
}

/**
 * A node that answers no API only needs its port to be watched. Where several share a machine and
 * nobody gave them ports, they work all the same.
 */
export async function listenHttp(door: HttpListener, config: Config, log: Log): Promise<string> {
  const { host, port, portIsExplicit: portIsWished } = config.http;
  try {
    return await door.listen(await resolveListenAddresses(host), port);
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    if (!taken || portIsWished || config.roles.has('api')) throw error;
    log.warn({ port }, 'the port is taken: this node cannot be watched. Set PORT');
    return '';
  }
}
