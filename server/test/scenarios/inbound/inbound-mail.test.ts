import { createHash } from 'node:crypto';
import nodemailer from 'nodemailer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markActive, markMoving, readProfile } from '../../../src/accounts/workspace-move-store.ts';
import { validMessage } from '../../harness/app.ts';
import {
  type InboundServer,
  letter,
  OTHER_RECEIVING,
  RECEIVING,
  startInboundServer,
} from '../../harness/smtp/inbound-setup.ts';
import { connectAndGreet, crlf } from '../../harness/smtp/return-path-setup.ts';
import { until } from '../../harness/until.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/** Mail from other servers to any address of a domain for which receiving is on. */

let server: InboundServer;

beforeAll(async () => {
  server = await startInboundServer({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
});
afterAll(() => server[Symbol.asyncDispose]());

const get = async (id: string, key = server.app.liveKey) =>
  (await server.app.call('GET', `/inbound-messages/${id}`, { key })).json;

async function storedWith(subject: string, key?: string) {
  const found = await server.list(`?q=${encodeURIComponent(subject)}`, key);
  return found.filter((one: { subject: string }) => one.subject === subject);
}

test('a mail is stored byte for byte, with its envelope, its content and one event', async () => {
  const { app } = server;
  await using receiver = await startWebhookReceiver();
  await app.call('POST', '/webhooks', {
    key: app.liveKey,
    body: { url: receiver.url, events: ['inbound_message.*'] },
  });
  const transport = nodemailer.createTransport({
    host: '127.0.0.1',
    port: server.port,
    ignoreTLS: true,
    name: 'mx.example.net',
  });
  const mail = {
    from: 'Jané Doe <jane@example.net>',
    to: [`support+42@${RECEIVING}`],
    cc: 'Bob <bob@example.net>',
    replyTo: 'desk@example.net',
    subject: 'Grüße from nodemailer',
    text: 'Hello\n.dot\n',
    html: '<p>Hello</p>',
    attachments: [{ filename: 'a é.txt', content: 'file' }],
    envelope: { from: 'jane@example.net', to: [`Support+42@${RECEIVING.toUpperCase()}`] },
  };
  const raw = await nodemailer
    .createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
    .sendMail(mail);
  await transport.sendMail({ raw: raw.message as Buffer, envelope: mail.envelope });

  const [summary] = await storedWith('Grüße from nodemailer');
  expect(summary).toMatchObject({
    mode: 'live',
    domain: RECEIVING,
    envelope: { from: 'jane@example.net', to: [`Support+42@${RECEIVING}`] },
    from: { email: 'jane@example.net', name: 'Jané Doe' },
    to: [{ email: `support+42@${RECEIVING}`, name: null }],
    cc: [{ email: 'bob@example.net', name: 'Bob' }],
    reply_to: [{ email: 'desk@example.net', name: null }],
    message_id: raw.messageId.slice(1, -1),
    in_reply_to_message_id: null,
    attachments: [
      {
        index: 0,
        filename: 'a é.txt',
        content_type: 'text/plain',
        size_bytes: 4,
        content_id: null,
      },
    ],
    authentication: { spf: { result: 'none' }, dkim: [], dmarc: { result: 'none' } },
  });
  const whole = await get(summary.id);
  expect(whole).toMatchObject({ text: 'Hello\n.dot\n', html: '<p>Hello</p>' });
  expect(whole.headers[0].name).toBe('Received');

  const stored = await app.call('GET', `/inbound-messages/${summary.id}/raw`, { key: app.liveKey });
  const received =
    /^Received: from mx\.example\.net \(\[127\.0\.0\.1\]\)\r\n\tby mail\.postrider\.test with ESMTP id (inm_\w+) for <Support\+42@reply\.example\.org>;\r\n\t.*\+0000\r\n/;
  expect(received.exec(stored.text)?.[1]).toBe(summary.id);
  expect(stored.text.replace(received, '')).toBe(raw.message.toString());
  expect(summary.size_bytes).toBe(Buffer.byteLength(stored.text));

  await until(() => receiver.received.length > 0);
  const event = JSON.parse(receiver.received[0]?.body ?? '{}');
  expect(event).toMatchObject({ type: 'inbound_message.received', mode: 'live', data: summary });
});

test('a reply finds the message that it answers', async () => {
  const { app } = server;
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  const send = async (changes = {}) => {
    const key = app.liveKey;
    const sent = await app.call('POST', '/transactional/send', {
      key,
      body: validMessage(changes),
    });
    return sent.json.id as string;
  };
  const generated = await send();
  const chosen = await send({ headers: { 'Message-ID': '<order.42@shop.example.org>' } });
  const answered = async (subject: string, header: string) => {
    expect((await server.deliver(`a@${RECEIVING}`, letter({ subject, header }))).code).toBe(250);
    return (await storedWith(subject))[0];
  };
  const own = `<${generated}@example.org>`;
  expect(await answered('Re-1', `In-Reply-To: ${own}\n`)).toMatchObject({
    in_reply_to: `${generated}@example.org`,
    in_reply_to_message_id: generated,
  });
  const references = `References: ${own}\n <order.42@shop.example.org> <unknown@x.example>\n`;
  expect((await answered('Re-2', references)).in_reply_to_message_id).toBe(chosen);
  // The id of a message under another domain is not its Message-ID.
  const forged = `In-Reply-To: <${generated}@example.net>\n`;
  expect((await answered('Re-3', forged)).in_reply_to_message_id).toBeNull();
  const replies = await server.list(`?in_reply_to_message_id=${generated}`);
  expect(replies.map(({ subject }) => subject)).toEqual(['Re-1']);
  // Another workspace does not find it.
  const to = `a@${OTHER_RECEIVING}`;
  await server.deliver(to, letter({ subject: 'Re-4', header: `In-Reply-To: ${own}\n` }));
  const [foreign] = await storedWith('Re-4', server.other.key);
  expect(foreign.in_reply_to_message_id).toBeNull();
});

test('recipients of two workspaces get one message each', async () => {
  const to = [`a@${RECEIVING}`, `b@${OTHER_RECEIVING}`, `c@${RECEIVING}`, `A@${RECEIVING}`];
  expect((await server.deliver(to, letter({ subject: 'Shared' }))).code).toBe(250);
  const [own, ...more] = await storedWith('Shared');
  const [other] = await storedWith('Shared', server.other.key);
  expect(more).toEqual([]);
  expect(own.envelope.to).toEqual([`A@${RECEIVING}`, `c@${RECEIVING}`]);
  expect(other).toMatchObject({ domain: OTHER_RECEIVING, envelope: { to: [to[1]] } });
  expect(
    (await server.app.call('GET', `/inbound-messages/${own.id}`, { key: server.other.key })).status,
  ).toBe(404);
});

test('a retransmission is stored once and answered with 250', async () => {
  const data = letter({ subject: 'Again' });
  const to = [`x@${RECEIVING}`, `y@${OTHER_RECEIVING}`];
  const replies = await Promise.all([1, 2, 3].map(() => server.deliver(to, data)));
  expect(replies.map(({ code }) => code)).toEqual([250, 250, 250]);
  expect(await storedWith('Again')).toHaveLength(1);
  expect(await storedWith('Again', server.other.key)).toHaveLength(1);
  // To another address, it is another mail.
  await server.deliver(`z@${RECEIVING}`, data);
  expect(await storedWith('Again')).toHaveLength(2);
});

test('unknown domains are refused, and a mail for a known address is accepted beside them', async () => {
  using client = await connectAndGreet(server.port);
  expect((await client.command('MAIL FROM:<>')).code).toBe(250);
  const unknown = await client.command('RCPT TO:<a@example.edu>');
  expect([unknown.code, unknown.text]).toEqual([550, '5.1.1 Unknown mailbox.']);
  expect((await client.command('RCPT TO:<a@sub.reply.example.org>')).code).toBe(550);
  expect((await client.command(`RCPT TO:<postmaster@${RECEIVING}>`)).code).toBe(250);
  expect((await client.command('DATA')).code).toBe(354);
  client.write(`${letter({ subject: 'Null sender' })}\r\n.\r\n`);
  expect((await client.reply()).code).toBe(250);
  const [found] = await storedWith('Null sender');
  expect(found.envelope).toEqual({ from: '', to: [`postmaster@${RECEIVING}`] });
});

test('a domain that no longer receives refuses mail within a moment', async () => {
  const { app } = server;
  const { json } = await app.call('GET', '/domains', { key: app.liveKey });
  const { id } = json.data.find(({ name }: { name: string }) => name === RECEIVING);
  const change = (receiving: boolean) =>
    app.call('PATCH', `/domains/${id}`, { key: app.liveKey, body: { receiving } });
  await change(false);
  await until(async () => (await server.deliver(`a@${RECEIVING}`, letter())).code === 550);
  await change(true);
  await until(async () => (await server.deliver(`a@${RECEIVING}`, letter())).code === 250);
});

test('a workspace that is moving asks to try again, a deleted one refuses', async () => {
  const { pool } = server.app.app.storage;
  const id = server.other.workspaceId;
  const profile = await readProfile(pool, id);
  await markMoving(pool, id, Date.now());
  const moving = await server.deliver(`a@${OTHER_RECEIVING}`, letter());
  expect([moving.code, moving.text]).toEqual([451, expect.stringContaining('moved')]);
  await markActive(pool, id, profile);
  await pool.query(
    'update workspaces set deletion_requested_at = now(), delete_at = now() where id = $1',
    [id],
  );
  expect((await server.deliver(`a@${OTHER_RECEIVING}`, letter())).code).toBe(550);
  await markActive(pool, id, profile);
  expect((await server.deliver(`a@${OTHER_RECEIVING}`, letter())).code).toBe(250);
});

test('hostile mail is stored as it is, or refused with a permanent error', async () => {
  const to = `a@${RECEIVING}`;
  const garbage = Buffer.concat([
    Buffer.from(
      'From: \xff\xfe<a@b\r\nSubject: \x00bin\xe9\r\nDate: Fri, 99 Foo 99999 99:99\r\n',
      'latin1',
    ),
    Buffer.from('Content-Type: application/octet-stream\r\n\r\n\x00\x01\xff\xfe\r\n', 'latin1'),
  ]);
  expect((await server.deliver(to, garbage)).code).toBe(250);
  const [stored] = await server.list();
  expect(stored.subject).toContain('bin');
  expect(stored.date).toBeNull();
  const raw = await fetch(`${server.app.url}/api/v1/inbound-messages/${stored.id}/raw`, {
    headers: { authorization: `Bearer ${server.app.liveKey}` },
  });
  const bytes = Buffer.from(await raw.arrayBuffer());
  const sent = Buffer.concat([garbage, Buffer.from('\r\n')]);
  expect(bytes.subarray(-sent.length).equals(sent)).toBe(true);

  expect((await server.deliver(to, '')).code).toBe(250);
  const loop = letter({ header: 'Received: from a by b; now\n'.repeat(51) });
  expect(await server.deliver(to, loop)).toMatchObject({
    code: 554,
    text: expect.stringMatching(/^5\.4\.6/),
  });
  const parts = letter({
    header: 'Content-Type: multipart/mixed; boundary=x\n',
    body: '--x\n\n'.repeat(6_000),
  });
  expect(await server.deliver(to, parts)).toMatchObject({
    code: 554,
    text: expect.stringMatching(/^5\.6\.0/),
  });
  const header = letter({ header: `X-Long: ${'a b '.repeat(80_000)}\n` });
  expect((await server.deliver(to, header)).code).toBe(554);
  const smuggled = `${crlf('Subject: x\n\nhi')}\n.\r\nMAIL FROM:<x@y.example>\r\n`;
  expect((await server.deliver(to, smuggled)).code).toBe(550);
  // Encrypted mail that we could not send unchanged can be received.
  const sealed = crlf(
    'From: a@example.net\nSubject: Sealed\nContent-Type: multipart/signed; boundary=x; protocol="application/pgp-signature"\n\n--x\nContent-Type: text/plain\nContent-Transfer-Encoding: binary\n\n',
  );
  const body = Buffer.concat([
    Buffer.from(sealed),
    Buffer.from('é\u0000'),
    Buffer.alloc(2_000, 'x'),
    Buffer.from('\r\n--x--\r\n'),
  ]);
  expect((await server.deliver(to, body)).code).toBe(250);
});

test('the same bytes come back for a mail of many megabytes', async () => {
  const file = Buffer.alloc(6_000_000, 'Postrider ')
    .toString('base64')
    .replaceAll(/.{76}/g, '$&\r\n');
  const data = crlf(
    `From: a@example.net\nSubject: Large\nMIME-Version: 1.0\nContent-Type: application/zip; name=big.zip\nContent-Transfer-Encoding: base64\n\n`,
  );
  expect((await server.deliver(`a@${RECEIVING}`, data + file)).code).toBe(250);
  const [large] = await storedWith('Large');
  expect(large.attachments).toMatchObject([{ filename: 'big.zip', size_bytes: 6_000_000 }]);
  const response = await fetch(
    `${server.app.url}/api/v1/inbound-messages/${large.id}/attachments/0`,
    { headers: { authorization: `Bearer ${server.app.liveKey}` } },
  );
  const hash = createHash('sha256')
    .update(Buffer.from(await response.arrayBuffer()))
    .digest('hex');
  expect(hash).toBe(
    createHash('sha256').update(Buffer.alloc(6_000_000, 'Postrider ')).digest('hex'),
  );
});

test('filters find messages by sender, recipient, domain and text', async () => {
  await server.deliver(
    `billing@${RECEIVING}`,
    letter({ subject: 'Find me' }),
    'Bounce+1@list.example.net',
  );
  const subjects = async (query: string) =>
    (await server.list(query)).map(({ subject }: { subject: string }) => subject);
  expect(await subjects(`?to=billing@${RECEIVING}`)).toEqual(['Find me']);
  expect(await subjects('?from=bounce%2B1@list.example.net')).toEqual(['Find me']);
  expect(await subjects('?from=JANE@example.net&limit=1')).toEqual(['Find me']);
  expect(await subjects(`?to=@${RECEIVING}&limit=1`)).toEqual(['Find me']);
  expect(await subjects(`?domain=${OTHER_RECEIVING}`)).toEqual([]);
  expect(await subjects('?q=FIND%20doe')).toEqual(['Find me']);
  expect(await subjects('?to=nobody@example.org')).toEqual([]);
});
