import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/harness/database/database.ts';
import { saveBaseUrl } from '../accounts/moved-workspace-store.ts';
import { uuidv7 } from '../lib/ids.ts';
import { systemClock } from '../lib/time/clock.ts';
import { WorkspaceMove } from './workspace-move.ts';

/** A passkey works at one host name only, so it is copied to an installation that has the same. */
test.each([
  ['https://mail.example.com', 1],
  ['https://west.example.com', 0],
])('passkeys move to %s: %i', async (targetUrl, expected) => {
  await using source = await createTestDatabase();
  await using target = await createTestDatabase();
  const now = new Date();
  const [workspaceId, personId] = [uuidv7(now.getTime()), uuidv7(now.getTime())];
  await saveBaseUrl(source.pool, 'https://mail.example.com');
  await saveBaseUrl(target.pool, targetUrl);
  await source.pool.query('insert into workspaces (id, name, created_at) values ($1, $2, $3)', [
    workspaceId,
    'Shop',
    now,
  ]);
  await source.pool.query(
    `insert into people (id, email, email_key, name, created_at)
     values ($1, 'jane@shop.example', 'jane@shop.example', 'Jane', $2)`,
    [personId, now],
  );
  await source.pool.query(
    `insert into memberships (workspace_id, person_id, role, created_at) values ($1, $2, 'owner', $3)`,
    [workspaceId, personId, now],
  );
  await source.pool.query(
    `insert into passkeys (person_id, id, credential_id, public_key, counter, transports, name,
       is_backed_up, created_at) values ($1, $1, '\\x01', '\\x02', 0, '{}', 'Phone', true, $2)`,
    [personId, now],
  );
  const parts = { source: source.pool, target: target.pool, clock: systemClock };
  await new WorkspaceMove(parts, workspaceId).run();
  const { rows } = await target.pool.query(
    `select (select count(*)::int from memberships) as members,
            (select count(*)::int from passkeys) as passkeys`,
  );
  expect(rows).toEqual([{ members: 1, passkeys: expected }]);
  // The address of the other one, unless it is the same.
  const { rows: moved } = await source.pool.query('select url from moved_workspaces');
  expect(moved).toEqual([{ url: expected === 1 ? null : targetUrl }]);
});

test('an account at the target whose address is not verified is claimed by a verified member', async () => {
  await using source = await createTestDatabase();
  await using target = await createTestDatabase();
  const now = new Date();
  const workspaceId = uuidv7(now.getTime());
  await source.pool.query(`insert into workspaces (id, name, created_at) values ($1, 'Shop', $2)`, [
    workspaceId,
    now,
  ]);
  const add = async ({ pool }: typeof source, email: string, verifiedAt: Date | null) => {
    const id = uuidv7(now.getTime());
    await pool.query(
      `insert into people (id, email, email_key, name, password_hash, created_at, email_verified_at)
       values ($1, $2, $2, 'Jane', 'a hash', $3, $4)`,
      [id, email, now, verifiedAt],
    );
    return id;
  };
  for (const [email, verifiedAt] of [
    ['proved@shop.example', now],
    ['unproved@shop.example', null],
  ] as const) {
    const personId = await add(source, email, verifiedAt);
    await source.pool.query(
      `insert into memberships (workspace_id, person_id, role, created_at) values ($1, $2, 'owner', $3)`,
      [workspaceId, personId, now],
    );
    await add(target, email, null);
  }
  const parts = { source: source.pool, target: target.pool, clock: systemClock };
  await new WorkspaceMove(parts, workspaceId).run();
  const { rows } = await target.pool.query(
    `select p.email, p.password_hash, p.email_verified_at is not null as verified
       from people p join memberships m on m.person_id = p.id order by p.email`,
  );
  expect(rows).toEqual([
    { email: 'proved@shop.example', password_hash: null, verified: true },
    { email: 'unproved@shop.example', password_hash: 'a hash', verified: false },
  ]);
});
