import { purgeRows } from '../db/purge-rows.ts';

/** Statistics and alarms. */
export const STATS_PURGES = [
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
