import type { Pool } from '../db/pool.ts';
import type { EventPosition } from './events-store.ts';

/** The positions up to which consumers have processed the event log. The migrations insert the rows. */

export type EventConsumer = 'webhooks' | 'statistics';

export async function readConsumerPosition(
  pool: Pool,
  consumer: EventConsumer,
): Promise<EventPosition> {
  const { rows } = await pool.query<EventPosition>({
    name: 'read-consumer-position',
    text: 'select tx, id from event_consumers where name = $1',
    values: [consumer],
  });
  return rows[0] as EventPosition;
}

export interface ConsumerMove {
  /** SQL expressions of the new position. */
  tx: string;
  id: string;
  /** A table expression that these expressions refer to. */
  from?: string;
  /** A condition under which the position moves. */
  when?: string;
}

/**
 * Part of the statement that processes a batch, so that the position moves in the same commit as its
 * effects.
 */
export function moveConsumer(
  consumer: EventConsumer,
  { tx, id, from, when }: ConsumerMove,
): string {
  return `update event_consumers c set tx = ${tx}, id = ${id}
    ${from === undefined ? '' : `from ${from}`}
    where c.name = '${consumer}' ${when === undefined ? '' : `and ${when}`}`;
}
