import sendgridClient from '@sendgrid/client';
import sendgridMail from '@sendgrid/mail';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { until } from '../../harness/until.ts';

/** SendGrid's own client libraries, unchanged, against `/compat/sendgrid`. */

// The libraries export instances; their types do not export the classes.
type Client = typeof sendgridClient;
type MailService = typeof sendgridMail;
type MailData = Parameters<MailService['sendMultiple']>[0];
const newClient = () => new (sendgridClient.constructor as new () => Client)();
const newService = () => new (sendgridMail.constructor as new () => MailService)();

let app: TestApp;
let receiver: SmtpReceiver;
let dns: Awaited<ReturnType<typeof startDnsServer>>;
let client: Client;
let mail: MailService;

beforeAll(async () => {
  // The library warns about keys that do not begin with "SG.".
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  receiver = await startSmtpReceiver({
    onRcpt: (address) => (address.includes('gone') ? '550 5.1.1 No such user' : undefined),
  });
  dns = await startDnsServer({
    'example.com': { MX: ['10 mx.example.test'] },
    'mx.example.test': { A: ['127.0.0.1'] },
  });
  app = await startApp({ env: { DNS_SERVERS: dns.address, MX_PORT: String(receiver.port) } });
  await app.app.domains.trust(app.workspaceId, { name: 'live.example' });
  client = clientWith(app.testKey);
  mail = serviceWith(client);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
  await receiver.close();
});

function clientWith(key: string): Client {
  const made = newClient();
  made.setApiKey(key);
  made.setDefaultRequest('baseUrl', `${app.url}/compat/sendgrid`);
  return made;
}

function serviceWith(one: Client): MailService {
  const service = newService();
  service.setClient(one);
  return service;
}

const MAIL = {
  from: { email: 'hello@acme.example', name: 'Acme' },
  to: 'jane@example.com',
  subject: 'Costs ${5}',
  html: '<p>{{ not a placeholder }}</p>',
} satisfies MailData;

async function send(data: object): Promise<string> {
  const [response] = await mail.send(data as MailData);
  expect(response).toMatchObject({ statusCode: 202, body: '' });
  return (response.headers as Record<string, string>)['x-message-id'] as string;
}

/** The body and status of an error, as the library reports it. */
async function failed(request: Promise<unknown>) {
  const error = await request.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error?.response, String(error)).toBeDefined();
  return { status: error.code, errors: error.response.body.errors };
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

async function ask(method: Method, url: string, body?: object, as: Client = client) {
  const [{ statusCode }, json] = await as.request({ method, url, ...(body ? { body } : {}) });
  return { status: statusCode, json };
}

