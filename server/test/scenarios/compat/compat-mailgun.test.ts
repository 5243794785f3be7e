import Mailgun from 'mailgun.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { until } from '../../harness/until.ts';

/**
 * Mailgun's own client library, unchanged, against `/compat/mailgun`, and the calls that Ghost makes
 * with it.
 */

const DOMAIN = 'acme.example';
type Client = ReturnType<InstanceType<typeof Mailgun>['client']>;

let app: TestApp;
let receiver: SmtpReceiver;
let dns: Awaited<ReturnType<typeof startDnsServer>>;
let mailgun: Client;
let live: Client;

beforeAll(async () => {
  // The client warns that the event API is old.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  receiver = await startSmtpReceiver({
    onRcpt: (address) =>
      address.includes('gone') ? '550 5.1.1 There is no such user' : '250 2.1.5 OK',
  });
  dns = await startDnsServer({
    'example.com': { MX: ['10 mx.example.com'] },
    'mx.example.com': { A: ['127.0.0.1'] },
  });
  app = await startApp({
    env: {
      DNS_SERVERS: dns.address,
      MX_PORT: String(receiver.port),
      HELO_NAME: 'mail.acme.example',
    },
  });
  await app.app.domains.trust(app.workspaceId, { name: DOMAIN });
  mailgun = clientWith(app.testKey);
  live = clientWith(app.liveKey);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
  await receiver.close();
});

function clientWith(key: string, url = `${app.url}/compat/mailgun`): Client {
  return new Mailgun(FormData).client({ username: 'api', key, url });
}

const MESSAGE = {
  from: 'Acme <hello@acme.example>',
  to: ['Jane Doe <jane@example.com>', 'joe@example.com'],
  subject: 'Costs ${5}',
  html: '<p>{{ not a placeholder }} %recipient.name%</p>',
};

test('batches in quick succession, as Ghost sends a newsletter, wait for their turn', async () => {
  await using limited = await startApp({ env: { RATE_LIMIT_PER_SECOND: '20' } });
  const client = clientWith(limited.testKey, `${limited.url}/compat/mailgun`);
  const to = Array.from({ length: 60 }, (_, n) => `member-${n}@example.com`);
  const batch = (subject: string) =>
    client.messages.create(DOMAIN, {
      from: MESSAGE.from,
      to,
      subject,
      text: 'Hi %recipient.n%',
      'recipient-variables': JSON.stringify(Object.fromEntries(to.map((one, n) => [one, { n }]))),
    });
  expect((await batch('First')).status).toBe(200);
  const [second, third] = await Promise.all([batch('Second'), batch('Third')]);
  expect([second.status, third.status]).toEqual([200, 200]);
});

