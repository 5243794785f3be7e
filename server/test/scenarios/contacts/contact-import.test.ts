import { once } from 'node:events';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';

/**
 * An import processes every line or reports why not, once each, and never applies half a line. Files as
 * users make them are uploaded over HTTP; the reports, the contacts and, for 100,000 lines, the counts
 * are compared with the file.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const CSV = { 'content-type': 'text/csv; charset=utf-8' };
const NDJSON = { 'content-type': 'application/x-ndjson' };

function upload(rawBody: string | Buffer, headers: Record<string, string>, key?: string) {
  return app.call('POST', '/contacts/import', { rawBody, headers, ...(key ? { key } : {}) });
}

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary response fields.
async function finished(id: string, query = '', key?: string): Promise<any> {
  let report = await app.call('GET', `/imports/${id}${query}`, key ? { key } : {});
  await until(
    async () => {
      report = await app.call('GET', `/imports/${id}${query}`, key ? { key } : {});
      return report.json.status === 'finished' || report.json.status === 'failed';
    },
    { what: 'the import to finish', timeoutMs: 300_000 },
  );
  return report.json;
}

describe('CSV', () => {
  test('each line is created, updated, unchanged or failed', async () => {
    await app.call('PUT', '/contacts/known@example.com', {
      body: { first_name: 'Old', last_name: 'Name', attributes: { plan: 'free', age: 3 } },
    });
    const file = [
      'Email,First Name,last_name,plan',
      'New@Example.com,Nina,"O""Hara, Jr.",pro',
      'known@example.com,Knut,,pro',
      'known@example.com,Knut,,pro',
      'not an address,,,',
      'short@example.com',
      '"open@example.com,a,b,c',
      'last@example.com,,,',
    ].join('\r\n');
    const sent = await upload(file, CSV);
    expect(sent.status).toBe(202);
    expect(sent.headers.get('location')).toBe(`/api/v1/imports/${sent.json.id}`);
    expect(sent.json).toMatchObject({
      id: expect.stringMatching(/^imp_/),
      status: 'queued',
      mode: 'test',
      format: 'csv',
      bytes_total: Buffer.byteLength(file),
      created: 0,
      finished_at: null,
    });
    const report = await finished(sent.json.id);
    expect(report).toMatchObject({
      status: 'finished',
      bytes_done: Buffer.byteLength(file),
      lines: 8,
      created: 2,
      updated: 1,
      unchanged: 1,
      failed: 3,
      finished_at: expect.any(String),
      next_cursor: null,
    });
    expect(report.failures).toEqual([
      { line: 5, field: '/email', code: 'invalid_email', detail: expect.any(String) },
      { line: 6, field: null, code: 'wrong_field_count', detail: expect.any(String) },
      { line: 7, field: null, code: 'quote_not_closed', detail: expect.any(String) },
    ]);
    expect(JSON.stringify(report)).not.toContain('example.com');
    const made = await app.call('GET', '/contacts/new@example.com');
    expect(made.json).toMatchObject({
      email: 'New@example.com',
      first_name: 'Nina',
      last_name: 'O"Hara, Jr.',
      attributes: { plan: 'pro' },
    });
    const changed = await app.call('GET', '/contacts/known@example.com');
    expect(changed.json).toMatchObject({ first_name: 'Knut', last_name: 'Name' });
    expect(changed.json.attributes).toEqual({ plan: 'pro', age: 3 });
    const again = await finished((await upload(file, CSV)).json.id);
    expect(again).toMatchObject({ created: 0, updated: 0, unchanged: 4, failed: 3 });
  });

  test.each([
    ['nothing', '', 'empty'],
    ['no header', 'jane@example.com,Jane\n', 'missing_column'],
    ['UTF-16', Buffer.from('\ufeffemail\njane@example.com\n', 'utf16le'), 'wrong_encoding'],
  ])('%s is rejected immediately and leaves nothing behind', async (_, file, code) => {
    const answer = await upload(file, CSV);
    expect(answer.status).toBe(422);
    expect(answer.json.errors).toEqual([expect.objectContaining({ code })]);
    const { rows } = await app.database.pool.query(
      `select count(*) as left from contact_imports where status = 'uploading'`,
    );
    expect(rows[0].left).toBe(0);
  });
});

test('a large rejected upload gets its response, and the connection stays usable', async () => {
  const file = Buffer.alloc(24 * 1024 * 1024, 'name,phone\nJane,1\n');
  for (let n = 0; n < 3; n++) {
    const answer = await upload(file, CSV);
    expect([answer.status, answer.json.code]).toEqual([422, 'validation_failed']);
  }
});

describe('NDJSON', () => {
  test('accepts nested attributes; failures are paginated', async () => {
    const lines = [
      '{"email":"deep@example.com","attributes":{"a":{"b":[1,2,{"c":"d"}]}}}',
      '',
      ...Array.from({ length: 5 }, (_, n) => `{"email":"bad${n}"}`),
      '{"email":"deep@example.com","first_name":"Deep","attributes":{"e":true}}',
    ];
    const { json } = await upload(lines.join('\n'), NDJSON);
    const first = await finished(json.id, '?limit=3');
    expect(first).toMatchObject({ lines: 8, created: 1, updated: 1, failed: 5 });
    expect(first.failures.map((one: { line: number }) => one.line)).toEqual([3, 4, 5]);
    const second = await finished(json.id, `?limit=3&cursor=${first.next_cursor}`);
    expect(second.failures.map((one: { line: number }) => one.line)).toEqual([6, 7]);
    expect(second.next_cursor).toBeNull();
    const contact = await app.call('GET', '/contacts/deep@example.com');
    expect(contact.json.first_name).toBe('Deep');
    expect(contact.json.attributes).toEqual({ a: { b: [1, 2, { c: 'd' }] }, e: true });
    for (const query of [
      'cursor=x',
      `cursor=${Buffer.from('[-1]').toString('base64url')}`,
      'limit=1001',
    ]) {
      expect((await app.call('GET', `/imports/${json.id}?${query}`)).status).toBe(422);
    }
  });
});

test('imports 100,000 lines', { timeout: 400_000 }, async () => {
  const other = await app.app.workspaces.create('Large');
  const key = await app.newKey({ workspaceId: other.id });
  const lines = ['email,first_name,team,score'];
  for (let n = 0; n < 100_000; n++) {
    // Every 1000th line is malformed, every 500th is a duplicate.
    if (n % 1_000 === 7) lines.push(`broken-${n},x,y,z`);
    else if (n % 500 === 8)
      lines.push(`person-${n - 1_000}@large.test,Again,"team ${n % 10}",${n}`);
    else lines.push(`person-${n}@large.test,Person ${n},"team ${n % 10}",${n}`);
  }
  const startedAt = performance.now();
  const sent = await upload(`${lines.join('\n')}\n`, CSV, key);
  const storedAt = performance.now();
  expect(sent.status).toBe(202);
  const report = await finished(sent.json.id, '?limit=1000', key);
  const doneAt = performance.now();
  console.log(
    `100,000 lines: stored in ${Math.round(storedAt - startedAt)} ms, processed in ${Math.round(doneAt - storedAt)} ms`,
  );
  expect(report).toMatchObject({ status: 'finished', lines: 100_001, failed: 100 });
  expect(report.created + report.updated + report.unchanged).toBe(99_900);
  expect(report.failures.map((one: { line: number }) => one.line)).toEqual(
    Array.from({ length: 100 }, (_, n) => n * 1_000 + 9),
  );
  const { rows } = await app.database.pool.query(
    `select count(*) as contacts, count(distinct id) as ids,
       count(*) filter (where first_name = 'Again') as again from contacts where workspace_id = $1`,
    [other.id],
  );
  expect(rows[0].contacts).toBe(report.created);
  expect(rows[0].ids).toBe(report.created);
  expect(rows[0].again).toBe(200);
  const chunks = await app.database.pool.query('select from contact_import_chunks');
  expect(chunks.rowCount).toBe(0);
});

test('imports of live and test mode and of workspaces are separate', async () => {
  const { json } = await upload('email\nlive@example.com\n', CSV, app.liveKey);
  const report = await finished(json.id, '', app.liveKey);
  expect(report).toMatchObject({ mode: 'live', created: 1 });
  expect((await app.call('GET', `/imports/${json.id}`)).status).toBe(404);
  expect((await app.call('GET', '/imports/imp_nonsense')).status).toBe(404);
  expect((await app.call('GET', '/contacts/live@example.com')).status).toBe(404);
});

describe('an Idempotency-Key', () => {
  test('replays the first response for the same file and rejects another', async () => {
    const headers = { ...CSV, 'idempotency-key': 'import-once' };
    const first = await upload('email\nonce@example.com\n', headers);
    const again = await upload('email\nonce@example.com\n', headers);
    expect(again.status).toBe(202);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(again.json).toEqual(first.json);
    const other = await upload('email\ntwice@example.com\n', headers);
    expect([other.status, other.json.code]).toEqual([422, 'idempotency_key_reused']);
    const { rows } = await app.database.pool.query(
      `select count(*) as imports from contact_imports where id > $1 or status = 'uploading'`,
      ['ffffffff-0000-0000-0000-000000000000'],
    );
    expect(rows[0].imports).toBe(0);
    expect((await finished(first.json.id)).created).toBe(1);
    expect((await app.call('GET', '/contacts/twice@example.com')).status).toBe(404);
  });

  test('creates one import for two concurrent requests', async () => {
    const headers = { ...NDJSON, 'idempotency-key': 'import-race' };
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => upload('{"email":"race@example.com"}\n', headers)),
    );
    const taken = answers.filter(({ status }) => status === 202);
    expect(new Set(taken.map(({ json }) => json.id)).size).toBe(1);
    for (const { status, json } of answers) {
      if (status !== 202) expect([status, json.code]).toEqual([409, 'idempotency_key_in_progress']);
    }
  });
});

test.each(['application/json', 'text/plain'])(
  'a body of type %s is 415, whatever its content',
  async (type) => {
    const answer = await app.call('POST', '/contacts/import', {
      rawBody: '{"half":',
      headers: { 'content-type': type },
    });
    expect([answer.status, answer.json.code]).toEqual([415, 'unsupported_media_type']);
    expect(answer.json.detail).toBe('The file must be text/csv or application/x-ndjson.');
    expect(answer.json.fix).toContain('"Content-Type: text/csv"');
  },
);

test('a file that is too large is 413 and leaves nothing behind', async () => {
  await using small = await startApp({ env: { REQUEST_BODY_MAX_BYTES: '65536' } });
  const line = `{"email":"a@example.com","attributes":{"a":"${'x'.repeat(1_000)}"}}\n`;
  const fits = await small.call('POST', '/contacts/import', {
    rawBody: line.repeat(480),
    headers: NDJSON,
  });
  expect(fits.status).toBe(202);
  const answer = await small.call('POST', '/contacts/import', {
    rawBody: line.repeat(520),
    headers: NDJSON,
  });
  expect([answer.status, answer.json.code]).toEqual([413, 'body_too_large']);
  const { rowCount } = await small.database.pool.query(
    `select from contact_imports where status = 'uploading'`,
  );
  expect(rowCount).toBe(0);
});

test('more concurrent imports than a workspace may have are 429', async () => {
  const other = await app.app.workspaces.create('Busy');
  const key = await app.newKey({ workspaceId: other.id });
  const file = '{"email":"a@example.com"}\n';
  const once = { ...NDJSON, 'idempotency-key': 'once' };
  const first = await upload(file, once, key);
  await app.database.pool.query(
    `insert into contact_imports (workspace_id, mode, id, format, status, created_by, created_at, last_progress_at)
     select $1, 'test', gen_random_uuid(), 'ndjson', 'uploading', 'x', now(), now()
     from generate_series(1, 10)`,
    [other.id],
  );
  for (const headers of [NDJSON, once]) {
    const answer = await upload(file, headers, key);
    expect([answer.status, answer.json.code]).toEqual([429, 'quota_exceeded']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  await app.database.pool.query(`delete from contact_imports where created_by = 'x'`);
  expect((await upload(file, once, key)).json.id).toBe(first.json.id);
});

test('uploads that start at the same moment cannot exceed the limit of a workspace', async () => {
  const key = await app.newKey({ mode: 'live' });
  const { hostname, port } = new URL(app.url);
  const line = 'at-once@example.com\n'.repeat(5_000);
  const answers: string[] = [];
  // All pass the first check before any is stored.
  const holder = await app.database.pool.connect();
  await holder.query('begin; lock table contact_imports in exclusive mode');
  const sockets = Array.from({ length: 15 }, () => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    socket.on('data', (data) => answers.push(String(data).slice(0, 12)));
    socket.write(
      `POST /api/v1/contacts/import HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: text/csv\r\ncontent-length: 10000000\r\n\r\nemail\n${line}`,
    );
    return socket;
  });
  try {
    await until(async () => {
      const { rows } = await app.database.pool.query(
        `select count(*) as held from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      // A job of the server may wait too.
      return rows[0].held >= sockets.length;
    });
    await holder.query('commit');
    await until(() => answers.length >= 5, { what: 'the surplus uploads to be rejected' });
    expect(answers.every((answer) => answer === 'HTTP/1.1 429')).toBe(true);
  } finally {
    holder.release(true);
    for (const socket of sockets) socket.destroy();
  }
  await until(
    async () => {
      const { rows } = await app.database.pool.query(
        `select count(*) as open from contact_imports where status = 'uploading'`,
      );
      return rows[0].open === 0;
    },
    { what: 'the uploads to be dropped' },
  );
});

test('an aborted upload leaves nothing behind', async () => {
  const { hostname, port } = new URL(app.url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  socket.write(
    `POST /api/v1/contacts/import HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${app.testKey}\r\n` +
      'content-type: text/csv\r\ncontent-length: 10000000\r\n\r\nemail\n',
  );
  const line = 'cut-off@example.com\n'.repeat(5_000);
  for (let n = 0; n < 8; n++) {
    if (!socket.write(line)) await once(socket, 'drain');
  }
  const open = async (): Promise<number> => {
    const { rows } = await app.database.pool.query(
      `select count(*) as open from contact_imports i where status = 'uploading'
         and workspace_id = $1 and exists (select from contact_import_chunks c where c.import_id = i.id)`,
      [app.workspaceId],
    );
    return rows[0].open;
  };
  await until(async () => (await open()) === 1, { what: 'the upload to start' });
  socket.destroy();
  await until(async () => (await open()) === 0, { what: 'the upload to be dropped' });
  expect((await app.call('GET', '/contacts/cut-off@example.com')).status).toBe(404);
});
