import { expect, test } from 'vitest';
import { foreignWriteErrors } from './table-writes.ts';

/** Goal: no module writes a table of another. Method: statements as stores contain them. */

test.each([
  ['insert into deliveries (workspace_id) values ($1)'],
  ['with moved as (\n  update deliveries d\n     set lease = null) select 1'],
  ['update only deliveries as d set lease = null'],
  ['delete from deliveries where workspace_id = $1'],
  ['truncate deliveries'],
  ['truncate table deliveries cascade'],
  ['merge into deliveries d using r on true'],
  ['COPY deliveries (workspace_id, mode) FROM stdin'],
])('a foreign write is found: %s', (sql) => {
  const source = `const TEXT = \`${sql}\`;`;
  expect(foreignWriteErrors('server/src/bounces/report-store.ts', source)).toEqual([
    'server/src/bounces/report-store.ts: writes deliveries, which belongs to messages/.',
  ]);
  expect(foreignWriteErrors('server/src/messages/lookup/message-store.ts', source)).toEqual([]);
});

test('reads, locks, fragments of the owner and comments are not writes', () => {
  const source = `
    /** Others update deliveries set by the engine. */
    // delete from deliveries
    const TEXT = \`select * from deliveries for update\`;
    const EVENTS = \`\${INSERT_EVENTS} select 1 from deliveries\`;
    const label = 'Update contacts';`;
  expect(foreignWriteErrors('server/src/bounces/report-store.ts', source)).toEqual([]);
});

test('a table without an owner is found, and a name that is not in the text', () => {
  expect(foreignWriteErrors('server/src/stats/a-store.ts', `'delete from orders'`)).toEqual([
    expect.stringContaining('writes orders, which has no owner'),
  ]);
  expect(foreignWriteErrors('server/src/stats/a-store.ts', '`update ${table} set n = 1`')).toEqual([
    expect.stringContaining('has no owner'),
  ]);
});

test('a name with a variable end stands for all tables that begin like it', () => {
  const source = '`insert into statistics_${span} as s (n) values (1)`';
  expect(foreignWriteErrors('server/src/stats/stats-store.ts', source)).toEqual([]);
  expect(foreignWriteErrors('server/src/events/events-store.ts', source)).toHaveLength(8);
});

test('the partitions of a table belong to its owner', () => {
  const source = '`truncate message_contents_p${day}`';
  expect(foreignWriteErrors('server/src/messages/a-store.ts', source)).toEqual([]);
  expect(foreignWriteErrors('server/src/stats/a-store.ts', source)).toEqual([
    'server/src/stats/a-store.ts: writes message_contents, which belongs to messages/.',
  ]);
});
