import { describe, expect, test } from 'vitest';
import { startApp } from '../../harness/app.ts';
import { startDatabaseProxy } from '../../harness/database/database-proxy.ts';
import {
  BOUNCE_HOST,
  connectAndGreet,
  dsn,
  type ReturnPathServer,
  startReturnPathServer,
} from '../../harness/smtp/return-path-setup.ts';
import { HANG_UP } from '../../harness/smtp/smtp-receiver.ts';
import { until } from '../../harness/until.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * A message that was accepted and later returned ends as bounced, with its reason, once; and bounces cannot
 * be forged. The whole server delivers to a scripted receiver; the tests send reports to the return path
 * that the receiver saw, over a raw socket.
 */

const NOT_OURS = { code: 550, text: expect.stringMatching(/^5\.1\.1 /) };

async function suppressions(server: ReturnPathServer) {
  return (await server.app.call('GET', '/suppressions', { key: server.app.liveKey })).json.data;
}

test('delivered becomes bounced, with reason, event, suppression, statistics and webhook', async () => {
  await using endpoint = await startWebhookReceiver();
  await using server = await startReturnPathServer({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  const { app } = server;
  const events = ['message.bounced', 'suppression.created'];
  const body = { url: endpoint.url, events };
  expect((await app.call('POST', '/webhooks', { key: app.liveKey, body })).status).toBe(201);
  const { id, returnPath } = await server.send({ metadata: { order: '7' }, tags: ['welcome'] });
  expect(await server.report(returnPath, dsn())).toMatchObject({
    code: 250,
    text: '2.0.0 Accepted',
  });

  const message = await server.message(id);
  const smtpReply = { code: 550, enhanced: '5.1.1', text: '<jane@example.com>: User unknown' };
  expect(message.status).toBe('bounced');
  expect(message.recipients[0]).toMatchObject({
    status: 'bounced',
    reason: 'unknown_mailbox',
    attempts: 1,
    smtp: { ...smtpReply, mx: 'mx1.example.test' },
    bounce: { class: 'hard', reason: 'unknown_mailbox' },
  });
  const recorded = await server.events(id);
  expect(recorded.map(({ type }) => type)).toEqual([
    'message.accepted',
    'message.delivered',
    'message.bounced',
  ]);
  const report = {
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    reported_by: 'mx1.example.test',
    remote_mta: 'mailbox7.example.test',
  };
  expect(recorded[2]).toMatchObject({
    sequence: 3,
    data: {
      recipient: 'jane@example.com',
      attempt: 1,
      metadata: { order: '7' },
      tags: ['welcome'],
      smtp: smtpReply,
      bounce: { class: 'hard', explanation: expect.stringContaining('does not exist') },
      report,
    },
  });
  expect(await suppressions(server)).toMatchObject([
    {
      email: 'jane@example.com',
      reason: 'hard_bounce',
      evidence: { message_id: id, smtp: smtpReply, report },
    },
  ]);
  await until(() => endpoint.received.length === 2);
  const received = endpoint.received.map((one) => JSON.parse(one.body));
  expect(received.map(({ type }) => type).toSorted()).toEqual(events);
  expect(received).toContainEqual(recorded[2]);
  const again = await app.call('POST', '/transactional/send', {
    key: app.liveKey,
    body: {
      to: { email: 'jane@example.com' },
      from: { email: 'a@example.org' },
      subject: 'x',
      html: 'x',
    },
  });
  expect(again.json.recipients[0]).toMatchObject({ status: 'suppressed', reason: 'hard_bounce' });
  const figures = async () =>
    (await app.call('GET', '/stats', { key: app.liveKey })).json.data[0]?.totals ?? {};
  await until(async () => (await figures()).bounced === 1);
  // It counts as bounced although it was delivered.
  expect(await figures()).toMatchObject({
    delivered: 1,
    bounced_later: 1,
    bounced_by_reason: { unknown_mailbox: 1 },
    rates: { delivered: 0, bounced: 1 },
  });
  const metrics = await fetch(`${app.url}/metrics`).then((answer) => answer.text());
  expect(metrics).toMatch(/postrider_reports_total\{outcome="bounced".*\} 1/);
  expect(metrics).toMatch(/postrider_return_path_messages_total\{code="250".*\} 1/);
});

test('the same report counts once, however often it arrives, also after a retry', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath } = await server.send();
  const soft = dsn({ status: '5.2.2', diagnostic: '552 5.2.2 mailbox full' });
  const relayed = `Received: from a by b; Sun, 15 Nov 2026 10:00:00 +0000\r\n${soft}`;
  // The sender did not get the 250, or sent it twice concurrently.
  const replies = await Promise.all(
    [soft, relayed, soft].map((one) => server.report(returnPath, one)),
  );
  expect(replies.map(({ code }) => code)).toEqual([250, 250, 250]);
  const bounces = async () =>
    (await server.events(id)).filter(({ type }) => type === 'message.bounced').length;
  expect(await bounces()).toBe(1);
  expect(await server.report(returnPath.toUpperCase(), dsn({ id: 'another' }))).toMatchObject({
    code: 250,
  });
  expect(await bounces()).toBe(1);
  // A soft bounce: the address is not suppressed.
  expect(await suppressions(server)).toEqual([]);

  await server.app.call('POST', `/messages/${id}/retry`, { key: server.app.liveKey });
  await until(async () => (await server.message(id)).status === 'delivered');
  expect((await server.report(returnPath, soft)).code).toBe(250);
  expect((await server.message(id)).status).toBe('delivered');
  expect((await server.report(returnPath, dsn({ id: 'of the second delivery cycle' }))).code).toBe(
    250,
  );
  expect((await server.message(id)).status).toBe('bounced');
  expect(await bounces()).toBe(2);
});

