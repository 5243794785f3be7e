import { expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';

/** While nothing can be stored, sends are refused and the node is not ready for traffic. */

async function readiness(app: TestApp): Promise<[number, string | undefined]> {
  const answer = await fetch(`${app.url}/readyz`);
  const { reason } = (await answer.json()) as { reason?: string };
  return [answer.status, reason];
}

const send = (app: TestApp) => app.call('POST', '/transactional/send', { body: validMessage() });

/** Makes changes of a table fail with an error code of PostgreSQL. */
async function failChanges({ database }: TestApp, table: string, code: string): Promise<void> {
  await database.pool.query(`
    create or replace function fail() returns trigger language plpgsql as
      $$ begin raise exception 'no' using errcode = '${code}'; end $$;
    create or replace trigger fail before insert or update on ${table}
      for each row execute function fail()`);
}

const allowChanges = ({ database }: TestApp, table: string) =>
  database.pool.query(`drop trigger fail on ${table}`);

test('a node is not ready while it cannot write', async () => {
  await using app = await startApp();
  // The row that readiness writes to is created by the first maintenance.
  await until(
    async () => (await app.database.pool.query('select from retention_clock')).rowCount === 1,
  );
  expect(await readiness(app)).toEqual([200, undefined]);
  await failChanges(app, 'retention_clock', '53100');
  expect(await readiness(app)).toEqual([503, 'the disk of the database is full']);
  await failChanges(app, 'retention_clock', '25006');
  expect(await readiness(app)).toEqual([503, 'the database is read-only']);
  await allowChanges(app, 'retention_clock');
  expect(await readiness(app)).toEqual([200, undefined]);

  // Small changes may succeed while messages do not fit.
  await failChanges(app, 'messages', '53100');
  expect((await send(app)).json.code).toBe('storage_unavailable');
  expect(await readiness(app)).toEqual([503, 'the disk of the database is full']);
  await allowChanges(app, 'messages');
  expect((await send(app)).status).toBe(202);
});
