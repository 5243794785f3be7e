import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database.ts';
import { silentLog } from '../lib/log.ts';
import { listen } from './listen.ts';

/** Sends notifications from one session to another, also across a lost connection. */

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase({ empty: true });
});

afterAll(async () => {
  await db[Symbol.asyncDispose]();
});

const until = (met: () => boolean | Promise<boolean>) => vi.waitUntil(met, { timeout: 30_000 });
const open = () => listen({ hosts: [{ connectionString: db.url }], log: silentLog });
const notify = (channel: string, payload: string) =>
  db.pool.query('select pg_notify($1, $2)', [channel, payload]);
const cutConnections = () =>
  db.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'postrider listen' and datname = current_database()`,
  );

test('a handler receives the notifications of its channel until it is removed', async () => {
  await using listener = open();
  const received: string[] = [];
  const removeHandler = listener.on('keys', (payload) => received.push(`a ${payload}`));
  listener.on('keys', (payload) => received.push(`b ${payload}`));
  await listener.ready;
  listener.on('domains', (payload) => received.push(`c ${payload}`));
  // LISTEN for a channel that is added later takes effect asynchronously.
  await until(async () => {
    await notify('domains', 'again');
    return received.includes('c again');
  });
  await notify('keys', '1');
  await until(() => received.includes('b 1'));
  removeHandler();
  await notify('keys', '2');
  await notify('other', '3');
  await notify('domains', '4');
  await until(() => received.includes('c 4'));
  expect(received.filter((text) => text !== 'c again')).toEqual(['a 1', 'b 1', 'b 2', 'c 4']);
});

test('after a reconnect, gap handlers are called and notifications arrive again', async () => {
  await using listener = open();
  const received: string[] = [];
  let gaps = 0;
  listener.on('keys', (payload) => received.push(payload));
  listener.onGap(() => {
    gaps += 1;
  });
  await listener.ready;
  expect(gaps).toBe(0);
  for (const round of [1, 2]) {
    await cutConnections();
    await until(() => gaps === round);
    await notify('keys', String(round));
    await until(() => received.includes(String(round)));
  }
  expect(received).toEqual(['1', '2']);
});

test('a handler that throws does not affect the others', async () => {
  await using listener = open();
  const received: string[] = [];
  listener.on('keys', () => {
    throw new Error('a bug');
  });
  listener.on('keys', (payload) => received.push(payload));
  await listener.ready;
  await notify('keys', 'on');
  await until(() => received.length === 1);
});

test('a stopped listener receives nothing and does not reconnect', async () => {
  const listener = open();
  const received: string[] = [];
  listener.on('keys', (payload) => received.push(payload));
  await listener.ready;
  await listener.stop();
  await notify('keys', 'late');
  const { rows } = await db.pool.query(
    `select count(*) as n from pg_stat_activity
      where application_name = 'postrider listen' and datname = current_database()`,
  );
  expect(rows).toEqual([{ n: 0 }]);
  expect(received).toEqual([]);
});
