import net from 'node:net';
import { parseIntoClientConfig } from 'pg-connection-string';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../harness/database/database.ts';
import { createServerProcess } from '../../harness/server-process.ts';
import { createTempDir } from '../../harness/temp-dir.ts';

/**
 * After a failover the first host of DATABASE_URL is a standby. Every node must still start, also one
 * without a delivery thread, which would keep the process alive.
 */

test('a node starts while the first host is a standby', { timeout: 120_000 }, async () => {
  await using folder = await createTempDir();
  await using primary = await createTestDatabase();
  await using standby = await createTestDatabase({ empty: true });
  await standby.pool.query(
    `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
  );
  const { database, user } = parseIntoClientConfig(primary.url);
  await using first = await listenFor(standby.url);
  await using second = await listenFor(primary.url);
  const hosts = [first, second].map(({ port }) => `127.0.0.1:${port}`);
  const server = await createServerProcess({
    dataDir: folder.path,
    env: {
      DATABASE_URL: `postgresql://${user}@${hosts.join()}/${database}`,
      SECRET_KEY: 'ab'.repeat(32),
      ROLES: 'api',
      ALLOW_UNSAFE_DATABASE: 'true',
    },
  });
  try {
    await server.start();
    expect(await server.isReady()).toBe(true);
  } finally {
    await server.stop();
  }
});

/** A TCP port of a database. The client's choice of database is replaced, as hosts share one name. */
async function listenFor(url: string): Promise<AsyncDisposable & { port: number }> {
  const { host, port, database } = parseIntoClientConfig(url);
  const open = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect({ path: `${host}/.s.PGSQL.${port ?? 5432}` });
    for (const socket of [near, far]) open.add(socket.on('error', () => {}));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.once('data', (startup: Buffer) => {
      far.write(withDatabase(startup, database ?? ''));
      near.pipe(far);
    });
    far.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A startup message has a length, a version, and names and values that end in NUL. */
function withDatabase(startup: Buffer, database: string): Buffer {
  const text = startup.subarray(8).toString('latin1');
  const changed = text.replace(
    /\0?database\0[^\0]*\0/,
    (found) => `${found.startsWith('\0') ? '\0' : ''}database\0${database}\0`,
  );
  const message = Buffer.concat([startup.subarray(0, 8), Buffer.from(changed, 'latin1')]);
  message.writeUInt32BE(message.length, 0);
  return message;
}
