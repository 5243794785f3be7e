import type { Queryable } from '../db/connections/pool.ts';
import type { TenantTable } from '../db/statements/purge-rows.ts';
import { uuidFloor } from '../lib/ids.ts';
import { DELIVERIES } from '../messages/deliveries/delivery-lease-store.ts';
import type { LeasedTable } from '../queue/lease-store.ts';
import { anyLeasedBefore, anyUnparked, parkRows, unparkRows } from '../queue/parking-store.ts';
import { WEBHOOK_DELIVERIES } from '../webhooks/dispatch/webhook-queue-store.ts';
import {
  anyUnparkedBacklog,
  parkBacklogs,
  unparkBacklogs,
} from '../webhooks/fan-out/webhook-backlog-store.ts';

/** The queues of a workspace that moves: mail and webhooks. */
interface MovingQueue {
  table: TenantTable;
  queue: LeasedTable<never>;
  /** A UUIDv7 that contains the age of the row. */
  column: string;
}

export const MOVING_QUEUES = [
  { table: 'deliveries', queue: DELIVERIES, column: 'message_id' },
  { table: 'webhook_deliveries', queue: WEBHOOK_DELIVERIES, column: 'event_id' },
] as unknown as readonly MovingQueue[];

export async function parkQueues(
  db: Queryable,
  workspaceId: string,
  options: { evenLeased: boolean },
): Promise<void> {
  for (const { queue } of MOVING_QUEUES) await parkRows(db, queue, workspaceId, options);
  await parkBacklogs(db, workspaceId);
}

export async function unparkQueues(db: Queryable, workspaceId: string): Promise<void> {
  for (const { queue } of MOVING_QUEUES) await unparkRows(db, queue, workspaceId);
  await unparkBacklogs(db, workspaceId);
}

export async function areQueuesParked(db: Queryable, workspaceId: string): Promise<boolean> {
  for (const { table, queue } of MOVING_QUEUES) {
    if (await anyUnparked(db, table, queue, workspaceId)) return false;
  }
  return !(await anyUnparkedBacklog(db, workspaceId));
}

/** Whether servers still work on messages or webhooks that existed at the given time. */
export async function isWorkLeft(
  db: Queryable,
  workspaceId: string,
  beforeMs: number,
): Promise<boolean> {
  const before = uuidFloor(beforeMs);
  for (const { table, queue, column } of MOVING_QUEUES) {
    if (await anyLeasedBefore(db, table, queue, workspaceId, { column, before })) return true;
  }
  return false;
}
