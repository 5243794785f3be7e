import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import sendgridClient from '@sendgrid/client';
import sendgridMail from '@sendgrid/mail';
import nodemailer from 'nodemailer';
import mailgunTransport from 'nodemailer-mailgun-transport';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';

/**
 * The layer above the official client libraries: adapters of frameworks. One of them runs here. Of those
 * that are too large for this repository, or not written in JavaScript, the requests are repeated as
 * they write them; docs/moving.md has the versions.
 */

const DOMAIN = 'acme.example';
const FROM = 'hello@acme.example';
const TO = 'jane@example.com';

let app: TestApp;
let sesCredentials: { accessKeyId: string; secretAccessKey: string };

beforeAll(async () => {
  // The clients warn about keys of another form and about old APIs.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  app = await startApp();
  const { json: keys } = await app.call('GET', '/api-keys', { key: app.liveKey });
  const { id } = keys.data.find(({ mode }: { mode: string }) => mode === 'test');
  const path = `/api-keys/${id}/ses-credentials`;
  const { json } = await app.call('POST', path, { key: app.liveKey });
  sesCredentials = { accessKeyId: json.access_key_id, secretAccessKey: json.secret_access_key };
  const template = {
    key: 'd-welcome',
    name: 'Welcome',
    subject: 'Hi {{ name }}',
    html: '<p>Welcome</p>',
  };
  const created = await app.call('POST', '/templates', { key: app.liveKey, body: template });
  const published = await app.call('POST', '/templates/d-welcome/publish', { body: {} });
  expect([created.status, published.status], created.text + published.text).toEqual([201, 200]);
});
afterAll(() => app[Symbol.asyncDispose]());

/** The message as it was sent, with its tags and metadata. */
async function sentMessage(id: string) {
  const { json: message } = await app.call('GET', `/messages/${id}`);
  const { text: raw } = await app.call('GET', `/messages/${id}/raw`);
  const { json: content } = await app.call('GET', `/messages/${id}/content`);
  return { message, raw, content };
}

async function newestMessage() {
  const { json } = await app.call('GET', '/messages?limit=1');
  return sentMessage(json.data[0].id);
}

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const isForm = body instanceof FormData;
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: { ...(isForm ? {} : { 'content-type': 'application/json' }), ...headers },
    body: isForm ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text), response };
}

const bearer = () => ({ authorization: `Bearer ${app.testKey}` });
const serverToken = () => ({ 'x-postmark-server-token': app.testKey });
const basic = () => ({ authorization: `Basic ${btoa(`api:${app.testKey}`)}` });

describe('nodemailer-mailgun-transport', () => {
  const transport = () => {
    const url = `${app.url}/compat/mailgun`;
    const auth = { api_key: app.testKey, domain: DOMAIN };
    return nodemailer.createTransport(mailgunTransport({ auth, url }));
  };

  test('a mail arrives as it was written', async () => {
    const { messageId } = await transport().sendMail({
      from: { name: 'Acme, Inc. Ü', address: 'hello@acme.example' },
      to: '"Doe, Jané" <jane@example.com>, joe@example.com',
      cc: 'cc@example.com',
      bcc: 'bcc@example.com',
      replyTo: '"Support, Ü" <support@acme.example>',
      subject: 'Costs ${5}',
      text: 'plain {% text',
      html: '<img src="cid:logo.png"> {{ not a placeholder }}',
      attachments: [
        { filename: 'logo.png', content: Buffer.from('hi'), cid: 'logo.png' },
        { filename: 'Rechnung ü.pdf', content: Buffer.from([0, 255, 13, 10]) },
      ],
      ...{ 'o:tag': ['receipt'], 'v:order': '17', 'h:X-Ref': '1' },
    });
    const id = /msg_\w+/.exec(messageId)?.[0] ?? '';
    const { message, raw, content } = await sentMessage(id);
    expect(message).toMatchObject({
      from: { email: 'hello@acme.example', name: 'Acme, Inc. Ü' },
      subject: 'Costs ${5}',
      tags: ['receipt'],
      metadata: { order: '17' },
      recipients: [
        { kind: 'to', name: 'Doe, Jané' },
        { kind: 'to', email: 'joe@example.com' },
        { kind: 'cc' },
        { kind: 'bcc' },
      ],
    });
    expect(content).toMatchObject({
      text: 'plain {% text',
      html: '<img src="cid:logo.png"> {{ not a placeholder }}',
      attachments: [
        { filename: 'Rechnung ü.pdf', size_bytes: 4 },
        { content_id: 'logo.png', content_type: 'image/png' },
      ],
    });
    expect(raw).toContain('X-Ref: 1');
    expect(raw).toMatch(/Reply-To: .*<support@acme\.example>/);
  });

  test('a template, and an error that says why', async () => {
    const mail = { from: 'hello@acme.example', to: 'jane@example.com', subject: '' };
    const variables = { 'h:X-Mailgun-Variables': JSON.stringify({ name: 'Jané' }) };
    const sent = await transport().sendMail({
      ...mail,
      template: 'd-welcome',
      ...variables,
    } as never);
    const { message } = await sentMessage(/msg_\w+/.exec(sent.messageId)?.[0] ?? '');
    expect(message).toMatchObject({ subject: 'Hi Jané' });
    const unknown = transport().sendMail({ ...mail, template: 'd-none', ...variables } as never);
    await expect(unknown).rejects.toMatchObject({ details: expect.stringContaining('d-none') });
  });
});