describe('messages', () => {
  test('inline images without an extension, or with the same name, are shown', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000', 'hex');
    const sent = await mailgun.messages.create(DOMAIN, {
      ...MESSAGE,
      inline: [
        { filename: 'logo', data: png },
        { filename: 'logo', data: png },
        { filename: 'logo', data: Buffer.from('GIF89a') },
      ],
    });
    expect((await received(sent.id)).attachments).toMatchObject([
      { filename: 'logo', content_type: 'image/png', content_id: 'logo' },
      { filename: 'logo', content_type: 'image/gif', content_id: null },
    ]);
  });

  test('a message arrives as it was written, with all that Mailgun offers', async () => {
    const sent = await mailgun.messages.create(DOMAIN, {
      ...MESSAGE,
      cc: 'cc@example.com',
      bcc: ['bcc@example.com'],
      text: 'plain {% text',
      attachment: { filename: 'a.txt', data: Buffer.from([0, 255, 13, 10]) },
      inline: { filename: 'logo.png', data: Buffer.from('hi') },
      'o:tag': ['receipt', 'spring'],
      'o:dkim': true,
      'o:tracking': false,
      'o:require-tls': false,
      'h:Reply-To': 'Support <support@acme.example>',
      'h:X-Ref': '1',
      'v:order': '17',
    });
    expect(sent).toMatchObject({ status: 200, message: 'Queued. Thank you.' });
    expect(sent.id).toMatch(/^<msg_\w+@acme\.example>$/);
    const mail = await received(sent.id);
    expect(mail).toMatchObject({ subject: 'Costs ${5}', text: 'plain {% text' });
    expect(mail.html).toContain('{{ not a placeholder }} %recipient.name%');
    expect(mail.attachments).toMatchObject([
      { filename: 'a.txt', size_bytes: 4 },
      { filename: 'logo.png', content_type: 'image/png', content_id: 'logo.png' },
    ]);
    const message = (await app.call('GET', `/messages/${idOf(sent.id)}`)).json;
    expect(message).toMatchObject({ tags: ['receipt', 'spring'], metadata: { order: '17' } });
    expect(message.recipients.map(({ kind }: { kind: string }) => kind)).toEqual([
      'to',
      'to',
      'cc',
      'bcc',
    ]);
    const raw = (await app.call('GET', `/messages/${idOf(sent.id)}/raw`)).text;
    expect(raw).toContain('Reply-To: Support <support@acme.example>');
    expect(raw).toContain('X-Ref: 1');
  });

  test('a message of live mail arrives at its receiver', async () => {
    const sent = await live.messages.create(DOMAIN, {
      from: 'hello@acme.example',
      to: 'live@example.com',
      subject: 'Live',
      text: 'Costs ${5}',
    });
    await until(() =>
      receiver.messages.some(({ recipients }) => recipients.includes('live@example.com')),
    );
    const mail = receiver.messages.find(({ recipients }) =>
      recipients.includes('live@example.com'),
    );
    expect(mail?.raw.toString()).toContain(`Message-ID: ${sent.id}`);
    expect(mail?.raw.toString()).toContain('Costs ${5}');
  });

  test('a form that is not multipart works too', async () => {
    const body = new URLSearchParams({ ...MESSAGE, to: 'jane@example.com' });
    const response = await post('/messages', body, app.testKey);
    expect(response.status).toBe(200);
    const { id } = (await response.json()) as { id: string };
    expect(await received(id)).toMatchObject({ subject: 'Costs ${5}' });
  });

  test('each recipient of a batch gets a message of their own', async () => {
    const sent = await mailgun.messages.create(DOMAIN, {
      from: 'hello@acme.example',
      to: ['Ann <ann@example.com>', 'BOB@example.com'],
      subject: 'Hi %recipient.name%',
      html: '<p>%recipient.name% {{ x }} %recipient_email% %recipient.missing%</p>',
      text: 'For %recipient_name%, %recipient%',
      'h:X-Number': 'no. %recipient.id%',
      'v:number': '%recipient.id%',
      'recipient-variables': JSON.stringify({
        'ann@example.com': { name: '<b>Ann</b>', id: 1 },
        'bob@example.com': { name: 'Bob\r\nBcc: x', id: 2 },
      }),
    });
    const list = await messagesOf(sent.id);
    expect(list.map(({ subject, metadata }) => [subject, metadata.number]).sort()).toEqual([
      ['Hi <b>Ann</b>', '1'],
      ['Hi Bob Bcc: x', '2'],
    ]);
    const ann = list.find(({ subject }) => subject.includes('Ann')) as { id: string };
    const mail = await received(`<${ann.id}@${DOMAIN}>`);
    expect(mail.html).toContain('<b>Ann</b> {{ x }} ann@example.com %recipient.missing%');
    expect(mail.text).toBe('For Ann, ann@example.com');
    expect(mail.to).toHaveLength(1);
    await until(async () => (await eventsOf(mailgun, { 'message-id': sent.id })).length === 4);
    const events = await eventsOf(mailgun, { 'message-id': sent.id, event: 'delivered' });
    expect(events.map(({ recipient }) => recipient).sort()).toEqual([
      'BOB@example.com',
      'ann@example.com',
    ]);
  });

  test('a caller’s own Message-ID is kept and found', async () => {
    const own = { ...MESSAGE, to: 'own@example.com', 'h:Message-Id': '<order-1@acme.example>' };
    const sent = await mailgun.messages.create(DOMAIN, own);
    expect(sent.id).toBe('<order-1@acme.example>');
    await until(
      async () => (await eventsOf(mailgun, { 'message-id': 'order-1@acme.example' })).length === 2,
    );
    await expect(mailgun.messages.create(DOMAIN, own)).rejects.toMatchObject({ status: 409 });
  });

  test('scheduling, a limited time, and tracking', async () => {
    const sent = await mailgun.messages.create(DOMAIN, {
      ...MESSAGE,
      to: 'later@example.com',
      'o:deliverytime': new Date(Date.now() + 3_600_000).toUTCString(),
      'o:deliver-within': '2h30m',
    });
    const { json } = await app.call('GET', `/messages/${idOf(sent.id)}`);
    expect(json).toMatchObject({ status: 'scheduled', ttl_seconds: 9000 });
    const past = await mailgun.messages.create(DOMAIN, {
      ...MESSAGE,
      to: 'now@example.com',
      'o:deliverytime': new Date(Date.now() - 60_000).toUTCString(),
      'o:tracking-opens': true,
    });
    expect((await received(past.id)).html).toContain('http://postrider.test/t/o/');
  });

  test('a MIME message is sent as it is', async () => {
    const message = [
      'From: Acme <hello@acme.example>',
      'To: jane@example.com',
      'Subject: Costs ${5}',
      'Message-ID: <mime-1@acme.example>',
      '',
      '{{ not a placeholder }}',
    ].join('\r\n');
    const mime = { to: ['mime@example.com'], message, 'o:tag': 'mime', 'v:order': '9' };
    const sent = await mailgun.messages.create(DOMAIN, mime);
    expect(sent.id).toBe('<mime-1@acme.example>');
    const found = async () => eventsOf(mailgun, { tags: 'mime', event: 'delivered' });
    await until(async () => (await found()).length === 1);
    expect(await found()).toMatchObject([
      {
        recipient: 'mime@example.com',
        message: { headers: { 'message-id': 'mime-1@acme.example' } },
        'user-variables': { order: '9' },
      },
    ]);
    const asFile = { ...mime, message: Buffer.from(message.replace(/Message-ID.*\r\n/, '')) };
    expect((await mailgun.messages.create(DOMAIN, asFile)).id).toMatch(/^<msg_/);
    for (const [change, named] of [
      [{ message: message.replace('hello@acme', 'hello@other') }, /acme\.example/],
      [{ message: `X-Mailgun-Sid: a\r\n${message}` }, /x-mailgun-sid/],
      [{ message: `X-Mailgun-Require-TLS: yes\r\n${message}` }, /TLS/],
      [{ message: `X-Mailgun-Variables: a\r\n${message}` }, /JSON object/],
      [{ message: `X-Mailgun-Variables: {"mailgun-message-id":"a"}\r\n${message}` }, /reserved/],
      [{ 'h:X-Ref': '1' }, /h:X-Ref/],
      [{ to: 'nobody' }, /recipients|to/],
    ] as const) {
      await expect(
        mailgun.messages.create(DOMAIN, { ...mime, ...change } as never),
      ).rejects.toMatchObject({ status: 400, details: expect.stringMatching(named) });
    }
  });

  test('test mode delivers nothing: with a live key, the message is only checked', async () => {
    const message = { ...MESSAGE, to: 'tested@example.com', 'o:testmode': true };
    const sent = await live.messages.create(DOMAIN, message);
    expect(sent.message).toBe('Queued. Thank you.');
    const list = await app.call('GET', '/messages?recipient=tested@example.com', {
      key: app.liveKey,
    });
    expect(list.json.data).toEqual([]);
    await expect(live.messages.create(DOMAIN, { ...message, to: 'nobody' })).rejects.toMatchObject({
      status: 400,
    });
    const inbox = await mailgun.messages.create(DOMAIN, message);
    expect(await received(inbox.id)).toMatchObject({ subject: 'Costs ${5}' });
  });
});