test('for several recipients in one transaction, the report names the recipient', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath } = await server.send({
    to: { email: 'jane@example.com' },
    cc: [{ email: 'Joe@example.com' }, { email: 'third@example.com' }],
  });
  expect(server.receiver.messages[0]?.recipients).toHaveLength(3);
  const states = async () =>
    (await server.message(id)).recipients.map(({ status }: { status: string }) => status);
  expect((await server.report(returnPath, dsn({ recipient: 'stranger@example.com' }))).code).toBe(
    250,
  );
  expect(await states()).toEqual(['delivered', 'delivered', 'delivered']);
  const both = dsn({
    recipient: 'moved@elsewhere.example',
    more: `Original-Recipient: rfc822;joe@example.com

Final-Recipient: rfc822; third@example.com
Action: delayed
Status: 4.4.1
`,
  });
  expect((await server.report(returnPath, both)).code).toBe(250);
  expect(await states()).toEqual(['delivered', 'bounced', 'delivered']);
  expect((await server.message(id)).status).toBe('partial');
  expect((await suppressions(server)).map(({ email }: { email: string }) => email)).toEqual([
    'joe@example.com',
  ]);
});

test('delays, successes, forwards and automatic replies change nothing', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath } = await server.send();
  const vacation = 'Subject: Away\r\nAuto-Submitted: auto-replied\r\n\r\nBack on Monday.';
  const others: [string, string][] = [
    [dsn({ action: 'delayed', status: '4.4.1' }), ''],
    [dsn({ action: 'relayed', status: '2.0.0' }), ''],
    [dsn({ action: 'delivered', status: '2.0.0' }), ''],
    [dsn({ action: 'expanded', status: '2.0.0' }), ''],
    // Our recipient has it; only a forwarded copy failed.
    [
      dsn({
        action: 'expanded',
        status: '2.0.0',
        more: '\nFinal-Recipient: rfc822; copy@elsewhere.example\nAction: failed\nStatus: 5.1.1\n',
      }),
      '',
    ],
    [
      'From: MAILER-DAEMON@mx.example\r\nSubject: Delayed mail\r\n\r\n<jane@example.com>: 450 4.2.2 Mailbox full\r\nYour message could not be delivered. It will be retried.',
      '',
    ],
    [vacation, 'jane@example.com'],
    [vacation, ''],
    ['Subject: Strange\r\n\r\nWhat is this?', ''],
    ['', ''],
    // A read receipt.
    [
      'Content-Type: multipart/report; report-type=disposition-notification\r\n\r\n',
      'jane@x.example',
    ],
  ];
  for (const [mail, from] of others) {
    expect((await server.report(returnPath, mail, from)).code).toBe(250);
  }
  // Human senders get a rejection from their own server, as does a bounce with a nonempty sender.
  const qmail =
    'Subject: failure notice\r\n\r\nHi. This is the qmail-send program at q.example.\r\n\r\n<jane@example.com>:\r\nSorry, no mailbox here by that name. (#5.1.1)\r\n';
  for (const mail of ['Subject: Re: Hello\r\n\r\nThanks!', qmail]) {
    expect(await server.report(returnPath, mail, 'jane@example.com')).toMatchObject({
      code: 550,
      text: expect.stringContaining('Only bounces and complaints'),
    });
  }
  expect((await server.message(id)).status).toBe('delivered');
  expect((await server.events(id)).map(({ type }) => type)).toEqual([
    'message.accepted',
    'message.delivered',
  ]);
  expect((await server.report(returnPath, qmail)).code).toBe(250);
  expect((await server.message(id)).status).toBe('bounced');
  const metrics = await fetch(`${server.app.url}/metrics`).then((answer) => answer.text());
  for (const [outcome, count] of [
    ['progress', 6],
    ['auto_reply', 2],
    ['unreadable', 3],
    ['not_a_report', 2],
  ]) {
    expect(metrics).toMatch(new RegExp(`reports_total\\{outcome="${outcome}".*\\} ${count}$`, 'm'));
  }
});

