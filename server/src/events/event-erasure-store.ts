import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import type { EventsRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { uuidRange } from '../lib/ids.ts';

/** Reads and rewrites the data of events, for privacy/erase-address.ts. */

export interface ErasableEvent {
  tx: number;
  id: string;
  type: string;
  messageId: string | null;
  data: Record<string, unknown>;
}

const EVENT = selectList<EventsRow, ErasableEvent>({
  tx: 'tx',
  id: 'id',
  type: 'type',
  messageId: 'message_id',
  data: 'data',
});

export async function readEventsOf(
  db: Queryable,
  scope: TenantScope,
  ids: readonly string[],
): Promise<ErasableEvent[]> {
  const { rows } = await db.query<ErasableEvent>({
    name: 'erasure-read-events',
    text: `select ${EVENT} from events
      where workspace_id = $1 and mode = $2 and message_id = any($3)`,
    values: [scope.workspaceId, scope.mode, ids],
  });
  return rows;
}

/**
 * Of the next events without a message, those that contain the text; and the id of the last one
 * read.
 */
export async function readOtherEvents(
  db: Queryable,
  scope: TenantScope,
  needle: string,
  afterId: string,
  limit: number,
): Promise<{ events: ErasableEvent[]; lastId: string | null }> {
  const { rows } = await db.query<ErasableEvent & { holds: boolean }>({
    name: 'erasure-read-other-events',
    text: `select ${EVENT.replace('data', 'case when holds then data end as data')}, holds from (
        select *, strpos(lower(data::text), $4) > 0 as holds from events
        where workspace_id = $1 and mode = $2 and message_id is null and type <> 'audit.recorded'
          and id > $3
        order by id limit $5) e`,
    values: [scope.workspaceId, scope.mode, afterId, needle, limit],
  });
  const lastId = rows.length < limit ? null : (rows.at(-1)?.id ?? null);
  return { events: rows.filter((row) => row.holds), lastId };
}

/** Events keep their position in the log, so readers are not affected. */
export async function writeEvents(
  db: Queryable,
  scope: TenantScope,
  events: readonly Pick<ErasableEvent, 'tx' | 'id' | 'data'>[],
): Promise<void> {
  if (events.length === 0) return;
  await db.query({
    name: 'erasure-write-events',
    text: `update events e set data = r.data
      from json_to_recordset($3::json) as r(tx bigint, id uuid, data json)
      where e.workspace_id = $1 and e.mode = $2 and e.tx = r.tx and e.id = r.id
        and e.id between $4 and $5`,
    values: [
      scope.workspaceId,
      scope.mode,
      JSON.stringify(events.map(({ tx, id, data }) => ({ tx, id, data }))),
      ...uuidRange(events.map(({ id }) => id)),
    ],
  });
}
