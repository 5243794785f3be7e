import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { inTransaction } from '../db/connections/pool.ts';
import { uuidTime, uuidv7 } from '../lib/ids.ts';
import type { NewInboundMessage } from './inbound-message.ts';
import { insertInboundMessage, readInboundContent } from './inbound-message-store.ts';
import { listInboundMessages } from './list-inbound-messages.ts';

/** Lists of inbound messages, and what their statements read. */

const SCOPE = { workspaceId: uuidv7(Date.now()), mode: 'live' as const };
const COUNT = 1_200;
let database: TestDatabase;
const ids: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  await inTransaction(database.pool, async (client) => {
    for (let n = 0; n < COUNT; n += 1) {
      const message = newMessage(n);
      ids.unshift(message.id);
      await insertInboundMessage(client, message);
    }
  });
});
afterAll(() => database[Symbol.asyncDispose]());

/** Every hundredth message comes from Ann, and is to the desk. */
function newMessage(n: number): NewInboundMessage {
  const isRare = n % 100 === 0;
  const sender = isRare ? 'ann@example.net' : `user-${n}@example.net`;
  const recipient = isRare ? 'desk@rare.example' : 'all@reply.example';
  const nowMs = Date.now();
  return {
    ...SCOPE,
    id: uuidv7(nowMs),
    receivedAtMs: nowMs,
    domain: isRare ? 'rare.example' : 'reply.example',
    mailFrom: sender,
    recipients: [recipient],
    sender,
    senderName: null,
    subject: `Message ${n}`,
    headerMessageId: null,
    inReplyToMessageId: null,
    sizeBytes: 3,
    details: {
      to: [],
      cc: [],
      replyTo: [],
      date: null,
      inReplyTo: null,
      references: [],
      attachments: [],
      authentication: null,
    },
    addresses: [
      { key: sender, isSender: true, isRecipient: false },
      { key: recipient, isSender: false, isRecipient: true },
    ],
    fingerprint: randomBytes(32),
    raw: Buffer.from([0, 255, n % 256]),
  };
}

async function pages(query: Parameters<typeof listInboundMessages>[2], limit = 5) {
  const found: string[] = [];
  let requests = 0;
  for (let beforeId: string | undefined; ; ) {
    const page = await listInboundMessages(database.pool, SCOPE, query, { beforeId, limit });
    requests += 1;
    expect(page.messages.length).toBeLessThanOrEqual(limit);
    found.push(...page.messages.map(({ id }) => id));
    if (page.nextBeforeId === null) return { found, requests };
    beforeId = page.nextBeforeId;
  }
}

test('pages list every message once, newest first', async () => {
  expect((await pages({}, 100)).found).toEqual(ids);
});

test('each filter finds its messages, over pages', async () => {
  const rare = ids.filter((_, index) => (COUNT - 1 - index) % 100 === 0);
  for (const query of [
    { senderKey: 'ann@example.net' },
    { recipientKey: 'desk@rare.example' },
    { senderKey: 'ann@example.net', recipientKey: 'desk@rare.example' },
    { recipientDomain: 'rare.example' },
    { domain: 'rare.example' },
    { text: 'ANN message' },
  ]) {
    const { found } = await pages(query);
    expect([query, found]).toEqual([query, rare]);
  }
  // A sender is not a recipient.
  expect((await pages({ recipientKey: 'ann@example.net' })).found).toEqual([]);
  expect((await pages({ receivedBeforeMs: 1_000 })).found).toEqual([]);
});

test('the same transmission is stored once a day, and again the day after', async () => {
  const message = newMessage(1);
  const insert = (changes: Partial<NewInboundMessage>) =>
    inTransaction(database.pool, (client) =>
      insertInboundMessage(client, { ...message, ...changes }),
    );
  expect(await insert({})).toBe(true);
  expect(await insert({ id: uuidv7(Date.now()) })).toBe(false);
  expect(await insert({ id: uuidv7(Date.now()), mode: 'test' })).toBe(true);
  // The time of an ID can be later than that of the clock, which may be set back.
  const receivedAtMs = uuidTime(message.id) + 86_400_001;
  expect(await insert({ id: uuidv7(receivedAtMs), receivedAtMs })).toBe(true);
  expect(await readInboundContent(database.pool, SCOPE, message.id)).toEqual(message.raw);
});

test('a message is read and deleted by its key, in partitions without statistics too', async () => {
  const plan = async (statement: string) => {
    const { rows } = await database.pool.query(`explain ${statement}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  const key = `workspace_id = '${SCOPE.workspaceId}' and mode = 'live'`;
  const message = await plan(`select from inbound_messages where ${key} and id = '${ids[0]}'`);
  expect(message).toMatch(/_pkey/);
  expect(message).not.toMatch(/fingerprint/);
  const addresses = await plan(
    `delete from inbound_addresses where ${key} and message_id = any('{${ids[0]}}')`,
  );
  expect(addresses).toMatch(/_pkey/);
  expect(addresses).not.toMatch(/address_key_message_id/);
});