test('a bounce in free text is read', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath } = await server.send();
  const mail =
    'From: MAILER-DAEMON@mail.example\r\nSubject: Failure Notice\r\n\r\nSorry, we were unable to deliver your message to the following address.\r\n\r\n<forwarded@elsewhere.example>:\r\n550: 5.1.1 No such user\r\n\r\n--- Below this line is a copy of the message.\r\n';
  expect((await server.report(returnPath, mail)).code).toBe(250);
  expect((await server.message(id)).status).toBe('bounced');
  expect((await suppressions(server)).map(({ email }: { email: string }) => email)).toEqual([
    'jane@example.com',
  ]);
});

test('a node with only the smtp role accepts reports for delivery nodes', async () => {
  await using server = await startReturnPathServer({ env: { RETURN_PATH_PORT: 'off' } });
  await using smtpNode = await startApp({
    database: server.database,
    env: { ROLES: 'smtp', RETURN_PATH_PORT: '0', BOUNCE_HOST },
  });
  const { id, returnPath } = await server.send();
  using client = await connectAndGreet(smtpNode.app.returnPath.address?.port as number);
  expect((await client.send({ from: '', to: [returnPath], data: dsn() })).code).toBe(250);
  expect((await server.message(id)).status).toBe('bounced');
  expect(server.port).toBe(0);
});

test('a failure after forwarding is a failure of the delivery', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath } = await server.send();
  await server.report(returnPath, dsn({ recipient: 'jane@new-job.example' }));
  expect((await server.message(id)).status).toBe('bounced');
});

test('an ambiguous delivery that waits for its retry ends immediately', async () => {
  let lost = true;
  await using server = await startReturnPathServer({
    script: { onMessage: () => (lost ? HANG_UP : undefined) },
  });
  const { app } = server;
  const sent = await app.call('POST', '/transactional/send', {
    key: app.liveKey,
    body: {
      to: { email: 'jane@example.com' },
      from: { email: 'a@example.org' },
      subject: 'x',
      html: 'x',
    },
  });
  const { id } = sent.json;
  await until(async () => (await server.message(id)).status === 'deferred');
  lost = false;
  const { mailFrom } = server.receiver.messages[0] as { mailFrom: string };
  expect((await server.report(mailFrom, dsn())).code).toBe(250);
  expect(await server.message(id)).toMatchObject({
    status: 'bounced',
    recipients: [{ reason: 'unknown_mailbox', next_attempt_at: null }],
  });
  expect((await server.events(id)).map(({ type }) => type)).toEqual([
    'message.accepted',
    'message.deferred',
    'message.bounced',
  ]);
  const { rows } = await server.database.pool.query('select due_at, lease from deliveries');
  expect(rows).toEqual([{ due_at: null, lease: null }]);
  // It was never counted as delivered, so that count does not change.
  await server.send({ to: { email: 'joe@example.com' } });
  await expect
    .poll(async () => {
      const stats = await app.call('GET', '/stats', { key: app.liveKey });
      const { delivered, bounced, bounced_later, rates } = stats.json.data[0].totals;
      return { delivered, bounced, bounced_later, rate: rates.delivered };
    })
    .toEqual({ delivered: 1, bounced: 1, bounced_later: 0, rate: 0.5 });
});