describe('a batch that is sent in parts', () => {
  const recipients = Array.from({ length: 1000 }, (_, index) => `r${index}@example.com`);
  const batch = (to: string[], more: object = {}) => ({
    from: 'hello@acme.example',
    to,
    subject: 'Hi %recipient.n%',
    text: 'Hi',
    'o:deliverytime': new Date(Date.UTC(2100, 0)).toUTCString(),
    'recipient-variables': JSON.stringify(Object.fromEntries(to.map((one, n) => [one, { n }]))),
    ...more,
  });

  test('one invalid recipient refuses all of them', async () => {
    const soon = new Date(Date.now() + 86_400_000).toUTCString();
    const to = [...recipients.slice(0, -1), 'nobody'];
    await expect(
      live.messages.create(DOMAIN, batch(to, { 'o:deliverytime': soon, 'o:tag': 'refused' })),
    ).rejects.toMatchObject({ status: 400, details: expect.stringContaining('/to') });
    const { json } = await app.call('GET', '/messages?tag=refused', { key: app.liveKey });
    expect(json.data).toEqual([]);
  });

  test('a repeated request sends nothing twice', async () => {
    const soon = new Date(Date.now() + 86_400_000).toUTCString();
    const message = batch(recipients, { 'o:deliverytime': soon, 'o:tag': 'large' });
    const sent = await live.messages.create(DOMAIN, message);
    const again = await live.messages.create(DOMAIN, message);
    expect(again.id).toBe(sent.id);
    const count = await app.database.pool.query(
      `select count(*)::int as count from messages where 'large' = any(tags)`,
    );
    expect(count.rows).toEqual([{ count: 1000 }]);
  });

  test('the values that are inserted into the messages are limited together', async () => {
    // One request of this kind was enough to use up the memory of the server.
    const to = recipients.slice(0, 20);
    const bomb = batch(to, {
      html: '%recipient.a%'.repeat(20_000),
      'recipient-variables': JSON.stringify(
        Object.fromEntries(to.map((one) => [one, { a: 'x'.repeat(20_000) }])),
      ),
    });
    for (const message of [bomb, { ...bomb, to: to.slice(0, 1) }]) {
      await expect(live.messages.create(DOMAIN, message)).rejects.toMatchObject({
        status: 400,
        details: expect.stringMatching(/^\/recipient-variables: The values .* at most/),
      });
    }
  });

  test('more than Mailgun’s limit is refused', async () => {
    await expect(
      live.messages.create(DOMAIN, batch([...recipients, 'one@example.com'])),
    ).rejects.toMatchObject({ status: 400 });
  });
});

