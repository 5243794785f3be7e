import { expect, test } from 'vitest';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { parseReturnPath } from '../../../src/mail/return-path-address.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import {
  deliveriesOf,
  enqueue,
  eventsOf,
  newWorkspace,
  type QueuedMessage,
} from '../../harness/database/enqueue-messages.ts';
import { startEngine, until } from '../../harness/delivery/delivery-engine.ts';
import { expectDeliveredUnchanged } from '../../harness/delivery/expect-delivered-unchanged.ts';
import { RETURN_PATH_KEY, signedLiveRoute } from '../../harness/delivery/signed-live-route.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/**
 * The receiver gets exactly the composed message with valid signatures. Queue, engine, DNS and SMTP are
 * real; the received bytes are compared with the composed ones and verified by another DKIM implementation.
 */
test('one message with an attachment, its return path and its attempt', async () => {
  await using database = await createTestDatabase();
  await using receiver = await startSmtpReceiver();
  await using dns = await startDnsServer({
    'example.org': { MX: ['10 mx.example.org'] },
    'mx.example.org': { A: ['127.0.0.1'] },
  });
  const clock = systemClock;
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, clock.now());
  const nowMs = clock.now();
  const file = {
    filename: 'list.txt',
    contentType: 'text/plain',
    content: Buffer.from('.\r\n..\r\n'),
  };
  const html = '<p>Grüße</p>\n.\n..two dots\n';
  const queued = {
    workspaceId,
    nowMs,
    recipients: ['jane@example.org'],
    subject: 'Grüße',
    html,
    attachments: [file],
    metadata: { order: '7' },
  };
  const [id] = (await enqueue(pool, [queued])) as [string];
  const live = signedLiveRoute({ clock, dns: dns.address, mxPort: receiver.port });
  await using _engine = startEngine({ url: database.url, clock, live });
  await until(async () => (await deliveriesOf(pool, id))[0]?.status === 'delivered');

  const [mail] = receiver.messages;
  expect(receiver.messages).toHaveLength(1);
  expect(receiver.violations).toEqual([]);
  await expectDeliveredUnchanged(receiver.messages, new Map([[id, queued]]));
  expect(mail?.recipients).toEqual(['jane@example.org']);
  expect(parseReturnPath(mail?.mailFrom ?? '', RETURN_PATH_KEY)).toEqual({
    messageId: id,
    workspaceTail: workspaceId.slice(-8),
    ordinal: 0,
  });
  expect(mail?.mailFrom).toMatch(/@bounces\.example\.com$/);

  const [event] = await eventsOf(pool, workspaceId);
  expect(event).toMatchObject({
    type: 'message.delivered',
    sequence: 2,
    data: {
      message_id: encodeId('msg', id),
      recipient: 'jane@example.org',
      attempt: 1,
      metadata: { order: '7' },
      smtp: { code: 250, mx: 'mx.example.org', ip: '127.0.0.1', tls: null },
    },
  });
  const { rows } = await pool.query<{ transcript: string }>(
    'select transcript from attempts where message_id = $1',
    [id],
  );
  const dialog = rows[0]?.transcript ?? '';
  expect(dialog).toContain('EHLO mail.sender.test');
  expect(dialog).toContain('RCPT TO:<jane@example.org>');
  expect(dialog).not.toContain('two dots');
});

test('hundreds of messages share a few connections', async () => {
  await using database = await createTestDatabase();
  await using receiver = await startSmtpReceiver();
  await using dns = await startDnsServer({
    'example.org': { MX: ['10 mx.example.org'] },
    'other.example': { MX: ['10 mx.example.org'] },
    'mx.example.org': { A: ['127.0.0.1'] },
  });
  const clock = systemClock;
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, clock.now());
  const nowMs = clock.now();
  const count = 400;
  const queued = Array.from({ length: count }, (_, n) => ({
    workspaceId,
    nowMs,
    recipients: [n % 2 ? `u${n}@example.org` : `u${n}@other.example`],
    html: `<p>${n}</p>`,
  }));
  const ids = await enqueue(pool, queued);
  const live = signedLiveRoute({
    clock,
    dns: dns.address,
    mxPort: receiver.port,
    shaping: { default: { connectionsMax: 5, messagesPerConnectionMax: 50 } },
  });
  await using _engine = startEngine({ url: database.url, clock, live });
  const open = `select count(*)::int as n from deliveries where status <> 'delivered'`;
  await until(async () => (await pool.query<{ n: number }>(open)).rows[0]?.n === 0, {
    timeoutMs: 60_000,
  });
  expect(receiver.messages).toHaveLength(count);
  expect(new Set(receiver.messages.flatMap((mail) => mail.recipients)).size).toBe(count);
  const byId = ids.map((id, n) => [id, queued[n] as QueuedMessage] as const);
  await expectDeliveredUnchanged(receiver.messages, new Map(byId));
  expect(receiver.violations).toEqual([]);
  const perSession = receiver.sessions.map(
    (session) => receiver.messages.filter((mail) => mail.session === session).length,
  );
  expect(Math.max(...perSession)).toBeLessThanOrEqual(50);
  expect(receiver.sessions.length).toBeLessThanOrEqual(count / 50 + 10);
});