test('a report that arrives before our own commit is deferred', async () => {
  let answer = () => {};
  const held = new Promise<undefined>((resolve) => {
    answer = () => resolve(undefined);
  });
  await using server = await startReturnPathServer({ script: { onMessage: () => held } });
  const sending = server.send();
  await server.receiver.untilMessages(1);
  const { mailFrom } = server.receiver.messages[0] as { mailFrom: string };
  expect(await server.report(mailFrom, dsn())).toMatchObject({
    code: 451,
    text: expect.stringContaining('still in progress'),
  });
  answer();
  const { id } = await sending;
  expect((await server.report(mailFrom, dsn())).code).toBe(250);
  expect((await server.message(id)).status).toBe('bounced');
});

test('a client that half-closes after the final dot, as Exim does, gets the reply', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath } = await server.send();
  using client = await connectAndGreet(server.port);
  for (const line of ['MAIL FROM:<>', `RCPT TO:<${returnPath}>`, 'DATA'])
    await client.command(line);
  client.endWriting(`${dsn()}\r\n.\r\nQUIT\r\n`);
  expect((await client.reply()).code).toBe(250);
  expect((await client.reply()).code).toBe(221);
  expect((await server.message(id)).status).toBe('bounced');
});

test('deliveries with another final status do not change', async () => {
  await using server = await startReturnPathServer();
  const { id, returnPath } = await server.send();
  for (const status of ['bounced', 'queued', 'cancelled']) {
    await server.database.pool.query('update deliveries set status = $1', [status]);
  }
  expect((await server.report(returnPath, dsn())).code).toBe(250);
  expect((await server.message(id)).status).toBe('cancelled');
  expect((await server.events(id)).map(({ type }) => type)).not.toContain('message.bounced');
  expect(await suppressions(server)).toEqual([]);
});

test('a report for an erased address adds no event and does not restore the address', async () => {
  await using server = await startReturnPathServer();
  const { returnPath } = await server.send();
  const erased = await server.app.call('DELETE', '/contacts/jane@example.com?erase=true', {
    key: server.app.liveKey,
  });
  expect(erased.status).toBeLessThan(300);
  await until(async () => {
    const { rows } = await server.database.pool.query('select recipient from deliveries');
    return rows[0]?.recipient !== 'jane@example.com';
  });
  expect((await server.report(returnPath, dsn())).code).toBe(250);
  const { rows } = await server.database.pool.query(
    `select (select count(*)::int from suppressions where key like 'jane%') as suppressed,
       (select count(*)::int from events where data::text like '%jane@example.com%') as events`,
  );
  expect(rows).toEqual([{ suppressed: 0, events: 0 }]);
});

describe('without the database', () => {
  test('the report is deferred, and its retry counts once', async () => {
    let way: Awaited<ReturnType<typeof startDatabaseProxy>> | undefined;
    await using server = await startReturnPathServer({
      around: async (url) => {
        way = await startDatabaseProxy(url);
        return way.url;
      },
    });
    const { id, returnPath } = await server.send();
    using client = await connectAndGreet(server.port);
    for (const line of ['MAIL FROM:<>', `RCPT TO:<${returnPath}>`, 'DATA']) {
      expect((await client.command(line)).code).toBeLessThan(400);
    }
    await way?.disconnect();
    client.write(`${dsn()}\r\n.\r\n`);
    expect(await client.reply()).toMatchObject({
      code: 451,
      text: expect.stringMatching(/^4\.3\.0 /),
    });
    expect((await server.report(returnPath, dsn())).code).toBe(451);
    await way?.reconnect();
    await expect.poll(async () => (await server.report(returnPath, dsn())).code).toBe(250);
    expect((await server.report(returnPath, dsn())).code).toBe(250);
    const events = await server.events(id);
    expect(events.filter(({ type }) => type === 'message.bounced')).toHaveLength(1);
    await way?.[Symbol.asyncDispose]();
  });
});

