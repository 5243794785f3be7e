import { afterAll, beforeAll, expect, test } from 'vitest';
import { OperatorKeys } from '../../../src/accounts/operator-keys.ts';
import { dropExpired } from '../../../src/db/schema/partitions.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { S3_CREDENTIALS, type S3Server, startS3 } from '../../harness/http/s3-server.ts';
import { until } from '../../harness/until.ts';

/** Contents move to a bucket after four days; readers, erasure, retries and retention do not notice. */

const DAY_MS = 86_400_000;
const clock = new ManualClock(systemClock.now() - 8 * DAY_MS);
let database: TestDatabase;
let s3: S3Server;
let app: TestApp;

beforeAll(async () => {
  database = await createTestDatabase({ nowMs: clock.now() });
  s3 = await startS3();
  app = await startApp({
    clock,
    database,
    env: {
      CONTENT_BUCKET_URL: s3.url,
      CONTENT_BUCKET_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
      CONTENT_BUCKET_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
    },
  });
});

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await s3[Symbol.asyncDispose]();
});

const CONTENT_LINE = '"type":"message_content"';

async function send(changes: Record<string, unknown> = {}): Promise<string> {
  const { status, json } = await app.call('POST', '/transactional/send', {
    body: validMessage(changes),
  });
  expect(status).toBe(202);
  return json.id;
}

async function becomes(id: string, status: string): Promise<void> {
  await until(async () => (await app.call('GET', `/messages/${id}`)).json.status === status, {
    clock,
    what: `${id} ${status}`,
  });
}

async function rowsOf(table: string): Promise<number> {
  const { rows } = await database.pool.query(`select count(*)::int as n from ${table}`);
  return rows[0].n;
}

const minutesPass = (check: () => Promise<boolean>) => until(check, { clock, stepMs: 60_000 });

test('contents are read from the bucket, erased, retried and expired', async () => {
  const attachment = {
    filename: 'a.txt',
    content_type: 'text/plain',
    content: Buffer.from('attached '.repeat(1_000)).toString('base64'),
  };
  const kept = await send({ attachments: [attachment] });
  const erased = await send({ to: { email: 'erase-me@example.com' } });
  const stream = { key: 'short', purpose: 'transactional' };
  expect((await app.call('POST', '/streams', { body: stream })).status).toBe(201);
  const shortLived = await send({ stream: 'short' });
  const failed = await send({ to: { email: 'bounced@simulator.test' } });
  const changed = await send({ html: '<p>Before</p>' });
  await becomes(kept, 'delivered');
  await becomes(changed, 'delivered');
  await becomes(erased, 'delivered');
  await becomes(shortLived, 'delivered');
  await becomes(failed, 'bounced');
  const read = async (id: string, what: string) => app.call('GET', `/messages/${id}/${what}`);
  const before = {
    content: (await read(kept, 'content')).json,
    raw: (await read(kept, 'raw')).text,
  };

  // The bucket is down at first: nothing is lost, and the next run continues.
  s3.isDown = true;
  clock.advance(6 * DAY_MS);
  await minutesPass(async () => (await rowsOf('content_packs')) > 0);
  expect(await rowsOf('message_contents')).toBe(5);
  expect(await rowsOf('archived_contents')).toBe(0);
  // A content that changes between its reading and the commit is left out, and archived by the next run.
  s3.onPut = async () => {
    delete s3.onPut;
    await database.pool.query(
      `update message_contents set html = '<p>After</p>' where html like '%Before%'`,
    );
  };
  s3.isDown = false;
  await minutesPass(async () => (await rowsOf('message_contents')) === 0);
  expect(await rowsOf('message_attachments')).toBe(0);
  expect(await rowsOf('archived_contents')).toBe(5);
  expect((await read(changed, 'content')).json.html).toBe('<p>After</p>');
  const stored = Buffer.concat([...s3.objects.values()]);
  for (const text of ['Hello', 'attached', 'erase-me', 'a.txt'])
    expect(stored.includes(text)).toBe(false);

  expect((await read(kept, 'content')).json).toEqual(before.content);
  expect((await read(kept, 'raw')).text).toBe(before.raw);
  // The export of the workspace has the contents, or is cut off.
  const { token } = await new OperatorKeys({ pool: database.pool, clock }).create({ name: 'O' });
  const workspace = encodeId('wsp', app.workspaceId);
  const exported = () =>
    fetch(`${app.url}/api/v1/operator/workspaces/${workspace}/export?mode=test`, {
      headers: { authorization: `Bearer ${token}` },
    }).then((response) => response.text());
  const contents = (await exported()).split('\n').filter((line) => line.includes(CONTENT_LINE));
  expect(contents).toHaveLength(5);
  const { message_id, ...content } = contents
    .map((line) => JSON.parse(line).data)
    .find((data) => data.message_id === kept);
  const [file] = before.content.attachments;
  const attachments = [{ ...file, content: attachment.content }];
  expect(content).toEqual({ ...before.content, attachments });

  s3.isDown = true;
  await expect(exported()).rejects.toThrow();
  const refused = await read(kept, 'content');
  expect([refused.status, refused.json.code]).toEqual([503, 'storage_unavailable']);
  expect((await app.call('GET', `/messages/${kept}`)).status).toBe(200);
  s3.isDown = false;

  // Without its key, an erased content cannot be read although its bytes are still in the pack.
  await app.call('DELETE', '/contacts/erase-me@example.com?erase=true');
  await minutesPass(async () => (await rowsOf('archived_contents')) === 4);
  expect((await read(erased, 'content')).status).toBe(404);

  // The retention period of a stream reaches the archive.
  await app.call('PATCH', '/streams/short', { body: { content_retention_days: 1 } });
  await minutesPass(async () => (await rowsOf('archived_contents')) === 3);
  expect((await read(shortLived, 'content')).status).toBe(404);

  expect((await app.call('POST', `/messages/${failed}/retry`)).status).toBe(200);
  expect(await rowsOf('message_contents')).toBe(1);
  await becomes(failed, 'bounced');
  await minutesPass(async () => (await rowsOf('message_contents')) === 0);
  expect((await read(failed, 'content')).status).toBe(200);

  const retention = { recordDays: 90, contentDays: 30, webhookDays: 30, auditDays: 365 };
  await dropExpired(database.pool, clock.now() + 60 * DAY_MS, retention);
  await minutesPass(async () => (await rowsOf('content_packs')) === 0);
  expect([...s3.objects.keys()]).toEqual([]);
});
