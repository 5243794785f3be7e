import type { Mode, TenantScope } from '../../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import { checkRetentionClock } from '../../db/retention-clock.ts';
import { uuidFloor, uuidTime } from '../../lib/ids.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  advanceStreamRetention,
  claimStreamRetention,
  listStreams,
  type StreamRetention,
} from '../../streams/stream-store.ts';
import { deleteContents } from '../message-erasure-store.ts';
import {
  claimLateContents,
  forgetLateContents,
  readMessageRange,
  readMessages,
  saveLateContents,
} from './stream-retention-store.ts';

/**
 * Deletes the content of messages in streams that keep it for a shorter time than other mail. Each
 * transaction examines some messages of one stream and moves its cursor past them, so that the cost does
 * not depend on the size of the backlog, and any node can continue. A message that is not finished by then
 * is recorded and looked at once a day, until its content can be deleted.
 */

const DAY_MS = 86_400_000;
const CHECK_MS = 600_000;
const MESSAGES_MAX = 1_000;

/**
 * Runs periodically on every node. It uses the retention clock, because a wrong system clock must not
 * delete anything.
 */
export async function deleteStreamContents(
  pool: Pool,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const time = await checkRetentionClock(pool, clock.now());
  if (!('nowMs' in time)) return;
  const { nowMs } = time;
  const repeat = async (step: (client: Queryable) => Promise<boolean>): Promise<void> => {
    while (!signal.aborted && (await inTransaction(pool, step)));
  };
  await repeat((client) => deleteOfNextStream(client, nowMs));
  await repeat((client) => deleteLate(client, nowMs));
}

/** Returns whether there may be more to do. */
async function deleteOfNextStream(client: Queryable, nowMs: number): Promise<boolean> {
  const stream = await claimStreamRetention(client, nowMs - CHECK_MS);
  if (!stream) return false;
  const live = await deleteSome(client, stream, 'live', nowMs);
  const test = await deleteSome(client, stream, 'test', nowMs);
  const cursors = { ...stream, liveCursor: live.cursor, testCursor: test.cursor };
  await advanceStreamRetention(client, cursors, live.done && test.done ? nowMs : null);
  return true;
}

async function deleteSome(
  client: Queryable,
  { workspaceId, key, days, liveCursor, testCursor }: StreamRetention,
  mode: Mode,
  nowMs: number,
): Promise<{ cursor: string | null; done: boolean }> {
  const scope = { workspaceId, mode };
  const cursor = mode === 'live' ? liveCursor : testCursor;
  const range = { after: cursor ?? uuidFloor(0), before: uuidFloor(nowMs - days * DAY_MS) };
  const messages = await readMessageRange(client, scope, { ...range, limit: MESSAGES_MAX });
  const own = messages.filter(({ stream }) => stream === key);
  const { finished = [], late = [] } = Object.groupBy(own, ({ isFinished }) =>
    isFinished ? 'finished' : 'late',
  );
  await deleteContents(
    client,
    scope,
    finished.map(({ id }) => id),
  );
  const dueAtMs = nowMs + DAY_MS;
  await saveLateContents(
    client,
    scope,
    late.map(({ id }) => ({ id, dueAtMs })),
  );
  return { cursor: messages.at(-1)?.id ?? cursor, done: messages.length < MESSAGES_MAX };
}

/** Returns whether there may be more to do. */
async function deleteLate(client: Queryable, nowMs: number): Promise<boolean> {
  const due = await claimLateContents(client, nowMs, MESSAGES_MAX);
  for (const contents of Map.groupBy(due, (one) => `${one.workspaceId} ${one.mode}`).values()) {
    const { workspaceId, mode } = contents[0] as TenantScope;
    const ids = contents.map(({ id }) => id);
    await deleteOrPostpone(client, { workspaceId, mode }, ids, nowMs);
  }
  return due.length === MESSAGES_MAX;
}

async function deleteOrPostpone(
  client: Queryable,
  scope: TenantScope,
  ids: readonly string[],
  nowMs: number,
): Promise<void> {
  const streams = await listStreams(client, scope.workspaceId);
  const daysOf = new Map(streams.map((stream) => [stream.key, stream.contentRetentionDays]));
  const postponed = new Map<string, number>();
  for (const { id, stream, isFinished } of await readMessages(client, scope, ids)) {
    // The period may have been changed or removed meanwhile.
    const days = daysOf.get(stream) ?? null;
    const endsAtMs = days === null ? Number.POSITIVE_INFINITY : uuidTime(id) + days * DAY_MS;
    if (isFinished && endsAtMs <= nowMs) continue;
    postponed.set(id, Math.max(nowMs + DAY_MS, days === null ? 0 : endsAtMs));
  }
  // Also those whose message was deleted.
  const ended = ids.filter((id) => !postponed.has(id));
  await deleteContents(client, scope, ended);
  await forgetLateContents(client, scope, ended);
  await saveLateContents(
    client,
    scope,
    [...postponed].map(([id, dueAtMs]) => ({ id, dueAtMs })),
  );
}