test('accepts reports for a deleted domain and for a changed bounce host', async () => {
  await using server = await startReturnPathServer();
  const { app } = server;
  const first = await server.send();
  const second = await server.send();
  await server.database.pool.query(`update domains set return_path_host = 'new.' || name`);
  expect(await server.report(first.returnPath, dsn())).toMatchObject({ code: 250 });
  expect((await server.message(first.id)).status).toBe('bounced');
  const { json } = await app.call('GET', '/domains', { key: app.liveKey });
  for (const { id } of json.data) {
    expect((await app.call('DELETE', `/domains/${id}`, { key: app.liveKey })).status).toBe(204);
  }
  expect(await server.report(second.returnPath, dsn())).toMatchObject({ code: 250 });
  expect((await server.message(second.id)).status).toBe('bounced');
});

describe('rejections', () => {
  test('forged return paths, unknown hosts and deleted messages are rejected', async () => {
    await using server = await startReturnPathServer();
    const { id, returnPath } = await server.send();
    const [local, host] = returnPath.split('@') as [string, string];
    // Only the signature is wrong: the message exists.
    const changed = local.replace(/.(?=.{4}$)/, (one) => (one === 'a' ? 'b' : 'a'));
    for (const address of [
      `${changed}@${host}`,
      `${local.replace(/^b-../, 'b-zz')}@${host}`,
      `${local}@example.com`,
      `${local}@elsewhere.example`,
      `b-@${host}`,
      `jane@${host}`,
      'jane@example.com',
      `complaints@${host}`,
      'complaints@elsewhere.example',
      `postmaster@${BOUNCE_HOST}`,
      `abuse@${host}`,
    ]) {
      expect([address, await server.report(address, dsn())]).toEqual([
        address,
        expect.objectContaining(NOT_OURS),
      ]);
    }
    expect((await server.report(`postmaster@${BOUNCE_HOST}`, '')).text).toContain(
      'http://postrider.test',
    );
    // The same path at the shared bounce host is valid too.
    expect((await server.report(`${local}@${BOUNCE_HOST}`, dsn({ status: '5.2.2' }))).code).toBe(
      250,
    );
    expect((await server.message(id)).status).toBe('bounced');
    for (const table of ['attempts', 'deliveries']) {
      await server.database.pool.query(`delete from ${table}`);
    }
    expect(await server.report(returnPath, dsn())).toMatchObject(NOT_OURS);
  });

  test('a path with the bounce host of another workspace is rejected', async () => {
    await using server = await startReturnPathServer();
    const other = await server.app.app.workspaces.create('Other');
    await server.app.app.domains.trust(other.id, { name: 'other.example' });
    const { id, returnPath } = await server.send();
    const [local] = returnPath.split('@');
    expect(await server.report(`${local}@bounce.other.example`, dsn())).toMatchObject(NOT_OURS);
    expect((await server.message(id)).status).toBe('delivered');
    // Other addresses in the report are ignored: only the path identifies the message.
    const key = await server.app.newKey({ mode: 'live', workspaceId: other.id });
    const theirs = await server.app.call('POST', '/transactional/send', {
      key,
      body: {
        to: { email: 'victim@example.com' },
        from: { email: 'a@other.example' },
        subject: 'x',
        html: 'x',
      },
    });
    await until(async () => {
      const { json } = await server.app.call('GET', `/messages/${theirs.json.id}`, { key });
      return json.status === 'delivered';
    });
    await server.report(returnPath, dsn({ recipient: 'victim@example.com' }));
    const look = await server.app.call('GET', `/messages/${theirs.json.id}`, { key });
    expect(look.json.status).toBe('delivered');
    expect((await server.app.call('GET', '/suppressions', { key })).json.data).toEqual([]);
    expect((await suppressions(server)).map(({ email }: { email: string }) => email)).toEqual([
      'jane@example.com',
    ]);
  });
});
