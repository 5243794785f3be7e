import type { FastifyInstance } from 'fastify';
import type { Clock } from './base/clock.ts';
import type { Log } from './base/log.ts';
import type { Config } from './config/read-config.ts';
import type { DeliveryStore } from './delivery/delivery-store.ts';
import type { OperationParts } from './doors/http/operations.ts';
import { announceEvents } from './events/events-store.ts';
import { LedgerBell } from './events/ledger-bell.ts';
import type { Listener } from './storage/listen.ts';
import type { Storage } from './storage/open-storage.ts';
import { openPool } from './storage/pool.ts';
import { VERSION } from './version.ts';
import {
  type OpenWebhooksParts,
  openWebhooks,
  type WebhookSettings,
} from './webhooks/open-webhooks.ts';

/**
 * The part of the assembly that tells what happened: everything that follows the ledger of events.
 * Whoever appends events rings the bell, and the followers look.
 */
export interface Telling {
  parts: Pick<OperationParts, 'webhooks' | 'webhookHistory' | 'webhookTester'>;
  /** The delivery engine's store, with a bell on it: its results are events too. */
  tellingOf(store: DeliveryStore): DeliveryStore;
  /** A request that changed something has appended events. */
  listenTo(http: FastifyInstance): void;
  start(): void;
  stop(deadlineMs: number): Promise<void>;
}

export interface TellingOptions {
  storage: Storage;
  notices: Listener;
  clock: Clock;
  log: Log;
  config: Config;
  webhooks?: Pick<OpenWebhooksParts, 'ca' | 'limits' | 'deadlineMs'>;
}

export function openTelling(options: TellingOptions): Telling {
  const { storage, notices, clock, log, config } = options;
  const { pool } = storage;
  const bell = new LedgerBell({ clock, announce: (from) => announceEvents(pool, from) });
  notices.on('events', (from) => bell.heard(from));

  const dispatchPool = config.roles.has('webhooks')
    ? openPool({ places: storage.places, log, max: 4, applicationName: 'postrider webhooks' })
    : undefined;
  const room = openWebhooks({
    pool,
    dispatchPool,
    clock,
    log,
    secretKey: storage.secretKey,
    dnsServers: config.delivery.dnsServers,
    settings: webhookSettings(config),
    version: VERSION,
    mailCommits: () => bell.rings,
    ...options.webhooks,
  });
  bell.onRing(() => room.dispatcher?.wake());

  return {
    parts: {
      webhooks: room.webhooks,
      webhookHistory: room.history,
      webhookTester: room.tester,
    },
    tellingOf: (store) => ({
      ...store,
      record: async (outcomes) => {
        const written = await store.record(outcomes);
        bell.ring();
        return written;
      },
    }),
    listenTo(http) {
      http.addHook('onResponse', (request, reply, done) => {
        if (request.method !== 'GET' && reply.statusCode < 300) bell.ring();
        done();
      });
    },
    start: () => room.dispatcher?.start(),
    async stop(deadlineMs) {
      await room.dispatcher?.stop(deadlineMs);
      room.close();
      await dispatchPool?.end();
    },
  };
}

function webhookSettings({ webhooks }: Config): WebhookSettings {
  const { allowPrivate, ports, concurrency, endpointConcurrency } = webhooks;
  const portAllowed = (port: number): boolean =>
    ports.some(({ from, to }) => port >= from && port <= to);
  return { allowPrivate, portAllowed, concurrency, endpointConcurrency };
}
