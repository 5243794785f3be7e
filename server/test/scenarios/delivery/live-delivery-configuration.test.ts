import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type ReceiverScript, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * The operator's settings and a domain's settings take effect on the wire, and the API shows where a
 * message went. The whole server runs as configured by its environment, without replacing the live route,
 * with a scripted name server and receiver.
 */

interface Server extends AsyncDisposable {
  app: TestApp;
  receiver: Awaited<ReturnType<typeof startSmtpReceiver>>;
  dns: Awaited<ReturnType<typeof startDnsServer>>;
  domainId: string;
}

async function startServer(
  thread: string,
  script: ReceiverScript,
  env: (port: number) => Record<string, string> = () => ({}),
): Promise<Server> {
  const receiver = await startSmtpReceiver(script);
  const dns = await startDnsServer({
    'example.com': { MX: ['10 mx1.example.test'] },
    'mx1.example.test': { A: ['127.0.0.1'] },
  });
  const app = await startApp({
    env: {
      DNS_SERVERS: dns.address,
      MX_PORT: String(receiver.port),
      HELO_NAME: 'mail.house.test',
      DELIVERY_THREAD: thread,
      ...env(receiver.port),
    },
  });
  const domain = await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  return {
    app,
    receiver,
    dns,
    domainId: encodeId('dom', domain.id),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
      await receiver.close();
    },
  };
}

async function send(app: TestApp, more: object = {}): Promise<string> {
  const body = validMessage({ html: '<p>The secret garden</p>', ...more });
  const sent = await app.call('POST', '/transactional/send', { key: app.liveKey, body });
  expect(sent.status).toBe(202);
  return sent.json.id;
}

async function becomes(app: TestApp, id: string, status: string): Promise<void> {
  await until(async () => (await look(app, id)).status === status, {
    timeoutMs: 60_000,
    what: `${id} is ${status}`,
  });
}

async function look(app: TestApp, id: string) {
  return (await app.call('GET', `/messages/${id}`, { key: app.liveKey })).json;
}

async function attempts(app: TestApp, id: string) {
  return (await app.call('GET', `/messages/${id}/attempts`, { key: app.liveKey })).json.data;
}

