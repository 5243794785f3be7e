import { expect, test } from 'vitest';
import { ApiKeys, operatorIssuer } from '../../../src/accounts/api-keys.ts';
import { Workspaces } from '../../../src/accounts/workspaces.ts';
import { ContactImports } from '../../../src/contacts/contact-imports.ts';
import { CHUNK_BYTES } from '../../../src/contacts/import-store.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { subscriptionsWithoutStreams } from '../../harness/database/contact-subscriptions.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { createServerProcess, type ServerProcess } from '../../harness/server-process.ts';

/**
 * Whatever crashes during an import, each line takes effect exactly once. A real server is killed with
 * SIGKILL several times while it processes an import; another process on the same database continues.
 * Every line increments its own counter, so that a lost or repeated line would show.
 */

const LINES = 20_000;
const KILLS = 2;

test('the import of a killed node is finished by another, each line once', {
  timeout: 400_000,
}, async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const clock = systemClock;
  const workspace = await new Workspaces({ pool, clock }).create('Test');
  const keys = new ApiKeys({ pool, clock });
  const { token } = await keys.create(operatorIssuer(workspace.id), { name: 'K', mode: 'test' });
  const env = {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key for tests, long enough to be one',
    ALLOW_UNSAFE_DATABASE: 'true',
  };
  const nodes: ServerProcess[] = [];
  const startNode = async (): Promise<ServerProcess> => {
    const node = await createServerProcess({ dataDir: '/nonexistent', env });
    nodes.push(node);
    await node.start();
    return node;
  };
  const counted = async (): Promise<{ lines: number; status: string }> => {
    const { rows } = await pool.query('select lines, status from contact_imports');
    return rows[0];
  };
  try {
    const first = await startNode();
    // Each address occurs four times, each time with one more name.
    const lines = Array.from(
      { length: LINES },
      (_, n) =>
        `{"email":"p${n % (LINES / 4)}@example.com","attributes":{"t${Math.floor((4 * n) / LINES)}":${n}}}\n`,
    );
    const sent = await fetch(`${first.url}/api/v1/contacts/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
      body: lines.join(''),
    });
    expect(sent.status).toBe(202);
    let node = first;
    let seen = 0;
    let killed = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const what = 'lines to be processed';
      await until(async () => (await counted()).lines > seen, { what, timeoutMs: 60_000 });
      await node.kill();
      const { lines: done, status } = await counted();
      // A fast machine may be done before the second kill.
      if (status === 'running') killed += 1;
      else break;
      seen = done;
      node = await startNode();
    }
    expect(killed).toBeGreaterThan(0);
    await until(async () => (await counted()).status === 'finished', { timeoutMs: 120_000 });
    const { rows } = await pool.query(
      'select lines, created, updated, unchanged, failed from contact_imports',
    );
    expect(rows[0]).toEqual({
      lines: LINES,
      created: LINES / 4,
      updated: (LINES * 3) / 4,
      unchanged: 0,
      failed: 0,
    });
    const contacts = await pool.query<{ attributes: Record<string, number> }>(
      'select attributes from contacts',
    );
    const values = contacts.rows.flatMap(({ attributes }) => Object.values(attributes));
    expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: LINES }, (_, n) => n));
  } finally {
    for (const node of nodes) await node.kill();
  }
});

test('two nodes share an import and process each line once', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const subscriptions = subscriptionsWithoutStreams(pool);
  const parts = { pool, clock: systemClock, log: silentLog, subscriptions };
  const limits = { uploadBytesMax: 2 ** 30, openMax: 10 };
  const nodes = [1, 2, 3].map(() => new ContactImports({ ...parts, limits }));
  const owner = {
    workspaceId: '00000000-0000-7000-8000-000000000001',
    mode: 'live' as const,
    actor: 'key_x',
  };
  async function* file(name: string): AsyncGenerator<Buffer> {
    for (let n = 0; n < 4_000; n++)
      yield Buffer.from(`{"email":"${name}${n % 1_500}@example.com"}\n`);
  }
  const uploads = await Promise.all(
    ['a', 'b', 'a'].map((name) =>
      (nodes[0] as ContactImports).receive(owner, 'ndjson', file(name)),
    ),
  );
  const jobs = await Promise.all(uploads.map((upload) => upload.start()));
  const idle = async (): Promise<boolean> => {
    await Promise.all(nodes.map((node) => node.work()));
    const { rowCount } = await pool.query(`select from contact_imports where status <> 'finished'`);
    return rowCount === 0;
  };
  await until(idle, { what: 'all imports to finish' });
  const { rows } = await pool.query(
    'select sum(created)::int as created, sum(unchanged)::int as unchanged, sum(failed)::int as failed from contact_imports',
  );
  expect(rows[0]).toEqual({ created: 3_000, unchanged: 9_000, failed: 0 });
  expect(jobs).toHaveLength(3);
});

test('an upload is never read faster than it is stored', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const imports = new ContactImports({
    pool,
    clock: systemClock,
    log: silentLog,
    limits: { uploadBytesMax: 2 ** 30, openMax: 10 },
    subscriptions: subscriptionsWithoutStreams(pool),
  });
  const owner = {
    workspaceId: '00000000-0000-7000-8000-000000000001',
    mode: 'live' as const,
    actor: 'key_x',
  };
  let given = 0;
  let aheadMax = 0;
  async function* file(): AsyncGenerator<Buffer> {
    const piece = Buffer.from(`{"email":"${'x'.repeat(40)}@example.com"}\n`.repeat(500));
    for (let n = 0; n < 60; n++) {
      const { rows } = await pool.query(
        'select coalesce(sum(octet_length(content)), 0)::int as stored from contact_import_chunks',
      );
      aheadMax = Math.max(aheadMax, given - rows[0].stored);
      given += piece.length;
      yield piece;
    }
  }
  const upload = await imports.receive(owner, 'ndjson', file());
  expect(given).toBeGreaterThan(5 * CHUNK_BYTES);
  expect(aheadMax).toBeLessThanOrEqual(2 * CHUNK_BYTES);
  await upload.discard();
  expect((await pool.query('select from contact_import_chunks')).rowCount).toBe(0);
});
