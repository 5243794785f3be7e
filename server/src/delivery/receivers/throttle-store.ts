import type { Pool } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { ReceiverThrottlesRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import type { Throttle } from './receiver.ts';

/**
 * Receivers that limit us, for the next start and for operators. A row is written when a throttle
 * changes, never for a message.
 */
export async function listThrottles(pool: Pool): Promise<Throttle[]> {
  const { rows } = await pool.query<Throttle>(
    `select ${THROTTLE} from receiver_throttles
      order by paused_until desc, receiver limit ${LISTED_MAX}`,
  );
  return rows;
}

const THROTTLE = selectList<ReceiverThrottlesRow, Throttle>({
  receiver: 'receiver',
  level: 'level',
  pausedUntilMs: 'paused_until',
});

/** Nodes may write the same receiver; the last one wins. */
export async function saveThrottle(pool: Pool, throttle: Throttle): Promise<void> {
  const { receiver, level, pausedUntilMs } = throttle;
  if (level === 0) {
    await pool.query('delete from receiver_throttles where receiver = $1', [receiver]);
    return;
  }
  await pool.query(
    `insert into receiver_throttles (receiver, level, paused_until) values ($1, $2, $3)
     on conflict (receiver) do update set level = excluded.level, paused_until = excluded.paused_until`,
    [receiver, level, sqlTime(pausedUntilMs)],
  );
}

/** A server that throttles us under many names must not fill memory. */
const LISTED_MAX = 10_000;
