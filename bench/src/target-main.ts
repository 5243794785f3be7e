import Fastify from 'fastify';
import { operatorIssuer } from '../../server/src/accounts/api-keys.ts';
import { buildApp } from '../../server/src/bootstrap/build-app.ts';
import type { DeliveryOverrides } from '../../server/src/bootstrap/build-delivery.ts';
import { sizeThreadPool } from '../../server/src/config/env.ts';
import { readConfig } from '../../server/src/config/read-config.ts';
import { openPool, type Pool } from '../../server/src/db/connections/pool.ts';
import { bodyValidator } from '../../server/src/http/validation/schema-validator.ts';
import { encodeId, uuidv7 } from '../../server/src/lib/ids.ts';
import { createLog } from '../../server/src/lib/log.ts';
import { releaseMemoryWhenIdle } from '../../server/src/lib/memory/release-memory.ts';
import { systemClock } from '../../server/src/lib/time/clock.ts';
import { RequestLog } from '../../server/src/logs/request-log.ts';
import { SendMessage } from '../../server/src/messages/accept/send-request.ts';
import { SENDER_DOMAIN } from './sample-message.ts';
import { addWorkspaces, countTransactions, seed, seedAppendedCounts } from './seed.ts';
import type { TargetKind } from './start-target.ts';
import { withoutSigning } from './unsigned-transport.ts';

/** The server under test; start-target.ts starts it. */

sizeThreadPool();

const kind = process.argv[2] as TargetKind;
const report = (message: object): void => {
  process.send?.(message);
};
type Command =
  | 'memory'
  | 'cpu'
  | 'transactions'
  | 'appended counts'
  | { seed: number; state: 'delivered' | 'waiting' }
  | { workspaces: number };

process.on('message', (command: Command) => {
  if (command === 'memory') report({ rss: process.memoryUsage.rss() });
  if (command === 'cpu') report({ cpuMicros: cpuMicros() });
});

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const UNSIGNED: DeliveryOverrides = {
  liveTransport: (createConfigured) => withoutSigning(createConfigured()),
  threadEntry: new URL('./unsigned-delivery-thread.ts', import.meta.url),
};

if (kind === 'no-request-log') RequestLog.prototype.admits = () => false;
if (kind === 'no-storage') await serveWithoutStorage();
else await serve();

async function serve(): Promise<void> {
  releaseMemoryWhenIdle();
  const config = readConfig(process.env);
  const log = createLog({ level: config.log.level });
  const app = await buildApp({
    config,
    log,
    overrides: {
      delivery: process.env.BENCH_UNSIGNED ? UNSIGNED : undefined,
      acceptGroup: kind === 'one-transaction-each' ? { itemsMax: 1, inFlightMax: 20 } : undefined,
    },
  });
  const workspace = (await app.workspaces.first()) ?? (await app.workspaces.create('Bench'));
  const neighbor = await app.workspaces.create('Neighbor');
  const [key, neighborKey] = await Promise.all(
    [workspace, neighbor].map(async ({ id }) => {
      const mode = (process.env.BENCH_MODE as 'live' | 'test') ?? 'test';
      return (await app.apiKeys.create(operatorIssuer(id), { name: 'bench', mode })).token;
    }),
  );
  await app.domains.trust(workspace.id, { name: SENDER_DOMAIN });
  const withPool = async (work: (pool: Pool) => Promise<object>): Promise<void> => {
    const pool = openPool({ hosts: app.storage.hosts, log, max: 1, statementTimeoutMs: 600_000 });
    report(await work(pool));
    await pool.end();
  };
  process.on('message', (command: Command) => {
    if (command === 'transactions') {
      void withPool(async (pool) => ({ transactions: await countTransactions(pool) }));
    } else if (command === 'appended counts') {
      void withPool(async (pool) => {
        await seedAppendedCounts(pool);
        return {};
      });
    } else if (typeof command === 'object' && 'seed' in command) {
      void withPool(async (pool) => {
        await seed(pool, command.seed, command.state);
        return { seeded: command.seed };
      });
    } else if (typeof command === 'object') {
      void withPool(async (pool) => ({
        keys: await addWorkspaces(pool, workspace.id, command.workspaces),
      }));
    }
  });
  process.once('SIGTERM', () => void app.stop().then(() => process.exit(0)));
  report({
    port: Number(new URL(app.address).port),
    submissionPort: app.submission.port ?? 0,
    key,
    neighborKey,
  });
}

/** The same framework and validation without storage: the upper bound. */
async function serveWithoutStorage(): Promise<void> {
  const server = Fastify({ logger: false });
  const validator = bodyValidator(SendMessage);
  server.post('/api/v1/transactional/send', (request, reply) => {
    validator.check(request.body);
    const nowMs = systemClock.now();
    const { to } = request.body as { to: { email: string } };
    reply.code(202).send({
      id: encodeId('msg', uuidv7(nowMs)),
      status: 'queued',
      mode: 'test',
      created_at: new Date(nowMs).toISOString(),
      scheduled_at: null,
      template: null,
      recipients: [{ email: to.email, kind: 'to', status: 'queued' }],
    });
  });
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  process.once('SIGTERM', () => void server.close().then(() => process.exit(0)));
  report({ port: Number(new URL(address).port), key: 'none' });
}