describe('Resend', () => {
  const EMAIL = { from: 'hello@acme.example', to: 'jane@example.com', subject: 'Hi', text: 'Hi' };

  test('Payload sends empty lists as empty text, and names with commas unquoted', async () => {
    const { status, json } = await post(
      '/compat/resend/emails',
      {
        from: 'Acme, Inc. Ü <hello@acme.example>',
        subject: 'Hi',
        to: ['jane@example.com'],
        bcc: '',
        cc: '',
        reply_to: '',
        attachments: [{ filename: 'ü.pdf', content: Buffer.from('%PDF') }],
        html: '<p>Hi</p>',
        text: '',
      },
      bearer(),
    );
    expect(status).toBe(200);
    const { message, content } = await sentMessage(json.id);
    expect(message).toMatchObject({
      from: { email: 'hello@acme.example', name: 'Acme, Inc. Ü' },
      recipients: [{ kind: 'to', email: 'jane@example.com' }],
    });
    expect(content).toMatchObject({ html: '<p>Hi</p>', attachments: [{ filename: 'ü.pdf' }] });
  });

  test('fields that are null are not set, as Novu sends them', async () => {
    const nothing = { cc: null, bcc: null, reply_to: null, html: null, headers: null, tags: null };
    const others = { attachments: null, scheduled_at: null, topic_id: null, template: null };
    const body = { ...EMAIL, ...nothing, ...others };
    expect(await post('/compat/resend/emails', body, bearer())).toMatchObject({ status: 200 });
    const batch = await post('/compat/resend/emails/batch', [body, body], bearer());
    expect(batch).toMatchObject({ status: 200, json: { data: [{}, {}] } });
  });

  test('Symfony Mailer keeps only the host, and sends Reply-To as a header too', async () => {
    const reply = 'Support <support@acme.example>';
    const both = { ...EMAIL, reply_to: 'support@acme.example', headers: { 'Reply-To': reply } };
    const { status, json } = await post('/emails', both, bearer());
    expect(status).toBe(200);
    expect((await sentMessage(json.id)).raw).toContain('Reply-To: support@acme.example\r\n');
    const header = await post('/emails', { ...EMAIL, headers: { 'reply-to': reply } }, bearer());
    expect((await sentMessage(header.json.id)).raw).toContain(`Reply-To: ${reply}\r\n`);
  });
});

describe('Postmark', () => {
  const EMAIL = {
    From: 'hello@acme.example',
    To: 'jane@example.com',
    Subject: 'Hi',
    TextBody: 'Hi',
  };

  test('Anymail sends numbers in metadata and headers, and files without names', async () => {
    const { json } = await post(
      '/compat/postmark/email',
      {
        ...EMAIL,
        Metadata: { order: 17, paid: true, né: 'ü' },
        Headers: [{ Name: 'X-Num', Value: 5 }],
        Attachments: [{ Name: '', Content: 'aGk=', ContentType: 'application/pdf' }],
      },
      serverToken(),
    );
    expect(json).toMatchObject({ ErrorCode: 0 });
    const { message, raw, content } = await sentMessage(json.MessageID);
    expect(message.metadata).toEqual({ order: '17', paid: 'true', né: 'ü' });
    expect(raw).toContain('X-Num: 5\r\n');
    expect(content.attachments).toMatchObject([{ filename: 'attachment' }]);
  });

  test('Anymail finds suppressed addresses in the message, and sends templates to a path with a slash', async () => {
    const inactive = 'inactive@example.com';
    const suppressions = '/compat/postmark/message-streams/outbound/suppressions';
    await post(suppressions, { Suppressions: [{ EmailAddress: inactive }] }, serverToken());
    const body = { ...EMAIL, To: `jane@example.com, ${inactive}` };
    const { json } = await post('/compat/postmark/email', body, serverToken());
    const [, found] = /inactive addresses:\s*(.*)\.\s*Inactive recipients/.exec(json.Message) ?? [];
    expect(found).toBe(inactive);
    const { From, To } = EMAIL;
    const template = { From, To, TemplateAlias: 'd-welcome', TemplateModel: { name: 'Jané' } };
    const sent = await post('/compat/postmark/email/withTemplate/', template, serverToken());
    expect(sent).toMatchObject({ status: 200, json: { ErrorCode: 0 } });
  });

  test('Symfony Mailer keeps only the host', async () => {
    const sent = await post('/email', { ...EMAIL, Cc: '', HtmlBody: null }, serverToken());
    expect(sent).toMatchObject({ status: 200, json: { ErrorCode: 0 } });
    expect(await post('/email', { ...EMAIL, To: '' }, serverToken())).toMatchObject({
      status: 422,
      json: { ErrorCode: 300, Message: expect.stringContaining('/To: At least one address') },
    });
    expect(await post('/email/other', EMAIL, serverToken())).toMatchObject({
      status: 404,
      json: { Message: expect.stringContaining('Postmark') },
    });
  });
});