describe('Ghost', () => {
  /** As in Ghost's mailgun-client.js: only the origin of the configured URL is used. */
  const ghost = (): Client => clientWith(app.liveKey, new URL(app.url).origin);

  test('sends a newsletter, follows its events and removes suppressions', async () => {
    const members = ['ada@example.com', 'gone@example.com', 'grace@example.com'];
    const recipientData = Object.fromEntries(
      members.map((email, index) => [
        email,
        {
          name: `Member ${index}`,
          unsubscribe_url: `https://blog.acme.example/unsubscribe/?uuid=${index}`,
          list_unsubscribe: `https://blog.acme.example/unsubscribe/?uuid=${index}&newsletter=1`,
        },
      ]),
    );
    const newsletter = {
      to: Object.keys(recipientData),
      from: '"Acme Blog" <hello@acme.example>',
      'h:Reply-To': 'hello@acme.example',
      subject: 'Issue {{ 1 }}: %recipient.name%',
      html: '<p>Hey %recipient.name%, <a href="%recipient.unsubscribe_url%">unsubscribe</a> ${x}</p>',
      text: 'Hey %recipient.name%',
      'recipient-variables': JSON.stringify(recipientData),
      'h:Sender': '"Acme Blog" <hello@acme.example>',
      'h:Auto-Submitted': 'auto-generated',
      'h:X-Auto-Response-Suppress': 'OOF, AutoReply',
      'h:List-Unsubscribe': '<%recipient.list_unsubscribe%>, <%tag_unsubscribe_email%>',
      'h:List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'v:email-id': '6489cd4d8fca4a4a0a4a0a4a',
      'o:tag': ['ghost-email', 'bulk-email'],
      'o:tracking-opens': true,
    };
    const begin = Math.floor(Date.now() / 1000) - 1;
    const sent = await ghost().messages.create(DOMAIN, newsletter as never);
    const providerId = sent.id?.trim().replace(/^<|>$/g, '');
    await until(() => to('ada@example.com') !== undefined && to('grace@example.com') !== undefined);
    const mail = unfolded(to('grace@example.com'));
    expect(mail).toContain('Subject: Issue {{ 1 }}: Member 2');
    expect(mail).toContain(
      'List-Unsubscribe: <https://blog.acme.example/unsubscribe/?uuid=2&newsletter=1>\r\n',
    );
    expect(mail).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n');
    expect(mail).toContain('Auto-Submitted: auto-generated\r\n');
    expect(mail).toContain('To: grace@example.com\r\n');

    const poll = () =>
      analytics({ begin, end: undefined, tags: 'bulk-email', limit: 300, ascending: 'yes' });
    await until(async () => (await poll()).length === 3);
    const events = await poll();
    expect(
      events.map(({ event, severity, recipient }) => [recipient, event, severity]).sort(),
    ).toEqual([
      ['ada@example.com', 'delivered', undefined],
      ['gone@example.com', 'failed', 'permanent'],
      ['grace@example.com', 'delivered', undefined],
    ]);
    for (const event of events) {
      expect(event.message.headers['message-id']).toBe(providerId);
      expect(event['user-variables']).toEqual({ 'email-id': '6489cd4d8fca4a4a0a4a0a4a' });
      expect(event.timestamp).toBeGreaterThan(begin);
    }
    const failed = events.find(({ event }) => event === 'failed');
    expect(failed?.['delivery-status']).toMatchObject({
      code: 550,
      'enhanced-code': '5.1.1',
      message: expect.stringContaining('There is no such user'),
    });

    // The next newsletter is not sent to the address that bounced.
    const single = { ...newsletter, to: ['gone@example.com'], 'v:email-id': 'second' };
    await ghost().messages.create(DOMAIN, single as never);
    const suppressed = async () =>
      (await poll()).find((event) => event['user-variables']['email-id'] === 'second');
    await until(async () => (await suppressed()) !== undefined);
    expect(await suppressed()).toMatchObject({
      event: 'failed',
      severity: 'permanent',
      'delivery-status': { code: 605 },
    });
    const client = ghost();
    await client.suppressions.destroy(DOMAIN, 'bounces', 'gone@example.com');
    for (const type of ['bounces', 'complaints', 'unsubscribes']) {
      await expect(
        client.suppressions.destroy(DOMAIN, type, 'gone@example.com'),
      ).rejects.toMatchObject({ status: 404 });
    }
  });

  /** As in Ghost's fetch-mailgun-events.ts: the request for the next page repeats the whole query. */
  async function analytics(options: object): Promise<MailgunEvent[]> {
    const event = 'delivered OR opened OR failed OR unsubscribed OR complained';
    const query = { event, ...options } as never;
    const found: MailgunEvent[] = [];
    let page = await ghost().events.get(DOMAIN, query);
    while (page.items.length > 0) {
      found.push(...(page.items as never as MailgunEvent[]));
      const next = { page: page.pages.next.page, ...(query as object) } as never;
      page = await ghost().events.get(DOMAIN, next);
    }
    return found;
  }

  function to(address: string): string | undefined {
    return receiver.messages.find(({ recipients }) => recipients.includes(address))?.raw.toString();
  }
});

