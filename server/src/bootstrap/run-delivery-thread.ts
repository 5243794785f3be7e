import type { AddressInfo } from 'node:net';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Config } from '../config/read-config.ts';
import type { DatabaseHosts } from '../db/connections/database-url.ts';
import { listen, type NotificationListener } from '../db/connections/listen.ts';
import { openPool, type Pool, poolUsage } from '../db/connections/pool.ts';
import { DatabaseClock } from '../db/database-clock.ts';
import {
  type EngineCommand,
  type EngineReply,
  restoreAttachmentBuffers,
} from '../delivery/engine-thread.ts';
import type { ShapingRules } from '../delivery/receivers/shaping.ts';
import { assert } from '../lib/assert.ts';
import { createLog, type LogLevel } from '../lib/log.ts';
import { releaseMemoryWhenIdle } from '../lib/memory/release-memory.ts';
import { isOwnListener } from '../lib/net/local-address.ts';
import { systemClock } from '../lib/time/clock.ts';
import type { BounceRule } from '../messages/verdict/bounce-rules.ts';
import { setOperatorRules } from '../messages/verdict/verdict-rules.ts';
import { type BuiltEngine, buildEngine, type TransportFactory } from './build-engine.ts';

/** The data that the main thread passes to the delivery thread. */
export interface DeliveryThreadData {
  settings: Config['delivery'];
  shaping: ShapingRules | undefined;
  bounceRules: readonly BounceRule[];
  hosts: DatabaseHosts;
  exclusive: boolean;
  secretKey: Uint8Array;
  logLevel: LogLevel;
  memory: SharedArrayBuffer;
  /** Of the clock of the database; undefined if the system clock is used. */
  clockOffsetMs: number | undefined;
}

/**
 * Runs the delivery engine in a worker thread, with its own connections, notifications and caches. It
 * receives commands and handed-off messages from the main thread (delivery/engine-thread.ts).
 */
export function runDeliveryThread(options: { liveTransport?: TransportFactory } = {}): void {
  assert(parentPort, 'the delivery thread runs in a worker');
  const port = parentPort;
  const { hosts, logLevel, secretKey, bounceRules, clockOffsetMs, ...data } =
    workerData as DeliveryThreadData;
  setOperatorRules(bounceRules);
  const log = createLog({ level: logLevel });
  const notifications = listen({ hosts, log });
  const keysPool = openPool({ hosts, log, max: 2, applicationName: 'postrider keys' });
  const databaseClock =
    clockOffsetMs === undefined
      ? undefined
      : new DatabaseClock({ pool: keysPool, log, offsetMs: clockOffsetMs });
  const localListeners: AddressInfo[] = [];
  const built = buildEngine({
    ...data,
    hosts,
    secretKey: Buffer.from(secretKey),
    keysPool,
    clock: databaseClock ?? systemClock,
    log,
    notifications,
    isOwnListener: (ip, port) => isOwnListener(localListeners, ip, port),
    onEventsCommitted: () => send(port, { kind: 'events_committed' }),
    liveTransport: options.liveTransport,
  });
  const parts = { ...built, port, keysPool, databaseClock, notifications, localListeners };
  port.on('message', (command: EngineCommand) => void execute(command, parts));
  releaseMemoryWhenIdle();
  send(port, { kind: 'ready' });
}

interface ThreadParts extends BuiltEngine {
  port: MessagePort;
  keysPool: Pool;
  databaseClock: DatabaseClock | undefined;
  notifications: NotificationListener;
  localListeners: AddressInfo[];
}

async function execute(command: EngineCommand, parts: ThreadParts): Promise<void> {
  const { port, engine, pool, close, keysPool, databaseClock, notifications, localListeners } =
    parts;
  switch (command.kind) {
    case 'start':
      localListeners.push(...command.localListeners);
      engine.start();
      break;
    case 'take':
      engine.handOff(command.lease, command.accepted.map(restoreAttachmentBuffers));
      break;
    case 'leave':
      engine.leave();
      break;
    case 'wake':
      engine.wake();
      break;
    case 'withdraw': {
      const { requestId, workspaceId, mode, messageId, leased } = command;
      const value = await engine.withdraw(workspaceId, mode, messageId, leased);
      send(port, { kind: 'response', requestId, value });
      break;
    }
    case 'connections': {
      const value = { delivery: poolUsage(pool), keys: poolUsage(keysPool) };
      send(port, { kind: 'response', requestId: command.requestId, value });
      break;
    }
    case 'stop':
      await engine.stop(command.deadlineMs);
      await Promise.all([databaseClock?.stop(), notifications.stop()]);
      await Promise.all([close(), keysPool.end()]);
      // In a worker this ends the thread, not the process.
      process.exit();
  }
}

function send(port: MessagePort, reply: EngineReply): void {
  port.postMessage(reply);
}