describe('SendGrid', () => {
  const mail = () => {
    const client = new (sendgridClient.constructor as new () => typeof sendgridClient)();
    client.setApiKey(app.testKey);
    client.setDefaultRequest('baseUrl', `${app.url}/compat/sendgrid`);
    const service = new (sendgridMail.constructor as new () => typeof sendgridMail)();
    service.setClient(client);
    return service;
  };
  const MAIL = { from: 'Acme <hello@acme.example>', to: 'jane@example.com' };

  test('Strapi and Novu send content beside a template, which has its own', async () => {
    await mail().send({
      ...MAIL,
      subject: 'Unused',
      text: 'Unused',
      html: '<p>Unused</p>',
      substitutions: {},
      templateId: 'd-welcome',
      dynamicTemplateData: { name: 'Jané' },
    });
    const { message, content } = await newestMessage();
    expect(message).toMatchObject({ subject: 'Hi Jané' });
    expect(content.html).toContain('Welcome');
  });

  test('Medusa sends data beside content, and names the fields of attachments differently', async () => {
    await mail().send({
      ...MAIL,
      subject: 'Hi',
      html: '<img src="cid:logo">',
      dynamicTemplateData: { name: 'Jané' },
      attachments: [
        { filename: '', content: 'aGk=', content_type: 'application/pdf' },
        {
          filename: 'logo',
          content: 'aGk=',
          content_type: 'image/png',
          disposition: 'inline',
          id: 'logo',
        },
      ],
    } as never);
    const { content } = await newestMessage();
    expect(content.attachments).toMatchObject([
      { filename: 'attachment', content_type: 'application/pdf', content_id: null },
      { filename: 'logo', content_type: 'image/png', content_id: 'logo' },
    ]);
  });

  test('Symfony Mailer keeps only the host, and shows nothing but the messages of errors', async () => {
    const body = {
      personalizations: [{ to: [{ email: 'jane@example.com' }], subject: 'Hi' }],
      from: { email: 'hello@acme.example' },
      content: [{ type: 'text/plain', value: 'Hi' }],
    };
    const sent = await post('/v3/mail/send', body, bearer());
    expect(sent.status).toBe(202);
    expect(sent.response.headers.get('x-message-id')).toMatch(/^msg_/);
    expect(await post('/v3/mail/send', { ...body, from: {} }, bearer())).toMatchObject({
      status: 400,
      json: { errors: [{ message: 'from.email: This field is required.', field: 'from.email' }] },
    });
  });
});

describe('Mailgun', () => {
  test('PHP numbers the files of a form', async () => {
    const form = new FormData();
    form.append('from', 'Acme <hello@acme.example>');
    form.append('to', 'jane@example.com');
    form.append('subject', 'Hi');
    form.append('html', '<img src="cid:logo.png">');
    form.append('attachment[0]', new Blob(['a']), 'a.txt');
    form.append('attachment[1]', new Blob(['b']), 'b.txt');
    form.append('inline[0]', new Blob(['hi']), 'logo.png');
    form.append('h:Sender', 'hello@acme.example');
    const { status, json } = await post(`/v3/${DOMAIN}/messages`, form, basic());
    expect(status, JSON.stringify(json)).toBe(200);
    const { content } = await sentMessage(/msg_\w+/.exec(json.id)?.[0] ?? '');
    expect(content.attachments).toMatchObject([
      { filename: 'a.txt' },
      { filename: 'b.txt' },
      { content_id: 'logo.png' },
    ]);
  });

  test('Symfony Mailer and Laravel give options as headers of a MIME message, which recipients do not see', async () => {
    const message = [
      'From: Acme <hello@acme.example>',
      'To: jane@example.com',
      'Subject: Hi',
      'X-Mailgun-Tag: receipt',
      'X-Mailgun-Variables: {"order":17,',
      ' "name":"Jane"}',
      'X-Mailgun-Tag: spring',
      'X-Mailgun-Track: no',
      '',
      'X-Mailgun-Tag: is text here',
      '',
    ].join('\r\n');
    const form = new FormData();
    form.append('to', 'jane@example.com');
    form.append('o:tag', 'form');
    form.append('message', new Blob([message]), 'message.mime');
    const { status, json } = await post(`/v3/${DOMAIN}/messages.mime`, form, basic());
    expect(status, JSON.stringify(json)).toBe(200);
    const { message: sent, raw, content } = await newestMessage();
    expect(sent).toMatchObject({
      tags: ['receipt', 'spring', 'form'],
      metadata: { order: '17', name: 'Jane' },
    });
    expect(raw).not.toMatch(/^X-Mailgun-(?!Tag: is text)/m);
    expect(raw).toMatch(/^Subject: Hi\r$/m);
    expect(content.text).toContain('X-Mailgun-Tag: is text here');
  });

  test('Anymail sends the content that it does not have as empty fields', async () => {
    const form = new FormData();
    form.append('from', 'hello@acme.example');
    form.append('to', 'jane@example.com');
    form.append('subject', '');
    form.append('text', '');
    form.append('template', 'd-welcome');
    form.append('v:name', 'Jané');
    expect(await post(`/v3/${DOMAIN}/messages`, form, basic())).toMatchObject({ status: 200 });
    expect((await newestMessage()).message).toMatchObject({ subject: 'Hi Jané' });
  });
});