describe('mail', () => {
  test('a mail arrives as it was written, with all that SendGrid offers', async () => {
    const id = await send({
      ...MAIL,
      to: [{ email: 'jane@example.com', name: 'Jane Doe' }, 'joe@example.com'],
      cc: 'cc@example.com',
      bcc: ['bcc@example.com'],
      replyTo: 'Support <support@acme.example>',
      text: 'plain {% text',
      headers: { 'X-Ref': '1' },
      categories: ['Order, paid: 5 €', 'receipt'],
      customArgs: { order: '17' },
      trackingSettings: { clickTracking: { enable: false, enableText: false } },
      mailSettings: { sandboxMode: { enable: false }, footer: { enable: false } },
      attachments: [
        { filename: 'a.txt', content: 'aGVsbG8=', type: 'text/plain', disposition: 'attachment' },
        {
          filename: 'logo.png',
          content: 'aGk=',
          type: 'image/png',
          disposition: 'inline',
          content_id: 'logo',
        },
      ],
    });
    const received = await inbox(id);
    expect(received).toMatchObject({ subject: 'Costs ${5}', text: 'plain {% text' });
    expect(received.html).toContain('{{ not a placeholder }}');
    expect(received.attachments).toMatchObject([
      { filename: 'a.txt', content_id: null },
      { filename: 'logo.png', content_id: 'logo' },
    ]);
    const { json } = await app.call('GET', `/messages/${id}`);
    expect(json).toMatchObject({
      from: { email: 'hello@acme.example', name: 'Acme' },
      tags: ['Order, paid: 5 €', 'receipt'],
      metadata: { order: '17' },
      recipients: [
        { kind: 'to', email: 'jane@example.com', name: 'Jane Doe' },
        { kind: 'to', email: 'joe@example.com' },
        { kind: 'cc', email: 'cc@example.com' },
        { kind: 'bcc', email: 'bcc@example.com' },
      ],
    });
    const raw = await app.call('GET', `/messages/${id}/raw`);
    expect(raw.text).toMatch(/^Reply-To: Support <support@acme.example>\r$/m);
    expect(raw.text).toMatch(/^X-Ref: 1\r$/m);
  });

  test('each personalization is a message of its own, with its own fields and substitutions', async () => {
    const live = clientWith(app.liveKey);
    const before = receiver.messages.length;
    const personalization = (name: string, more: object) => ({
      substitutions: { '-name-': name, '-price-': '$1' },
      ...more,
    });
    const sent = await live.request({
      method: 'POST',
      url: '/v3/mail/send',
      body: {
        personalizations: [
          personalization('A & -price-', {
            to: [{ email: 'a@example.com' }, { email: 'b@example.com' }],
            bcc: [{ email: 'secret@example.com' }],
            custom_args: { who: 'a' },
          }),
          personalization('C', {
            to: [{ email: 'c@example.com' }],
            from: { email: 'other@live.example' },
            subject: 'Own -name-',
            headers: { 'x-common': 'own' },
          }),
        ],
        from: { email: 'hello@live.example' },
        reply_to_list: [{ email: 'x@live.example', name: 'X -name-' }, { email: 'y@live.example' }],
        subject: 'For -price-',
        headers: { 'X-Common': 'common' },
        custom_args: { who: 'all', kind: 'test' },
        content: [
          { type: 'text/plain', value: 'Dear -name-, {{ raw }}' },
          { type: 'text/html', value: '<p>Dear -name-, ${raw}</p>' },
        ],
      },
    });
    expect(sent[0].statusCode).toBe(202);
    await receiver.untilMessages(before + 3);
    const mails = receiver.messages.slice(before).map(({ recipients, raw }) => ({
      recipients,
      raw: raw.toString(),
    }));
    const both = mails.find(({ recipients }) => recipients.includes('a@example.com'));
    expect(both?.recipients).toEqual(['a@example.com', 'b@example.com']);
    expect(both?.raw).toMatch(/^Subject: For \$1\r$/m);
    expect(both?.raw).toContain('Dear A & -price-, {{ raw }}');
    expect(both?.raw).toContain('<p>Dear A & -price-, ${raw}</p>');
    expect(both?.raw).toMatch(/^X-Common: common\r$/m);
    expect(both?.raw).not.toContain('secret@example.com');
    const own = mails.find(({ recipients }) => recipients.includes('c@example.com'));
    expect(own?.recipients).toEqual(['c@example.com']);
    expect(own?.raw).toMatch(/^Subject: Own C\r$/m);
    expect(own?.raw).toMatch(/^From: other@live.example\r$/m);
    expect(own?.raw).toMatch(/^Reply-To: X C <x@live.example>,\s+y@live.example\r$/m);
    expect(own?.raw.match(/^x-common: .*\r$/gim)).toEqual(['x-common: own\r']);
    const [last, first] = (await app.call('GET', '/messages?limit=2', { key: app.liveKey })).json
      .data;
    expect([first.metadata, last.metadata]).toEqual([
      { who: 'a', kind: 'test' },
      { who: 'all', kind: 'test' },
    ]);
    expect((sent[0].headers as Record<string, string>)['x-message-id']).toBe(first.id);
  });

  test('fields that all personalizations share count for each of them', async () => {
    const body = {
      personalizations: Array.from({ length: 200 }, (_, n) => ({
        to: [{ email: `r${n}@example.com` }],
      })),
      from: MAIL.from,
      subject: 'x',
      content: [{ type: 'text/plain', value: 'x' }],
      custom_args: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 'v'])),
    };
    expect(await failed(ask('POST', '/v3/mail/send', body))).toMatchObject({
      status: 400,
      errors: [{ field: 'personalizations', message: expect.stringContaining('together') }],
    });
  });

  test('one refused personalization refuses all', async () => {
    const count = await messageCount();
    const body = {
      personalizations: [{ to: [{ email: 'a@example.com' }] }, { to: [{ email: 'nobody' }] }],
      from: MAIL.from,
      subject: 'x',
      content: [{ type: 'text/plain', value: 'x' }],
    };
    expect(await failed(ask('POST', '/v3/mail/send', body))).toMatchObject({
      status: 400,
      errors: [{ field: 'personalizations.1.to.0.email', message: expect.stringContaining('@') }],
    });
    expect(await messageCount()).toBe(count);
  });

  test('multiple recipients do not see each other, and the library’s own wrappers are replaced', async () => {
    const [response] = await mail.sendMultiple({
      ...MAIL,
      to: ['one@example.com', 'two@example.com'],
      text: 'Hi {{name}}',
      substitutions: { name: 'there' },
    } as MailData);
    expect(response.statusCode).toBe(202);
    const { data } = (await app.call('GET', '/messages?limit=2')).json;
    expect(data.map(({ recipients }: { recipients: object[] }) => recipients.length)).toEqual([
      1, 1,
    ]);
    for (const { id } of data) expect((await inbox(id)).text).toBe('Hi there');
  });

  test('a dynamic template gets its data', async () => {
    const body = {
      key: 'd-welcome',
      name: 'W',
      subject: 'Hi {{ name }}',
      html: '<p>{{ name }}</p>',
    };
    await app.call('POST', '/templates', { key: app.liveKey, body });
    await app.call('POST', '/templates/d-welcome/publish', { body: {} });
    const id = await send({
      to: 'jane@example.com',
      from: 'hello@acme.example',
      templateId: 'd-welcome',
      dynamicTemplateData: { name: 'Jane' },
    });
    expect(await inbox(id)).toMatchObject({ subject: 'Hi Jane' });
    const missing = { to: 'jane@example.com', from: 'hello@acme.example', templateId: 'd-welcome' };
    expect(await failed(mail.send(missing as MailData))).toMatchObject({
      status: 400,
      errors: [{ field: 'personalizations.0.dynamic_template_data.name' }],
    });
    expect(await failed(mail.send({ ...missing, templateId: 'd-none' }))).toMatchObject({
      status: 400,
      errors: [{ field: 'template_id' }],
    });
  });

  test('an unsubscribe group is a stream, and an inline image has the id of the types', async () => {
    await app.call('POST', '/streams', { body: { key: '12345', purpose: 'subscription' } });
    const id = await send({
      ...MAIL,
      html: '<img src="cid:logo">',
      asm: { groupId: 12345 },
      attachments: [
        {
          content: 'aGk=',
          filename: 'logo.png',
          type: 'image/png',
          disposition: 'inline',
          contentId: 'logo',
        },
      ],
    });
    expect((await app.call('GET', `/messages/${id}`)).json.stream).toBe('12345');
    const raw = (await app.call('GET', `/messages/${id}/raw`)).text;
    expect(raw).toMatch(/^List-Unsubscribe: /m);
    expect(raw).toMatch(/^Content-ID: <logo>/im);
  });

  test('sandbox mode validates every personalization and sends nothing', async () => {
    const count = await messageCount();
    const sandbox = { mailSettings: { sandboxMode: { enable: true } } };
    // More than the number of large responses that a workspace may have at a time.
    const to = Array.from({ length: 6 }, (_, index) => `jane${index}@example.com`);
    const [response] = await mail.sendMultiple({ ...MAIL, ...sandbox, to });
    expect(response).toMatchObject({ statusCode: 200, body: '' });
    const bad = { ...MAIL, ...sandbox, to: [...to, 'nobody'] };
    expect(await failed(mail.sendMultiple(bad))).toMatchObject({
      status: 400,
      errors: [{ field: 'personalizations.6.to.0.email' }],
    });
    expect(await messageCount()).toBe(count);
  });

  test('an idempotency key sends once', async () => {
    const request = {
      method: 'POST' as const,
      url: '/v3/mail/send',
      headers: { 'Idempotency-Key': 'sendgrid-1' },
      body: {
        personalizations: [
          { to: [{ email: 'a@example.com' }] },
          { to: [{ email: 'b@example.com' }] },
        ],
        from: MAIL.from,
        subject: 'Once',
        content: [{ type: 'text/plain', value: 'x' }],
      },
    };
    const [first] = await client.request(request);
    const count = await messageCount();
    const [again] = await client.request(request);
    const idOf = ({ headers }: { headers: unknown }) =>
      (headers as Record<string, string>)['x-message-id'];
    expect(idOf(again)).toBe(idOf(first));
    expect(await messageCount()).toBe(count);
    const changed = { ...request, body: { ...request.body, subject: 'Twice' } };
    expect(await failed(client.request(changed))).toMatchObject({ status: 400 });
  });
});