describe('events', () => {
  test('pages lead in both directions', async () => {
    const client = clientWith(app.testKey);
    const ids: (string | undefined)[] = [];
    for (let n = 0; n < 5; n++) {
      const sent = await client.messages.create(DOMAIN, {
        ...MESSAGE,
        to: 'paged@example.com',
        'o:tag': 'Paged, in two words',
      });
      ids.push(sent.id?.slice(1, -1));
    }
    const tags = '"Paged, in two words" OR other AND none';
    const all = { tags, event: 'accepted', ascending: 'yes', limit: 2 } as const;
    const idsOf = (list: { items: unknown[] }) =>
      (list.items as MailgunEvent[]).map(({ message }) => message.headers['message-id']);
    await until(async () => (await eventsOf(client, { ...all, limit: 300 })).length === 5);
    const first = await client.events.get(DOMAIN, all as never);
    const get = (page: string) => client.events.get(DOMAIN, { page } as never);
    const second = await get(first.pages.next.page);
    const third = await get(second.pages.next.page);
    const fourth = await get(third.pages.next.page);
    expect([first, second, third, fourth].map(idsOf)).toEqual([
      ids.slice(0, 2),
      ids.slice(2, 4),
      ids.slice(4),
      [],
    ]);
    expect(idsOf(await get(third.pages.previous.page))).toEqual(ids.slice(2, 4));
    expect(idsOf(await get(second.pages.previous.page))).toEqual(ids.slice(0, 2));
    expect(idsOf(await get(first.pages.previous.page))).toEqual([]);
    expect(idsOf(await get(third.pages.first.page))).toEqual(ids.slice(0, 2));
    expect(idsOf(await get(first.pages.last.page))).toEqual(ids.slice(3));
    const newest = await client.events.get(DOMAIN, { ...all, ascending: 'no' } as never);
    expect(idsOf(newest)).toEqual(ids.toReversed().slice(0, 2));
    expect(idsOf(await get(newest.pages.next.page))).toEqual(ids.toReversed().slice(2, 4));
    expect(newest.pages.next.url).toMatch(/^http:\/\/postrider\.test\/compat\/mailgun\/v3\//);
  });

  test('only events of the domain in the path are listed', async () => {
    const body = {
      from: { email: 'hello@other.example' },
      to: { email: 'other@example.com' },
      subject: 'Other',
      text: 'x',
      tags: ['other'],
    };
    const sent = await app.call('POST', '/transactional/send', { body });
    expect(sent.status).toBe(202);
    const ofOther = () => mailgun.events.get('other.example', { tags: 'other' } as never);
    await until(async () => (await ofOther()).items.length === 2);
    expect((await mailgun.events.get(DOMAIN, { tags: 'other' } as never)).items).toEqual([]);
    const id = `${sent.json.id}@other.example`;
    expect(await eventsOf(mailgun, { 'message-id': id })).toEqual([]);
  });

  test.each([
    ['an unknown event', { event: 'delivered OR lost' }, /lost/],
    ['an unknown filter', { subject: 'x' }, /subject/],
    ['a date', { begin: 'yesterday' }, /begin/],
    ['a limit', { limit: 301 }, /limit/],
  ])('%s is named', async (_name, query, message) => {
    await expect(mailgun.events.get(DOMAIN, query as never)).rejects.toMatchObject({
      status: 400,
      details: expect.stringMatching(message),
    });
  });

  test('logs are the events of a domain, with a token while there are more', async () => {
    const tag = 'logs';
    for (const name of ['a', 'b', 'c']) {
      const to = `${name}-logs@example.com`;
      await mailgun.messages.create(DOMAIN, { ...MESSAGE, to, 'o:tag': tag, 'v:order': '17' });
    }
    const filter = {
      AND: Object.entries({ domain: DOMAIN, tag }).map(([attribute, value]) => ({
        attribute,
        comparator: '=',
        values: [{ label: value, value }],
      })),
    };
    const query = {
      start: new Date(Date.now() - 3_600_000),
      end: new Date(Date.now() + 3_600_000),
      events: ['accepted'],
      filter,
    };
    const recipients: unknown[] = [];
    let token: string | undefined;
    do {
      const pagination = { sort: 'timestamp:asc', limit: 2, ...(token ? { token } : {}) };
      const page = await mailgun.logs.list({ ...query, pagination });
      recipients.push(...page.items.map(({ recipient }) => recipient));
      token = page.pagination.next;
    } while (token);
    expect(recipients).toEqual(['a', 'b', 'c'].map((name) => `${name}-logs@example.com`));
    const { items } = await mailgun.logs.list({ ...query, pagination: { limit: 1 } });
    expect(items).toMatchObject([
      {
        event: 'accepted',
        recipient: 'c-logs@example.com',
        '@timestamp': expect.any(Date),
        domain: { name: DOMAIN },
        tags: [tag],
        'user-variables': '{"order":"17"}',
      },
    ]);
    await expect(
      mailgun.logs.list({ ...query, filter: { AND: filter.AND.slice(1) } }),
    ).rejects.toMatchObject({
      status: 400,
      details: expect.stringMatching(/domain of the sender/),
    });
  });

  test('a page that we did not make does not exist', async () => {
    await expect(mailgun.events.get(DOMAIN, { page: 'e30' } as never)).rejects.toMatchObject({
      status: 404,
    });
  });
});

describe('suppressions', () => {
  test.each([
    ['bounces', { address: 'b@example.com', code: 550, error: 'No such user' }],
    ['complaints', { address: 'c@example.com' }],
    ['unsubscribes', { address: 'u@example.com' }],
  ] as const)('%s are added, listed, found and removed', async (type, entry) => {
    const { suppressions } = mailgun;
    expect(await suppressions.create(DOMAIN, type, entry as never)).toMatchObject({ status: 200 });
    expect(await suppressions.get(DOMAIN, type, entry.address)).toMatchObject(entry);
    const more = ['x', 'y'].map((name) => ({ address: `${name}-${type}@example.com` }));
    await suppressions.create(DOMAIN, type, more as never);
    const first = await suppressions.list(DOMAIN, type, { limit: 2 });
    expect(addressesOf(first)).toEqual([`y-${type}@example.com`, `x-${type}@example.com`]);
    // The link has a limit too, and the client adds one.
    const next = { page: first.pages.next.page, limit: 1 };
    const second = await suppressions.list(DOMAIN, type, next);
    await expect(suppressions.list(DOMAIN, type, { limit: 1001 })).rejects.toMatchObject({
      details: 'limit: Must be an integer from 1 to 1000.',
    });
    expect(addressesOf(second)).toEqual([entry.address]);
    const third = await suppressions.list(DOMAIN, type, { page: second.pages.next.page });
    expect(third.items).toEqual([]);
    expect(await suppressions.destroy(DOMAIN, type, entry.address)).toMatchObject({ status: 200 });
    await expect(suppressions.get(DOMAIN, type, entry.address)).rejects.toMatchObject({
      status: 404,
    });
  });

  test('one invalid address refuses all of them, and other kinds stay', async () => {
    const { suppressions } = mailgun;
    const entries = [{ address: 'valid@example.com' }, { address: 'nobody' }];
    await expect(suppressions.create(DOMAIN, 'bounces', entries as never)).rejects.toMatchObject({
      status: 400,
      details: expect.stringContaining('/1/address'),
    });
    await expect(suppressions.get(DOMAIN, 'bounces', 'valid@example.com')).rejects.toMatchObject({
      status: 404,
    });
    await suppressions.create(DOMAIN, 'complaints', { address: 'kept@example.com' } as never);
    await expect(suppressions.destroy(DOMAIN, 'bounces', 'kept@example.com')).rejects.toMatchObject(
      { status: 404 },
    );
    expect(await suppressions.get(DOMAIN, 'complaints', 'kept@example.com')).toMatchObject({
      address: 'kept@example.com',
    });
  });

  test('an unsubscribe for one tag is refused', async () => {
    await expect(
      mailgun.suppressions.create(DOMAIN, 'unsubscribes', { address: 'u@x.com', tag: 'a' }),
    ).rejects.toMatchObject({ status: 400, details: expect.stringContaining('tag') });
  });
});

describe('templates', () => {
  test('a template is created, sent, changed and deleted', async () => {
    const { domainTemplates } = live.domains;
    const created = await domainTemplates.create(DOMAIN, {
      name: 'Welcome',
      description: 'A welcome',
      template: '<p>Hi {{ name }}</p>',
    });
    expect(created).toMatchObject({ name: 'welcome', description: 'A welcome' });
    const sent = await mailgun.messages.create(DOMAIN, {
      from: 'hello@acme.example',
      to: 'jane@example.com',
      subject: 'Welcome, Jane',
      template: 'welcome',
      't:variables': JSON.stringify({ name: 'Jane' }),
    });
    const mail = await received(sent.id);
    expect(mail.subject).toBe('Welcome, Jane');
    expect(mail.html).toContain('Hi Jane');
    await domainTemplates.createVersion(DOMAIN, 'welcome', {
      template: '<p>Hello {{ name }}</p>',
      active: 'yes',
      comment: 'Better',
    } as never);
    const found = await domainTemplates.get(DOMAIN, 'welcome', { active: 'yes' } as never);
    expect(found.version).toMatchObject({
      tag: '2',
      template: '<p>Hello {{ name }}</p>',
      comment: 'Better',
    });
    const versions = await domainTemplates.listVersions(DOMAIN, 'welcome');
    expect(versions.template.versions?.map(({ tag, active }) => [tag, active])).toEqual([
      ['2', true],
      ['1', false],
    ]);
    await domainTemplates.updateVersion(DOMAIN, 'welcome', '1', { active: 'yes' } as never);
    expect(await domainTemplates.getVersion(DOMAIN, 'welcome', '1')).toMatchObject({
      version: { active: true, template: '<p>Hi {{ name }}</p>' },
    });
    await domainTemplates.update(DOMAIN, 'welcome', { description: 'Another' });
    const list = await domainTemplates.list(DOMAIN, { limit: 10 });
    expect(list.items).toMatchObject([{ name: 'welcome', description: 'Another' }]);
    await domainTemplates.destroy(DOMAIN, 'welcome');
    await expect(domainTemplates.get(DOMAIN, 'welcome')).rejects.toMatchObject({ status: 404 });
  });

  test('values for each recipient work in templates', async () => {
    await live.domains.domainTemplates.create(DOMAIN, {
      name: 'each',
      description: '',
      template: '<p>Hi {{ name }}</p>',
      headers: JSON.stringify({ Subject: 'For {{ name }}' }) as never,
    });
    const sent = await mailgun.messages.create(DOMAIN, {
      from: 'hello@acme.example',
      to: 'jane@example.com',
      template: 'each',
      'h:X-Mailgun-Variables': JSON.stringify({ name: '%recipient.name%' }),
      'recipient-variables': JSON.stringify({ 'jane@example.com': { name: 'Jane' } }),
    } as never);
    expect(await received(sent.id)).toMatchObject({ subject: 'For Jane' });
  });

  test('a template that is not valid is refused as a whole', async () => {
    const { domainTemplates } = live.domains;
    const broken = { name: 'broken', description: 'x', template: '{{#each a}}' };
    await expect(domainTemplates.create(DOMAIN, broken)).rejects.toMatchObject({
      status: 400,
      details: expect.stringContaining('/template'),
    });
    await expect(domainTemplates.get(DOMAIN, 'broken')).rejects.toMatchObject({ status: 404 });
    await expect(
      domainTemplates.create(DOMAIN, { ...broken, template: 'x', tag: 'v1' }),
    ).rejects.toMatchObject({ status: 400, details: expect.stringContaining('tag') });
  });
});

test('domains are listed, found and verified', async () => {
  expect(await live.domains.list()).toMatchObject([{ name: DOMAIN, state: 'active' }]);
  const domain = await live.domains.get(DOMAIN);
  expect(domain).toMatchObject({ name: DOMAIN, state: 'active', require_tls: false });
  expect(domain.sending_dns_records?.map(({ record_type: type }) => type)).toContain('TXT');
  expect(await live.domains.verify(DOMAIN)).toMatchObject({ name: DOMAIN });
  await expect(live.domains.get('other.example')).rejects.toMatchObject({ status: 404 });
  const old = await fetch(`${app.url}/compat/mailgun/v3/domains`, { headers: basic(app.liveKey) });
  expect(await old.json()).toMatchObject({ total_count: 1, items: [{ name: DOMAIN }] });
});

describe('errors', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['an invalid address', { to: 'nobody' }, /\/to/],
    ['an unknown field', { topic: 'x' }, /topic/],
    ['a sender of another domain', { from: 'hello@other.example' }, /acme\.example/],
    ['a missing subject', { subject: '' }, /subject/],
    ['a header that we write', { 'h:Date': 'now' }, /Date/],
    ['a header that JavaScript would lose', { 'h:__proto__': 'x' }, /__proto__/],
    ['another sender', { 'h:Sender': 'someone@acme.example' }, /Sender/],
    ['an unknown option', { 'o:magic': 'yes' }, /o:magic/],
    ['an option without equivalent', { 'o:sending-ip': '192.0.2.1' }, /o:sending-ip/],
    ['a date', { 'o:deliverytime': 'soon' }, /o:deliverytime/],
    ['unsigned mail', { 'o:dkim': 'no' }, /signed/],
    ['required TLS', { 'o:require-tls': 'yes' }, /domain/],
    ['a hosted page', { html: '<a href="%unsubscribe_url%">x</a>' }, /%unsubscribe_url%/],
    ['values that are not JSON', { 'recipient-variables': '[1]' }, /recipient-variables/],
    ['a copy of a batch', { cc: 'cc@example.com', 'recipient-variables': '{}' }, /cc/],
    ['a template with content', { template: 'welcome' }, /html/],
    ['variables without a template', { 't:variables': '{}' }, /t:variables/],
    ['a file as text', { attachment: undefined, subject: ['a', 'b'] }, /subject/],
  ])('%s is named', async (_name, change, message) => {
    await expect(
      mailgun.messages.create(DOMAIN, { ...MESSAGE, ...change } as never),
    ).rejects.toMatchObject({ status: 400, details: expect.stringMatching(message) });
  });

  test('keys are checked as everywhere', async () => {
    const forbidden = { status: 401, details: expect.stringMatching(/^Forbidden/) };
    await expect(
      clientWith('pr_test_wrong').messages.create(DOMAIN, MESSAGE),
    ).rejects.toMatchObject(forbidden);
    const wrongUser = new Mailgun(FormData).client({
      username: 'me',
      key: app.testKey,
      url: `${app.url}/compat/mailgun`,
    });
    await expect(wrongUser.messages.create(DOMAIN, MESSAGE)).rejects.toMatchObject(forbidden);
    const reader = clientWith(await app.newKey({ mode: 'test', scopes: ['read:events'] }));
    await expect(reader.messages.create(DOMAIN, MESSAGE)).rejects.toMatchObject({ status: 403 });
    const other = { ...MESSAGE, from: 'hello@other.example' };
    await expect(live.messages.create('other.example', other)).rejects.toMatchObject({
      status: 404,
    });
    const limited = clientWith(
      await app.newKey({ mode: 'test', allowedDomains: ['other.example'] }),
    );
    await expect(limited.messages.create(DOMAIN, MESSAGE)).rejects.toMatchObject({ status: 403 });
  });

  test('a body that is not a form is refused', async () => {
    const broken = await post('/messages', 'x', app.testKey, {
      'content-type': 'multipart/form-data; boundary=b',
    });
    expect(broken.status).toBe(400);
    expect(await broken.json()).toMatchObject({ message: expect.stringContaining('incomplete') });
    const text = await post('/messages', 'x', app.testKey, { 'content-type': 'text/plain' });
    expect(text.status).toBe(415);
    const missing = await fetch(`${app.url}/v3/${DOMAIN}/routes`, { headers: basic(app.testKey) });
    expect([missing.status, Object.keys((await missing.json()) as object)]).toEqual([
      404,
      ['message'],
    ]);
  });
});

