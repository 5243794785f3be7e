import type { TenantScope } from '../../../src/accounts/tenant-scope.ts';
import { openPool, type Pool } from '../../../src/db/connections/pool.ts';
import type { EventType } from '../../../src/events/event-types.ts';
import { appendEvents } from '../../../src/events/events-store.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { type Clock, systemClock } from '../../../src/lib/time/clock.ts';
import { createWebhooks, type WebhookModule } from '../../../src/webhooks/create-webhooks.ts';
import type { DispatcherLimits } from '../../../src/webhooks/dispatch/webhook-dispatcher.ts';
import type { EndpointCaller } from '../../../src/webhooks/webhooks.ts';
import { createTestDatabase, type TestDatabase } from '../database/database.ts';
import { newWorkspace } from '../database/enqueue-messages.ts';

/** The webhooks module on its own database, without the rest of the server. */
export interface WebhookSetup extends AsyncDisposable {
  pool: Pool;
  database: TestDatabase;
  scope: EndpointCaller;
  node: WebhookModule;
  /** Starts another node on the same database. */
  addNode(): Promise<WebhookModule & AsyncDisposable>;
  createEndpoint(url: string, events?: string[]): Promise<{ id: string; secret: string }>;
  /** Appends events and wakes the dispatcher; returns the ids that receivers see. */
  appendEvents(count: number, type?: EventType): Promise<string[]>;
  deliveries(): Promise<StoredDelivery[]>;
}

export interface StoredDelivery {
  webhook_id: string;
  event_id: string;
  status: string;
  tries: number;
  cycle_attempts: number;
  due_at: number | null;
  last_status: number | null;
  last_error: string | null;
}

export interface WebhookSetupOptions {
  clock?: Clock;
  limits?: Partial<DispatcherLimits>;
  deadlineMs?: number;
  ca?: string;
  dns?: string;
  allowPrivate?: boolean;
  portAllowed?: (port: number) => boolean;
}

export async function setUpWebhooks(options: WebhookSetupOptions = {}): Promise<WebhookSetup> {
  const clock = options.clock ?? systemClock;
  const database = await createTestDatabase({ nowMs: clock.now() });
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, clock.now());
  const scope: EndpointCaller = { workspaceId, mode: 'test', scopes: new Set() };
  const nodes = [openNode(options, database, clock)];
  const { room } = nodes[0] as ReturnType<typeof openNode>;
  return {
    pool,
    database,
    scope,
    node: room,
    async addNode() {
      const node = openNode(options, database, clock);
      return { ...node.room, [Symbol.asyncDispose]: node.stop };
    },
    async createEndpoint(url, events = ['*']) {
      const { webhook, secret } = await room.webhooks.create(scope, { url, events });
      return { id: webhook.id, secret };
    },
    async appendEvents(count, type = 'template.published') {
      const ids = await appendTestEvents(pool, scope, clock, count, type);
      room.dispatcher?.wake();
      return ids;
    },
    async deliveries() {
      const { rows } = await pool.query<StoredDelivery>(
        `select webhook_id, event_id, status, attempts as tries, cycle_attempts, due_at,
           last_response_status as last_status, last_error
           from webhook_deliveries order by event_id`,
      );
      return rows;
    },
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node.stop();
      await database[Symbol.asyncDispose]();
    },
  };
}

function openNode(options: WebhookSetupOptions, database: TestDatabase, clock: Clock) {
  const [host = '', port = ''] = options.dns?.split(':') ?? [];
  const dispatchPool = openPool({
    hosts: [{ connectionString: database.url }],
    log: silentLog,
    max: 4,
  });
  const room = createWebhooks({
    pool: database.pool,
    dispatchPool,
    clock,
    log: silentLog,
    secretKey: Buffer.alloc(32, 5),
    dnsServers: options.dns === undefined ? [] : [{ host, port: Number(port) }],
    settings: {
      allowPrivate: options.allowPrivate ?? true,
      portAllowed: options.portAllowed ?? (() => true),
      concurrency: 100,
      endpointConcurrency: 16,
    },
    version: 'test',
    baseUrl: 'http://localhost:3000',
    readInboundContent: async () => undefined,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.limits ? { limits: options.limits } : {}),
    ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
  });
  room.dispatcher?.start();
  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    await room.dispatcher?.stop(1_000);
    room.close();
    await dispatchPool.end();
  }
  return { room, stop: () => (stopped ??= stop()) };
}

export async function appendTestEvents(
  pool: Pool,
  scope: TenantScope,
  clock: Clock,
  count: number,
  type: EventType = 'template.published',
): Promise<string[]> {
  const atMs = clock.now();
  const events = Array.from({ length: count }, (_, n) => ({ ...scope, type, atMs, data: { n } }));
  const { rows: before } = await pool.query<{ id: string }>('select id from events');
  const known = new Set(before.map((row) => row.id));
  await appendEvents(pool, events);
  const { rows } = await pool.query<{ id: string }>('select id from events order by id');
  return rows.filter((row) => !known.has(row.id)).map((row) => encodeId('evt', row.id));
}