describe('scheduled mail', () => {
  const later = () => Math.floor(Date.now() / 1000) + 3600;

  test('a batch is cancelled by its id, and nothing else is', async () => {
    const { status, json } = await ask('POST', '/v3/mail/batch');
    expect(status).toBe(201);
    const batchId = json.batch_id;
    expect(await ask('GET', `/v3/mail/batch/${batchId}`)).toEqual({ status: 200, json });
    const other = (await ask('POST', '/v3/mail/batch')).json.batch_id;
    const [ofOther, ...ofBatch] = [
      await send({ ...MAIL, sendAt: later(), batchId: other }),
      await send({ ...MAIL, sendAt: later(), batchId }),
      await send({ ...MAIL, sendAt: later(), batchId }),
    ];
    expect(await ask('GET', `/v3/user/scheduled_sends/${batchId}`)).toMatchObject({ json: [] });
    const cancel = { batch_id: batchId, status: 'cancel' };
    const cancelled = await ask('POST', '/v3/user/scheduled_sends', cancel);
    expect(cancelled).toEqual({ status: 201, json: cancel });
    for (const id of ofBatch) expect(await statusOf(id)).toBe('cancelled');
    expect(await statusOf(ofOther)).toBe('scheduled');
    const found = await ask('GET', `/v3/user/scheduled_sends/${batchId}`);
    expect(found.json).toEqual([cancel]);
    const patched = await ask('PATCH', `/v3/user/scheduled_sends/${other}`, { status: 'cancel' });
    expect(patched.status).toBe(204);
    expect(await statusOf(ofOther)).toBe('cancelled');
  });

  test('pausing, resuming and listing batches is refused', async () => {
    const batch = (await ask('POST', '/v3/mail/batch')).json.batch_id;
    const pause = ask('POST', '/v3/user/scheduled_sends', { batch_id: batch, status: 'pause' });
    expect(await failed(pause)).toMatchObject({
      status: 400,
      errors: [{ field: 'status', message: expect.stringMatching(/paused/) }],
    });
    expect(await failed(ask('DELETE', `/v3/user/scheduled_sends/${batch}`))).toMatchObject({
      status: 409,
      errors: [{ message: expect.stringMatching(/cannot be resumed/) }],
    });
    expect(await failed(ask('GET', '/v3/user/scheduled_sends'))).toMatchObject({
      status: 404,
      errors: [{ message: expect.stringMatching(/by its id/) }],
    });
    expect(await failed(ask('GET', '/v3/mail/batch/nothing'))).toMatchObject({ status: 400 });
    expect(await failed(ask('GET', '/v3/user/scheduled_sends/nothing'))).toMatchObject({
      status: 404,
    });
    const bad = send({ ...MAIL, batchId: 'nothing' });
    expect(await failed(bad)).toMatchObject({ status: 400, errors: [{ field: 'batch_id' }] });
  });

  test('a personalization has its own time, and a past time means now', async () => {
    const id = await send({ ...MAIL, sendAt: 1 });
    await inbox(id);
    await ask('POST', '/v3/mail/send', {
      personalizations: [{ to: [{ email: 'a@example.com' }], send_at: later() }],
      from: MAIL.from,
      subject: 'Later',
      content: [{ type: 'text/plain', value: 'x' }],
    });
    const [last] = (await app.call('GET', '/messages?limit=1')).json.data;
    expect(last).toMatchObject({ subject: 'Later', status: 'scheduled' });
    expect(await failed(send({ ...MAIL, sendAt: later() + 86_400 * 40 }))).toMatchObject({
      status: 400,
      errors: [{ field: 'send_at', message: expect.stringMatching(/30 days/) }],
    });
  });
});

