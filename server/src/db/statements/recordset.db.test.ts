import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database/database.ts';
import { recordset } from './recordset.ts';

/** Values written as objects are read back from a real PostgreSQL unchanged. */

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

interface Row {
  id: string | null;
  content: string | null;
  body: string | null;
  raw: string | Buffer | null;
  small: number | null;
  middle: number | null;
  large: number | null;
  at: number | null;
  mode: 'live' | 'test' | null;
}

const ROWS = recordset<Row>({
  id: 'uuid',
  content: 'text',
  body: 'json',
  raw: 'bytea',
  small: 'smallint',
  middle: 'integer',
  large: 'bigint',
  at: 'timestamptz',
  mode: 'mode',
});

const FULL: Row = {
  id: '019a8a00-0000-7fff-8000-0123456789ab',
  content: 'Grüße, "Jane" \\ {a,b} 日本 🚀\n',
  body: '{"b": 1,  "a": "ü"}',
  raw: Buffer.from([0, 255, 10, 92]),
  small: -32_768,
  middle: 2_147_483_647,
  large: Number.MAX_SAFE_INTEGER,
  at: 1_762_732_800_123,
  mode: 'test',
};

const EMPTY: Row = {
  id: null,
  content: null,
  body: null,
  raw: null,
  small: null,
  middle: null,
  large: null,
  at: null,
  mode: null,
};

async function roundTrip(rows: Row[]): Promise<Row[]> {
  const columns = Object.keys(FULL).map((name) => (name === 'body' ? 'body::text' : name));
  const { rows: read } = await db.pool.query<Row>(
    `select ${columns.join(', ')} from ${ROWS.table('r', 1)}`,
    ROWS.parameters(rows),
  );
  return read;
}

test('values of every type, and null', async () => {
  const lowest = { ...FULL, small: 0, middle: -1, large: -1, at: -62_135_596_800_000, content: '' };
  const rows = [FULL, EMPTY, lowest, { ...FULL, large: -Number.MAX_SAFE_INTEGER, at: 0 }];
  expect(await roundTrip(rows)).toEqual(rows);
});

test('rows at the end, and columns, that are null throughout', async () => {
  expect(await roundTrip([FULL, EMPTY, EMPTY])).toEqual([FULL, EMPTY, EMPTY]);
  expect(await roundTrip([EMPTY, EMPTY])).toEqual([EMPTY, EMPTY]);
  const sparse = { ...EMPTY, middle: 1 };
  expect(await roundTrip([EMPTY, sparse, EMPTY])).toEqual([EMPTY, sparse, EMPTY]);
});

test('bytea accepts text, and uppercase UUIDs are accepted', async () => {
  const [read] = await roundTrip([{ ...FULL, raw: 'ü🚀', id: (FULL.id as string).toUpperCase() }]);
  expect(read).toMatchObject({ raw: Buffer.from('ü🚀'), id: FULL.id });
});

test('no rows, and rows that exceed the estimated size', async () => {
  expect(await roundTrip([])).toEqual([]);
  const rows = Array.from({ length: 50 }, (_, index) => ({
    ...FULL,
    small: index,
    content: '日本語'.repeat(index * 200),
    raw: Buffer.alloc(index * 1000, index),
  }));
  expect(await roundTrip(rows)).toEqual(rows);
  expect(await roundTrip([FULL])).toEqual([FULL]);
});