test('the SES bridge of Symfony Mailer keeps only the host, and passes on returnPath()', async () => {
  const ses = new SESv2Client({
    region: 'eu-central-1',
    endpoint: app.url,
    credentials: sesCredentials,
    maxAttempts: 1,
  });
  const common = { Destination: { ToAddresses: ['jane@example.com'] } };
  const { MessageId = '' } = await ses.send(
    new SendEmailCommand({
      ...common,
      FromEmailAddress: '=?UTF-8?B?w5xiZXI=?= <hello@acme.example>',
      FeedbackForwardingEmailAddress: 'bounces@acme.example',
      Content: {
        Simple: {
          Subject: { Data: 'Hi' },
          Body: { Text: { Data: 'Hi' } },
          Headers: [{ Name: 'Return-Path', Value: '<bounces@acme.example>' }],
        },
      },
    }),
  );
  const { message, raw } = await sentMessage(MessageId);
  expect(message).toMatchObject({ from: { email: 'hello@acme.example', name: 'Über' } });
  expect(raw).not.toContain('bounces@');
  const Data = Buffer.from('Return-Path: bounces@acme.example\nFrom: hello@acme.example\n\nHi');
  const sent = await ses.send(
    new SendEmailCommand({
      ...common,
      FromEmailAddress: 'bounces@acme.example',
      Content: { Raw: { Data } },
    }),
  );
  ses.destroy();
  expect((await sentMessage(sent.MessageId ?? '')).raw).not.toContain('bounces@');
});

test('returnPath() of Symfony Mailer is left out, as at the other providers', async () => {
  const html = '<p>Hi</p>';
  const name = 'Return-Path';
  const value = '<bounces@acme.example>';
  const mailgun = new FormData();
  for (const [field, text] of Object.entries({ from: FROM, to: TO, subject: 'Hi', html })) {
    mailgun.append(field, text);
  }
  mailgun.append(`h:${name}`, value);
  mailgun.append('h:X-Ref', '1');
  const headers = { [name]: value, 'X-Ref': '1' };
  const list = [
    { Name: name, Value: value },
    { Name: 'X-Ref', Value: '1' },
  ];
  const postmark = { From: FROM, To: TO, Subject: 'Hi', HtmlBody: html, Headers: list };
  const sendgrid = {
    from: { email: FROM },
    personalizations: [{ to: [{ email: TO }] }],
    subject: 'Hi',
    content: [{ type: 'text/html', value: html }],
    headers,
  };
  for (const [path, body, authorization] of [
    ['/emails', { from: FROM, to: [TO], subject: 'Hi', html, headers }, bearer()],
    ['/email', postmark, serverToken()],
    ['/v3/mail/send', sendgrid, bearer()],
    [`/v3/${DOMAIN}/messages`, mailgun, basic()],
  ] as const) {
    const { status, json } = await post(path, body, authorization);
    expect([path, status < 300, json]).toEqual([path, true, json]);
    const { raw } = await newestMessage();
    expect([path, raw.includes('bounces@'), raw.includes('X-Ref: 1')]).toEqual([path, false, true]);
  }
  const ours = { from: { email: FROM }, to: { email: TO }, subject: 'Hi', html, headers };
  expect((await app.call('POST', '/transactional/send', { body: ours })).json).toMatchObject({
    code: 'validation_failed',
    errors: [{ pointer: '/headers/Return-Path', code: 'reserved_header' }],
  });
});