describe.each(['on', 'off'])('with DELIVERY_THREAD %s', (thread) => {
  test('directly to the MX, with our HELO name, and every step is recorded', async () => {
    await using it = await startServer(thread, { tls: tlsFixtures.good });
    const { app, receiver } = it;
    const id = await send(app, {
      cc: [{ email: 'cc@example.com' }],
      bcc: [{ email: 'hidden@example.com' }],
    });
    await becomes(app, id, 'delivered');
    const transactions = receiver.messages.map(({ recipients }) => recipients);
    expect(transactions).toHaveLength(2);
    expect(transactions).toContainEqual(['jane@example.com', 'cc@example.com']);
    expect(transactions).toContainEqual(['hidden@example.com']);
    for (const mail of receiver.messages) {
      expect(mail.session.heloName).toBe('mail.house.test');
      expect(mail.raw.toString()).not.toMatch(/hidden|^bcc:/im);
    }
    expect(receiver.violations).toEqual([]);

    const tried = await attempts(app, id);
    expect(tried).toHaveLength(3);
    expect(tried[0]).toMatchObject({
      recipient: 'jane@example.com',
      outcome: 'delivered',
      smtp: { code: 250, mx: 'mx1.example.test', ip: '127.0.0.1', tls: 'TLSv1.3' },
    });
    const linesOf = (side: string): string =>
      tried[0].transcript
        .filter((line: { side: string }) => line.side === side)
        .map((line: { text: string }) => line.text)
        .join('\n');
    expect(linesOf('us')).toMatch(/EHLO mail\.house\.test[\s\S]*STARTTLS[\s\S]*RCPT TO:<jane@/);
    expect(linesOf('them')).toMatch(/220 [\s\S]*250 2\.0\.0 queued/);
    expect(linesOf('note')).toMatch(/TLSv1\.3.*(AES|CHACHA)/);
    expect(JSON.stringify(tried)).not.toContain('secret garden');
  });

  test('through a relay with a password, which is never recorded', async () => {
    const seen: string[] = [];
    await using it = await startServer(
      thread,
      {
        tls: tlsFixtures.good,
        keywords: ['AUTH PLAIN'],
        onAuth: (user, password) => {
          seen.push(`${user} ${password}`);
          return undefined;
        },
      },
      (port) => ({
        DELIVERY_ROUTE: `smtp://us:p%2Cw-9137@127.0.0.1:${port}?tls=required`,
        MX_PORT: '25',
      }),
    );
    const id = await send(it.app, { to: { email: 'anyone@unknown.example' } });
    await becomes(it.app, id, 'delivered');
    expect(seen).toEqual(['us p,w-9137']);
    expect(it.dns.queries).toEqual([]);
    const recorded = JSON.stringify(await attempts(it.app, id));
    expect(recorded).not.toContain('p,w-9137');
    expect(recorded).not.toContain(Buffer.from('\0us\0p,w-9137').toString('base64'));
  });

  test('a domain that requires TLS never uses a receiver without it, and others do', async () => {
    await using it = await startServer(thread, {});
    const { app, receiver } = it;
    const set = await app.call('PATCH', `/domains/${it.domainId}`, {
      key: app.liveKey,
      body: { tls: 'required' },
    });
    expect(set.json.tls).toBe('required');
    const id = await send(app);
    await becomes(app, id, 'deferred');
    expect((await attempts(app, id))[0].bounce).toMatchObject({ reason: 'tls_required' });
    expect(receiver.commands.some((command) => command.startsWith('MAIL'))).toBe(false);

    await app.app.domains.trust(app.workspaceId, { name: 'other.example.org' });
    const other = await send(app, { from: { email: 'hello@other.example.org' } });
    await becomes(app, other, 'delivered');
  });

  test('the operator’s shaping rules override the built-in ones, and invalid rules prevent the start', async () => {
    await using folder = await createTempDir();
    const file = path.join(folder.path, 'shaping.json');
    const own = {
      name: 'Slow',
      mx: ['*.example.test'],
      connectionsMax: 1,
      messagesPerConnectionMax: 3,
    };
    await writeFile(file, JSON.stringify({ receivers: [own] }));
    await using it = await startServer(thread, {}, () => ({ SHAPING_FILE: file }));
    const ids: string[] = [];
    for (let n = 0; n < 7; n++)
      ids.push(await send(it.app, { to: { email: `u${n}@example.com` } }));
    for (const id of ids) await becomes(it.app, id, 'delivered');
    const perSession = it.receiver.sessions.map(({ messageCount }) => messageCount);
    expect(Math.max(...perSession)).toBeLessThanOrEqual(3);
    expect(perSession.reduce((sum, one) => sum + one, 0)).toBe(7);

    await writeFile(file, '{"receivers": [{"name": "x", "mx": "no", "connectionsMax": 0}]}');
    await expect(startApp({ env: { SHAPING_FILE: file } })).rejects.toThrow(
      /SHAPING_FILE: .*receivers\[0\]\.mx.*connectionsMax/,
    );
    await writeFile(file, 'not JSON');
    await expect(startApp({ env: { SHAPING_FILE: file } })).rejects.toThrow(/SHAPING_FILE: .*JSON/);
  });

  test('one node accepts a message and another delivers it', async () => {
    await using database = await createTestDatabase();
    await using receiver = await startSmtpReceiver();
    await using dns = await startDnsServer({
      'example.com': { MX: ['10 mx1.example.test'] },
      'mx1.example.test': { A: ['127.0.0.1'] },
    });
    const env = { DNS_SERVERS: dns.address, MX_PORT: String(receiver.port) };
    await using apiNode = await startApp({ database, env: { ...env, ROLES: 'api' } });
    await apiNode.app.domains.trust(apiNode.workspaceId, { name: 'example.org' });
    const id = await send(apiNode);
    expect((await look(apiNode, id)).status).toBe('queued');
    expect(receiver.sessions).toHaveLength(0);
    await using _worker = await startApp({ database, env: { ...env, ROLES: 'delivery' } });
    await becomes(apiNode, id, 'delivered');
    const next = await send(apiNode);
    await becomes(apiNode, next, 'delivered');
    expect(receiver.messages).toHaveLength(2);
  });

  test('after a hard bounce the next 202 reports the suppression, and the address is not contacted again', async () => {
    await using it = await startServer(thread, { onRcpt: () => '550 5.1.1 No such user' });
    const { app, receiver } = it;
    const id = await send(app);
    await becomes(app, id, 'bounced');
    const bounced = (await look(app, id)).recipients[0];
    expect(bounced).toMatchObject({ status: 'bounced', reason: 'unknown_mailbox' });
    const commandCount = receiver.commands.length;
    const again = await app.call('POST', '/transactional/send', {
      key: app.liveKey,
      body: validMessage(),
    });
    expect(again.status).toBe(202);
    expect(again.json.recipients[0]).toMatchObject({ status: 'suppressed', reason: 'hard_bounce' });
    const other = await send(app, { to: { email: 'other@example.com' } });
    await becomes(app, other, 'bounced');
    expect(receiver.commands.slice(commandCount).join()).not.toContain('jane@example.com');
  });

  test('a message can be cancelled until its delivery starts', async () => {
    let answer = () => {};
    const held = new Promise<undefined>((resolve) => {
      answer = () => resolve(undefined);
    });
    await using it = await startServer(thread, {
      onRcpt: (to) => (to.startsWith('later') ? '451 4.7.1 Greylisted' : undefined),
      onMessage: () => held,
    });
    const { app, receiver } = it;
    const cancel = (id: string) => app.call('POST', `/messages/${id}/cancel`, { key: app.liveKey });
    const deferred = await send(app, { to: { email: 'later@example.com' } });
    await becomes(app, deferred, 'deferred');
    expect((await cancel(deferred)).json.status).toBe('cancelled');
    const scheduled_at = new Date(systemClock.now() + 600_000).toISOString();
    const scheduled = await send(app, { to: { email: 'planned@example.com' }, scheduled_at });
    expect((await cancel(scheduled)).json.status).toBe('cancelled');

    const leaving = await send(app);
    await receiver.untilMessages(1);
    const refused = await cancel(leaving);
    expect([refused.status, refused.json.code]).toEqual([409, 'not_cancellable']);
    answer();
    await becomes(app, leaving, 'delivered');
    for (const id of [deferred, scheduled]) {
      const events = (await app.call('GET', `/events?message_id=${id}`, { key: app.liveKey })).json;
      const types = events.data.map(({ type }: { type: string }) => type);
      expect(types.filter((type: string) => type === 'message.cancelled')).toHaveLength(1);
      expect(types.at(-1)).toBe('message.cancelled');
    }
    expect(receiver.messages).toHaveLength(1);
  });
});