interface MailgunEvent {
  event: string;
  severity?: string;
  recipient: string;
  timestamp: number;
  message: { headers: Record<string, string> };
  'user-variables': Record<string, string>;
  'delivery-status'?: { code: number; message: string };
}

async function eventsOf(client: Client, query: object): Promise<MailgunEvent[]> {
  const { items } = await client.events.get(DOMAIN, query as never);
  return items as never as MailgunEvent[];
}

function addressesOf({ items }: { items: unknown[] }): string[] {
  return (items as { address: string }[]).map(({ address }) => address);
}

function idOf(messageId: string | undefined): string {
  return (messageId ?? '').replace(/^<|@.*$/g, '');
}

function basic(key: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`api:${key}`).toString('base64')}` };
}

function post(
  path: string,
  body: string | URLSearchParams,
  key: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const url = `${app.url}/compat/mailgun/v3/${DOMAIN}${path}`;
  return fetch(url, { method: 'POST', body, headers: { ...basic(key), ...headers } });
}

function unfolded(raw: string | undefined): string {
  return (raw ?? '').replaceAll(/\r\n[ \t]+/g, ' ');
}

/** The messages of a batch, once they are there. */
async function messagesOf(
  batchId: string | undefined,
): Promise<{ id: string; subject: string; metadata: Record<string, string> }[]> {
  const query = encodeURIComponent('metadata[mailgun-message-id]');
  const { json } = await app.call('GET', `/messages?${query}=${batchId?.slice(1, -1)}`);
  return json.data;
}

/** The message as the test inbox shows it, once it has arrived. */
// biome-ignore lint/suspicious/noExplicitAny: tests read single fields
async function received(messageId: string | undefined): Promise<any> {
  const path = `/test/inbox/${idOf(messageId)}`;
  await until(async () => (await app.call('GET', path)).status === 200);
  return (await app.call('GET', path)).json;
}
