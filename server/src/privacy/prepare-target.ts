import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { continueLogAfter } from '../db/event-log-offset.ts';
import {
  ensurePartitions,
  PARTITIONED_TABLES,
  partitionsStartMs,
} from '../db/schema/partitions.ts';
import { readConsumerPosition, skipConsumersTo } from '../events/event-consumer-store.ts';
import { uuidTime } from '../lib/ids.ts';
import type { Clock } from '../lib/time/clock.ts';
import { consumeEvents } from './consume-events.ts';

/** Prepares the database that a workspace moves to: its event log and its partitions. */

const DAY_MS = 86_400_000;

/** Whether new events of the target sort after the given number, and its consumers are past it. */
export async function isLogAhead(target: Pool, tx: number): Promise<boolean> {
  const positions = await Promise.all([
    readConsumerPosition(target, 'webhooks'),
    readConsumerPosition(target, 'statistics'),
  ]);
  return positions.every((position) => position.tx > tx);
}

/** New events of the target get numbers after the given one. */
export async function continueLogOf(target: Pool, last: number): Promise<void> {
  await inTransaction(target, (client) => continueLogAfter(client, last));
}

/** Returns false if the consumers of the target have not processed its log yet. */
export async function skipGap(target: Pool, last: number, clock: Clock): Promise<boolean> {
  await consumeEvents(target, clock);
  return skipConsumersTo(target, last, clock.now());
}

/** For rows as old as those of the workspace. */
export async function createPartitions(
  source: Pool,
  target: Pool,
  workspaceId: string,
  clock: Clock,
): Promise<void> {
  for (const table of PARTITIONED_TABLES) {
    const oldestMs = Math.max(await partitionsStartMs(source, table.table), uuidTime(workspaceId));
    for (let atMs = oldestMs; atMs < clock.now(); atMs += (table.aheadDays - 1) * DAY_MS) {
      await ensurePartitions(target, atMs, [table]);
    }
  }
}
