import type { Mode } from '../../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../../db/pool.ts';
import { checkRetentionClock } from '../../db/retention-clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { uuidFloor } from '../../lib/ids.ts';
import {
  advanceStreamRetention,
  claimStreamRetention,
  type StreamRetention,
} from '../../streams/stream-store.ts';
import { deleteContents } from '../message-erasure-store.ts';
import { readFinishedMessages } from './message-content-store.ts';

/**
 * Deletes the content of messages in streams that keep it for a shorter time than other mail. Each
 * transaction examines some messages of one stream and moves its cursor past them, so that no message
 * is examined twice, whatever the size of the backlog, and any node can continue. A message that is
 * not finished by then keeps its content as long as other mail.
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
  while (!signal.aborted) {
    const claimed = await inTransaction(pool, async (client) => {
      const stream = await claimStreamRetention(client, nowMs - CHECK_MS);
      if (!stream) return false;
      const live = await deleteSome(client, stream, 'live', nowMs);
      const test = await deleteSome(client, stream, 'test', nowMs);
      const cursors = { ...stream, liveCursor: live.cursor, testCursor: test.cursor };
      await advanceStreamRetention(client, cursors, live.done && test.done ? nowMs : null);
      return true;
    });
    if (!claimed) return;
  }
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
  const messages = await readFinishedMessages(client, scope, { ...range, limit: MESSAGES_MAX });
  const ended = messages.filter(({ stream, isFinished }) => stream === key && isFinished);
  await deleteContents(
    client,
    scope,
    ended.map(({ id }) => id),
  );
  return { cursor: messages.at(-1)?.id ?? cursor, done: messages.length < MESSAGES_MAX };
}
