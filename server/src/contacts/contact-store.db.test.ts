import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { uuidFloor } from '../lib/ids.ts';
import { readAttributeNames } from './contact-store.ts';

test('reads no more attribute names than requested', async () => {
  await using db = await createTestDatabase();
  const scope = { workspaceId: '00000000-0000-7000-8000-000000000001', mode: 'test' } as const;
  await db.pool.query(
    `insert into contacts (workspace_id, mode, email_key, id, email, attributes, created_at, updated_at)
     select $1, 'test', 'c' || n, gen_random_uuid(), 'c' || n, (
         select jsonb_object_agg('c' || n || '-' || k, k) from generate_series(1, 300) k),
       '2026-01-01', '2026-01-01' from generate_series(1, 20) n`,
    [scope.workspaceId],
  );
  const { names, lastId } = await readAttributeNames(db.pool, scope, uuidFloor(0), 15, 1_001);
  expect(new Set(names).size).toBe(1_001);
  const rest = await readAttributeNames(db.pool, scope, lastId ?? '', 15, 1_501);
  expect(rest.names).toHaveLength(1_500);
  const none = await readAttributeNames(db.pool, scope, rest.lastId ?? '', 15, 1_501);
  expect(none).toEqual({ names: [], lastId: null });
});