describe('suppressions', () => {
  test('bounces and invalid addresses are those of live mail', async () => {
    const live = clientWith(app.liveKey);
    const service = serviceWith(live);
    const from = 'hello@live.example';
    await service.send({ ...MAIL, from, to: 'gone@example.com' });
    await service.send({ ...MAIL, from, to: 'jane@nowhere.example' });
    const list = async (name: string, query = '') =>
      (await ask('GET', `/v3/suppression/${name}${query}`, undefined, live)).json;
    await until(async () => (await list('bounces')).length === 1);
    await until(async () => (await list('invalid_emails')).length === 1);
    expect(await list('bounces')).toEqual([
      {
        created: expect.any(Number),
        email: 'gone@example.com',
        reason: expect.stringContaining('No such user'),
        status: '5.1.1',
      },
    ]);
    expect(await list('invalid_emails')).toMatchObject([
      { email: 'jane@nowhere.example', reason: expect.stringContaining('does not exist') },
    ]);
    expect(await list('bounces', '/gone@example.com')).toHaveLength(1);
    expect(await list('bounces', '/jane@nowhere.example')).toEqual([]);
    expect(await list('bounces', '?start_time=4000000000')).toEqual([]);
    expect(await list('bounces', '?end_time=1')).toEqual([]);
    expect(await list('bounces', '?limit=1&offset=1')).toEqual([]);
    expect(await list('spam_reports')).toEqual([]);
    // Another mode has another list.
    expect((await ask('GET', '/v3/suppression/bounces')).json).toEqual([]);

    const wrongList = ask(
      'DELETE',
      '/v3/suppression/spam_reports/gone@example.com',
      undefined,
      live,
    );
    expect(await failed(wrongList)).toMatchObject({ status: 404 });
    const deleted = await ask(
      'DELETE',
      '/v3/suppression/bounces/gone@example.com',
      undefined,
      live,
    );
    expect(deleted.status).toBe(204);
    expect(await list('bounces')).toEqual([]);
    const all = await ask('DELETE', '/v3/suppression/invalid_emails', { delete_all: true }, live);
    expect(all.status).toBe(204);
    expect(await list('invalid_emails')).toEqual([]);
  });

  test('spam reports are listed and deleted by address', async () => {
    for (const name of ['a', 'b', 'c']) {
      const body = { email: `${name}@complains.example`, reason: 'complaint' };
      await app.call('POST', '/suppressions', { body });
    }
    const list = async (query = '') => {
      const { json } = await ask('GET', `/v3/suppression/spam_reports${query}`);
      return json.map(({ email }: { email: string }) => email[0]).join('');
    };
    expect(await list()).toBe('cba');
    expect(await list('?limit=1&offset=1')).toBe('b');
    const emails = ['a@complains.example', 'unknown@complains.example'];
    const bad = ask('DELETE', '/v3/suppression/spam_reports', { emails: [...emails, 'nobody'] });
    expect(await failed(bad)).toMatchObject({ status: 400, errors: [{ field: 'emails.2' }] });
    expect(await list()).toBe('cba');
    await ask('DELETE', '/v3/suppression/spam_reports', { emails });
    expect(await list()).toBe('cb');
    expect(await failed(ask('DELETE', '/v3/suppression/spam_reports', {}))).toMatchObject({
      status: 400,
    });
    expect(await list()).toBe('cb');
  });

  test('global unsubscribes are added, found and deleted, and suppress mail', async () => {
    const path = '/v3/asm/suppressions/global';
    const emails = { recipient_emails: ['stop@example.com', 'quit@example.com'] };
    expect(await ask('POST', path, emails)).toEqual({ status: 201, json: emails });
    expect((await ask('GET', `${path}/stop@example.com`)).json).toEqual({
      recipient_email: 'stop@example.com',
    });
    expect((await ask('GET', `${path}/fine@example.com`)).json).toEqual({});
    // An address that left one stream is not a global unsubscribe.
    const key = app.testKey;
    await app.call('POST', '/streams', { key, body: { key: 'news', purpose: 'subscription' } });
    const left = { email: 'fine@example.com', stream: 'news', reason: 'unsubscribe' };
    await app.call('POST', '/suppressions', { key, body: left });
    expect((await ask('GET', `${path}/fine@example.com`)).json).toEqual({});
    expect((await ask('GET', '/v3/suppression/unsubscribes')).json).toHaveLength(2);
    expect(await statusOf(await send({ ...MAIL, to: 'stop@example.com' }))).toBe('suppressed');
    expect((await ask('DELETE', `${path}/stop@example.com`)).status).toBe(204);
    expect(await failed(ask('DELETE', `${path}/stop@example.com`))).toMatchObject({ status: 404 });
    expect((await ask('GET', `${path}/stop@example.com`)).json).toEqual({});
    const bad = ask('POST', path, { recipient_emails: ['new@example.com', 'nobody'] });
    expect(await failed(bad)).toMatchObject({
      status: 400,
      errors: [{ field: 'recipient_emails.1' }],
    });
    expect((await ask('GET', `${path}/new@example.com`)).json).toEqual({});
  });

  test('blocks are refused with a reason', async () => {
    for (const method of ['GET', 'DELETE'] as const) {
      for (const path of ['', '/jane@example.com']) {
        expect(await failed(ask(method, `/v3/suppression/blocks${path}`))).toMatchObject({
          status: 404,
          errors: [{ message: expect.stringMatching(/no list of blocks/) }],
        });
      }
    }
  });
});

