import { type PurgedTable, purgeRows } from '../db/statements/purge-rows.ts';

/** Few enough for one statement. It waits for a process that is adding them to the others. */
const APPENDED: PurgedTable<'statistics_appended'> = {
  table: 'statistics_appended',
  async deleteRows(db, workspaceId) {
    const { rowCount } = await db.query('delete from statistics_appended where workspace_id = $1', [
      workspaceId,
    ]);
    return { deleted: { statistics_appended: rowCount ?? 0 }, next: undefined };
  },
};

/** Those of the previous release. */
const RECENT: PurgedTable<'statistics_recent'> = {
  table: 'statistics_recent',
  async deleteRows(db, workspaceId) {
    const { rowCount } = await db.query('delete from statistics_recent where workspace_id = $1', [
      workspaceId,
    ]);
    return { deleted: { statistics_recent: rowCount ?? 0 }, next: undefined };
  },
};

/** Statistics and alarms. */
export const STATS_PURGES = [
  APPENDED,
  RECENT,
  purgeRows({
    table: 'statistics_minutes',
    delete: 'delete from statistics_minutes d',
    key: ['mode mode', 'hour timestamptz', 'id uuid'],
  }),
  purgeRows({
    table: 'statistics_hours',
    delete: 'delete from statistics_hours d',
    key: ['mode mode', 'at timestamptz'],
  }),
  purgeRows({
    table: 'statistics_days',
    delete: 'delete from statistics_days d',
    key: ['mode mode', 'at timestamptz'],
  }),
  purgeRows({
    table: 'statistics_minute',
    delete: 'delete from statistics_minute d',
    key: ['mode mode', 'dimension text', 'at timestamptz', 'value text', 'counter text'],
  }),
  purgeRows({
    table: 'statistics_hour',
    delete: 'delete from statistics_hour d',
    key: ['mode mode', 'dimension text', 'at timestamptz', 'value text', 'counter text'],
  }),
  purgeRows({
    table: 'statistics_day',
    delete: 'delete from statistics_day d',
    key: ['mode mode', 'dimension text', 'at timestamptz', 'value text', 'counter text'],
  }),
  purgeRows({
    table: 'alarms',
    delete: 'delete from alarms d',
    key: ['mode mode', 'kind text', 'subject text'],
  }),
] as const;