describe('errors', () => {
  test.each<[string, object, string, RegExp]>([
    ['an invalid address', { to: 'nobody' }, 'personalizations.0.to.0.email', /@/],
    ['an invalid sender', { from: 'nobody' }, 'from.email', /@/],
    ['an unsubscribe group without a stream', { asm: { groupId: 1 } }, 'asm.group_id', /stream 1/],
    [
      'a choice of groups',
      { asm: { groupId: 1, groupsToDisplay: [1] } },
      'asm.groups_to_display',
      /Leave groups_to_display out/,
    ],
    [
      'a link to a page for unsubscribing',
      { html: '<a href="<%asm_group_unsubscribe_raw_url%>">Leave</a>' },
      'content.0.value',
      /List-Unsubscribe/,
    ],
    ['an IP pool', { ipPoolName: 'pool' }, 'ip_pool_name', /pools are not supported/],
    ['sections', { sections: { ':a': 'x' } }, 'sections', /Sections are not supported/],
    [
      'a bypass of suppressions',
      { mailSettings: { bypassListManagement: { enable: true } } },
      'mail_settings.bypass_list_management.enable',
      /cannot be bypassed/,
    ],
    [
      'a footer',
      { mailSettings: { footer: { enable: true, text: 'x' } } },
      'mail_settings.footer.enable',
      /Footers/,
    ],
    [
      'subscription tracking',
      { trackingSettings: { subscriptionTracking: { enable: true } } },
      'tracking_settings.subscription_tracking.enable',
      /Unsubscribe links/,
    ],
    [
      'the place of the tracking image',
      { trackingSettings: { openTracking: { enable: true, substitutionTag: '%o%' } } },
      'tracking_settings.open_tracking.substitution_tag',
      /tracking image/,
    ],
    [
      'another type of content',
      { content: [{ type: 'text/calendar', value: 'x' }] },
      'content.0.type',
      /text\/plain/,
    ],
    [
      'a category that cannot be a tag',
      { categories: ['a\nb'] },
      'categories.0',
      /control characters/,
    ],
    ['a header that we write', { headers: { Date: 'now' } }, 'headers.Date', /Date/],
    [
      'an inline file without id',
      { attachments: [{ filename: 'a', content: 'aGk=', disposition: 'inline' }] },
      'attachments.0.content_id',
      /content_id/,
    ],
    [
      'content that is not Base64',
      { attachments: [{ filename: 'a', content: '!' }] },
      'attachments.0.content',
      /base64/i,
    ],
    [
      'a media type that is none',
      { attachments: [{ filename: 'a', content: 'aGk=', type: 'x' }] },
      'attachments.0.type',
      /media type/,
    ],
    [
      'a long substitution',
      { substitutions: { a: 'x'.repeat(10_001) } },
      'personalizations.0.substitutions',
      /10000 bytes/,
    ],
    [
      'reply addresses given twice',
      { replyTo: 'a@b.example', replyToList: [{ email: 'c@b.example' }] },
      'reply_to_list',
      /either/,
    ],
  ])('%s is named', async (_name, change, field, message) => {
    const { status, errors } = await failed(mail.send({ ...MAIL, ...change } as MailData));
    expect(status).toBe(400);
    const found = errors.find((error: { field: string }) => error.field === field);
    expect(found, JSON.stringify(errors)).toMatchObject({
      message: expect.stringMatching(message),
      help: expect.stringContaining('/docs/errors/'),
    });
  });

  test.each<[object, string]>([
    [{ personalizations: [] }, 'personalizations'],
    [{}, 'personalizations'],
    [{ personalizations: [{ to: [] }] }, 'personalizations.0.to'],
    [{ personalizations: [{ to: [{ email: 'a@example.com' }] }], subject: 'x' }, 'content'],
    [{ personalizations: [{ to: [{ email: 'a@example.com' }] }], nonsense: 1 }, 'nonsense'],
  ])('%j is refused because of %s', async (body, field) => {
    const { status, errors } = await failed(
      ask('POST', '/v3/mail/send', { from: MAIL.from, ...body }),
    );
    expect(status).toBe(400);
    expect(errors.map((error: { field: string }) => error.field)).toContain(field);
  });

  test('keys, scopes and domains are checked as everywhere', async () => {
    const denied = { errors: [{ message: expect.any(String), field: null }] };
    const wrong = serviceWith(clientWith('pr_test_wrong'));
    expect(await failed(wrong.send(MAIL))).toMatchObject({ status: 401, ...denied });
    const reader = clientWith(await app.newKey({ mode: 'test', scopes: ['read:messages'] }));
    expect(await failed(serviceWith(reader).send(MAIL))).toMatchObject({ status: 403, ...denied });
    const unowned = serviceWith(clientWith(app.liveKey));
    expect(await failed(unowned.send(MAIL))).toMatchObject({ status: 403 });
    const subuser = clientWith(app.testKey);
    subuser.setImpersonateSubuser('someone');
    expect(await failed(ask('GET', '/v3/scopes', undefined, subuser))).toMatchObject({
      status: 400,
      errors: [{ message: expect.stringMatching(/subusers/) }],
    });
    expect((await ask('GET', '/v3/scopes')).json.scopes).toContain('mail.send');
    expect((await ask('GET', '/v3/scopes', undefined, reader)).json.scopes).toEqual([
      'user.scheduled_sends.read',
      'stats.read',
      'stats.global.read',
      'categories.stats.read',
    ]);
    expect(await failed(ask('GET', '/v3/marketing/contacts'))).toMatchObject({ status: 404 });
  });
});

async function messageCount(): Promise<number> {
  return (await app.call('GET', '/messages?limit=100')).json.data.length;
}

async function statusOf(id: string | undefined): Promise<string> {
  return (await app.call('GET', `/messages/${id}`)).json.status;
}

/** The message as the test inbox shows it, once it has arrived. */
// biome-ignore lint/suspicious/noExplicitAny: tests read single fields
async function inbox(id: string): Promise<any> {
  await until(async () => (await app.call('GET', `/test/inbox/${id}`)).status === 200);
  return (await app.call('GET', `/test/inbox/${id}`)).json;
}
