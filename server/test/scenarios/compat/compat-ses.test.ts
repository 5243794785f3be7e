import {
  CreateEmailTemplateCommand,
  DeleteEmailTemplateCommand,
  DeleteSuppressedDestinationCommand,
  GetAccountCommand,
  GetDedicatedIpsCommand,
  GetEmailIdentityCommand,
  GetEmailTemplateCommand,
  GetSuppressedDestinationCommand,
  ListEmailIdentitiesCommand,
  ListEmailTemplatesCommand,
  ListSuppressedDestinationsCommand,
  PutSuppressedDestinationCommand,
  SESv2Client,
  type SESv2ClientConfig,
  SendBulkEmailCommand,
  SendEmailCommand,
  type SendEmailCommandInput,
  UpdateEmailTemplateCommand,
} from '@aws-sdk/client-sesv2';
import nodemailer from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeId } from '../../../src/lib/ids.ts';
import { type NewKeyOptions, startApp } from '../../harness/app.ts';
import {
  type ReturnPathServer,
  startReturnPathServer,
} from '../../harness/smtp/return-path-setup.ts';
import { until } from '../../harness/until.ts';

/** Amazon's own SDK and nodemailer's SES transport, unchanged, against `/compat/ses`. */

let server: ReturnPathServer;
let ses: SESv2Client;
let live: SESv2Client;

beforeAll(async () => {
  server = await startReturnPathServer();
  ses = clientWith(await credentialsFor({ mode: 'test' }));
  live = clientWith(await credentialsFor({ mode: 'live' }));
});
afterAll(async () => {
  ses?.destroy();
  live?.destroy();
  await server?.[Symbol.asyncDispose]();
});

interface Credentials {
  keyId: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** A key with these limits, and credentials for it, made as the dashboard makes them. */
async function credentialsFor(options: NewKeyOptions, app = server.app): Promise<Credentials> {
  const { workspaceId } = options;
  const key = workspaceId ? await app.newKey({ mode: 'live', workspaceId }) : app.liveKey;
  await app.newKey(options);
  const { json } = await app.call('GET', '/api-keys?limit=1', { key });
  const keyId = json.data[0].id;
  const made = await app.call('POST', `/api-keys/${keyId}/ses-credentials`, { key });
  expect(made.status).toBe(201);
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = made.json;
  return { keyId, accessKeyId, secretAccessKey };
}

function clientWith(
  { accessKeyId, secretAccessKey }: Omit<Credentials, 'keyId'>,
  more: SESv2ClientConfig = {},
): SESv2Client {
  return new SESv2Client({
    region: 'eu-central-1',
    endpoint: `${server.app.url}/compat/ses`,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
    ...more,
  });
}

/** More than arrives in one piece. */
const LARGE = Buffer.alloc(1_000_000, 'hello');

const text = (Data: string) => ({ Data });

const EMAIL = {
  FromEmailAddress: 'Acme <hello@example.org>',
  Destination: { ToAddresses: ['Jane Doe <jane@example.com>', 'joe@example.com'] },
  Content: {
    Simple: { Subject: text('Costs ${5}'), Body: { Html: text('<p>{{ not a placeholder }}</p>') } },
  },
} satisfies SendEmailCommandInput;

async function send(email: object = {}, client = ses): Promise<string> {
  const { MessageId } = await client.send(new SendEmailCommand({ ...EMAIL, ...email }));
  return MessageId as string;
}

test('list management selects a stream, by topic or by list', async () => {
  const { app } = server;
  await app.call('POST', '/streams', {
    key: app.liveKey,
    body: { key: 'product-news', purpose: 'subscription' },
  });
  const Destination = { ToAddresses: ['jane@example.com'] };
  for (const ListManagementOptions of [
    { ContactListName: 'Everyone', TopicName: 'Product-News' },
    { ContactListName: 'product-news' },
  ]) {
    const id = await send({ Destination, ListManagementOptions });
    const read = await app.call('GET', `/messages/${id}`, { key: app.testKey });
    expect(read.json.stream).toBe('product-news');
  }
});

/** The message as the test inbox shows it, once it has arrived. */
// biome-ignore lint/suspicious/noExplicitAny: tests read single fields
async function received(id: string): Promise<any> {
  const { app } = server;
  const look = () => app.call('GET', `/test/inbox/${id}`, { key: app.testKey });
  await until(async () => (await look()).status === 200);
  return (await look()).json;
}

/** What a real receiver got. */
async function delivered(to: string): Promise<string> {
  const find = () => server.receiver.messages.find(({ recipients }) => recipients.includes(to));
  await until(() => find() !== undefined, { what: `mail to ${to} arrives` });
  return find()?.raw.toString() ?? '';
}

describe('SendEmail', () => {
  test('simple content arrives as it was written', async () => {
    const id = await send({
      Destination: {
        ...EMAIL.Destination,
        CcAddresses: ['cc@example.com'],
        BccAddresses: ['bcc@example.com'],
      },
      ReplyToAddresses: ['support@example.org'],
      Content: {
        Simple: {
          Subject: { Data: 'Costs ${5}', Charset: 'UTF-8' },
          Body: { Html: text('<p>{{ not a placeholder }}</p>'), Text: text('plain {% text') },
          Headers: [{ Name: 'X-Ref', Value: '1' }],
          Attachments: [
            { FileName: 'a.txt', RawContent: LARGE, ContentType: 'text/plain' },
            {
              FileName: 'logo.png',
              RawContent: Buffer.from('hi'),
              ContentType: 'image/png',
              ContentDisposition: 'INLINE',
              ContentId: '<logo>',
            },
          ],
        },
      },
      EmailTags: [{ Name: 'order', Value: '17' }],
      ConfigurationSetName: 'receipts',
    });
    const mail = await received(id);
    expect(mail).toMatchObject({ subject: 'Costs ${5}', text: 'plain {% text' });
    expect(mail.html).toContain('{{ not a placeholder }}');
    expect(mail.attachments.map(({ filename }: { filename: string }) => filename)).toEqual([
      'a.txt',
      'logo.png',
    ]);
    const { json } = await server.app.call('GET', `/messages/${id}`, { key: server.app.testKey });
    expect(json).toMatchObject({
      metadata: { order: '17' },
      tags: ['receipts'],
      recipients: [
        { kind: 'to', email: 'jane@example.com', name: 'Jane Doe' },
        { kind: 'to', email: 'joe@example.com' },
        { kind: 'cc', email: 'cc@example.com' },
        { kind: 'bcc', email: 'bcc@example.com' },
      ],
    });
  });

  test('blind copies alone are enough', async () => {
    const Destination = { BccAddresses: ['hidden@example.com', 'hidden-too@example.com'] };
    await send({ Destination }, live);
    const mail = await delivered('hidden-too@example.com');
    expect(mail).not.toMatch(/^(To|Cc|Bcc):/im);
  });

  test('a live email reaches its receiver', async () => {
    await send({ Destination: { ToAddresses: ['live@example.com'] } }, live);
    expect(await delivered('live@example.com')).toContain('Subject: Costs ${5}');
  });

  test('a raw message is kept as it is', async () => {
    const body = ['--s', '', 'Signed  text  ', '--s', '', 'signature', '--s--', ''].join('\r\n');
    const head = [
      'From: hello@example.org',
      'To: raw@example.com',
      'Subject: Raw',
      'Content-Type: multipart/signed; protocol="application/pgp-signature"; boundary=s',
    ];
    const Data = Buffer.from([...head, '', body].join('\r\n'));
    const raw = { Content: { Raw: { Data } }, FromEmailAddress: undefined, Destination: undefined };
    await send({ ...raw, EmailTags: [{ Name: 'order', Value: '18' }] }, live);
    const mail = await delivered('raw@example.com');
    expect(mail.slice(mail.indexOf('\r\n\r\n') + 4)).toBe(body);
  });

  test('content with data is a template', async () => {
    const TemplateContent = { Subject: 'Hi {{name}}', Html: '<p>Hi {{name}}</p>' };
    const Template = { TemplateContent, TemplateData: '{"name": "Jane"}' };
    expect(await received(await send({ Content: { Template } }))).toMatchObject({
      subject: 'Hi Jane',
    });
  });
});

test("nodemailer's SES transport sends, and verifies its credentials", async () => {
  const transport = nodemailer.createTransport({ SES: { sesClient: live, SendEmailCommand } });
  const sent = await transport.sendMail({
    from: 'Acme <hello@example.org>',
    to: 'mailer@example.com',
    bcc: 'blind@example.com',
    subject: 'By nodemailer',
    text: 'Hi',
    attachments: [{ filename: 'a.txt', content: 'hello' }],
  });
  expect(sent.response).toMatch(/^msg_/);
  const mail = await delivered('mailer@example.com');
  expect(mail).toContain('Subject: By nodemailer');
  expect(mail).not.toContain('blind@');
  expect(await delivered('blind@example.com')).toContain('To: mailer@example.com');
  expect(await transport.verify()).toBe(true);
  const wrong = clientWith({ ...(await credentialsFor({ mode: 'live' })), secretAccessKey: 'x' });
  const other = nodemailer.createTransport({ SES: { sesClient: wrong, SendEmailCommand } });
  await expect(other.verify()).rejects.toMatchObject({ name: 'SignatureDoesNotMatch' });
});

describe('templates', () => {
  const TemplateName = 'Welcome_Mail';
  const TemplateContent = {
    Subject: 'Hi {{name}}',
    Html: '<p>Hi {{name}}</p>',
    Text: 'Hi {{name}}',
  };

  test('are created, listed, retrieved, updated and deleted', async () => {
    await live.send(new CreateEmailTemplateCommand({ TemplateName, TemplateContent }));
    const again = live.send(new CreateEmailTemplateCommand({ TemplateName, TemplateContent }));
    await expect(again).rejects.toMatchObject({ name: 'AlreadyExistsException' });
    const found = await live.send(new GetEmailTemplateCommand({ TemplateName }));
    expect(found).toMatchObject({ TemplateName, TemplateContent });
    const list = await live.send(new ListEmailTemplatesCommand({ PageSize: 10 }));
    expect(list.TemplatesMetadata).toEqual([{ TemplateName, CreatedTimestamp: expect.any(Date) }]);
    const changed = { ...TemplateContent, Subject: 'Hello {{name}}' };
    const update = { TemplateName, TemplateContent: changed };
    await live.send(new UpdateEmailTemplateCommand(update));
    const Template = { TemplateName, TemplateData: '{"name": "Jane"}' };
    expect(await received(await send({ Content: { Template } }))).toMatchObject({
      subject: 'Hello Jane',
    });
    const bad = { TemplateName, TemplateContent: { Subject: 'x', Html: '{{#each items}}' } };
    await expect(live.send(new UpdateEmailTemplateCommand(bad))).rejects.toMatchObject({
      name: 'BadRequestException',
    });
    const { json } = await server.app.call('GET', '/templates/welcome_mail');
    expect(json).toMatchObject({ subject: changed.Subject, has_unpublished_changes: false });
    const broken = { ...bad, TemplateName: 'Broken' };
    await expect(live.send(new CreateEmailTemplateCommand(broken))).rejects.toMatchObject({
      name: 'BadRequestException',
    });
    expect((await server.app.call('GET', '/templates/broken')).status).toBe(404);
    await live.send(new DeleteEmailTemplateCommand({ TemplateName }));
    await expect(live.send(new GetEmailTemplateCommand({ TemplateName }))).rejects.toMatchObject({
      name: 'NotFoundException',
    });
  });

  test('test credentials cannot change what live mail uses', async () => {
    const created = ses.send(new CreateEmailTemplateCommand({ TemplateName, TemplateContent }));
    await expect(created).rejects.toMatchObject({ name: 'AccessDeniedException' });
  });
});

test('template data has the limits of a body', async () => {
  const TemplateData = `{"list":${'['.repeat(100)}${']'.repeat(100)}}`;
  const command = new SendEmailCommand({
    FromEmailAddress: 'hello@acme.example',
    Destination: { ToAddresses: ['jane@example.com'] },
    Content: { Template: { TemplateContent: { Subject: 'Hi', Text: 'Hi' }, TemplateData } },
  });
  await expect(ses.send(command)).rejects.toMatchObject({
    name: 'BadRequestException',
    message: expect.stringContaining('template data'),
  });
});

test('the content of a bulk email counts for each entry', async () => {
  const entry = { Destination: { ToAddresses: ['jane@example.com'] } };
  const command = new SendBulkEmailCommand({
    FromEmailAddress: 'hello@acme.example',
    DefaultContent: {
      Template: {
        TemplateContent: { Subject: 'Hi', Text: 'Hi' },
        TemplateData: JSON.stringify({ list: Array(25_000).fill([]) }),
      },
    },
    BulkEmailEntries: Array(500).fill(entry),
  });
  await expect(ses.send(command)).rejects.toMatchObject({
    name: 'BadRequestException',
    message: expect.stringContaining('together'),
  });
});

test('SendBulkEmail answers for each entry', async () => {
  const entry = (to: string, data: object) => ({
    Destination: { ToAddresses: [to] },
    ReplacementTags: [{ Name: 'to', Value: 'one' }],
    ReplacementHeaders: [{ Name: 'X-Ref', Value: '2' }],
    ReplacementEmailContent: {
      ReplacementTemplate: { ReplacementTemplateData: JSON.stringify(data) },
    },
  });
  const TemplateContent = { Subject: '{{greeting}} {{name}}', Html: '<p>Hi</p>' };
  const { BulkEmailEntryResults: results = [] } = await ses.send(
    new SendBulkEmailCommand({
      FromEmailAddress: 'hello@example.org',
      DefaultEmailTags: [{ Name: 'kind', Value: 'news' }],
      DefaultContent: {
        Template: {
          TemplateContent,
          TemplateData: '{"greeting": "Hi", "name": "you"}',
          Headers: [{ Name: 'x-ref', Value: '1' }],
        },
      },
      BulkEmailEntries: [
        entry('a@example.com', { name: 'A' }),
        entry('nobody', {}),
        entry('b@example.com', {}),
      ],
    }),
  );
  expect(results.map(({ Status }) => Status)).toEqual(['SUCCESS', 'INVALID_PARAMETER', 'SUCCESS']);
  expect(await received(results[0]?.MessageId as string)).toMatchObject({ subject: 'Hi A' });
  expect(await received(results[2]?.MessageId as string)).toMatchObject({ subject: 'Hi you' });
  const missing = await ses.send(
    new SendBulkEmailCommand({
      FromEmailAddress: 'hello@example.org',
      DefaultContent: { Template: { TemplateName: 'missing', TemplateData: '{}' } },
      BulkEmailEntries: [entry('a@example.com', {})],
    }),
  );
  expect(missing.BulkEmailEntryResults?.[0]).toMatchObject({ Status: 'TEMPLATE_NOT_FOUND' });
});

test('the suppression list is that of the workspace', async () => {
  for (const [EmailAddress, Reason] of [
    ['gone@example.com', 'BOUNCE'],
    ['angry+1@example.com', 'COMPLAINT'],
  ] as const) {
    await ses.send(new PutSuppressedDestinationCommand({ EmailAddress, Reason }));
  }
  const get = (EmailAddress: string) =>
    ses.send(new GetSuppressedDestinationCommand({ EmailAddress }));
  expect((await get('angry+1@example.com')).SuppressedDestination).toMatchObject({
    EmailAddress: 'angry+1@example.com',
    Reason: 'COMPLAINT',
    LastUpdateTime: expect.any(Date),
  });
  const list = async (query: object) =>
    (
      await ses.send(new ListSuppressedDestinationsCommand(query))
    ).SuppressedDestinationSummaries?.map(({ EmailAddress }) => EmailAddress);
  expect(await list({})).toEqual(['angry+1@example.com', 'gone@example.com']);
  expect(await list({ Reasons: ['BOUNCE'] })).toEqual(['gone@example.com']);
  expect(await list({ Reasons: ['BOUNCE', 'COMPLAINT'] })).toHaveLength(2);
  expect(await list({ EndDate: new Date('2001-01-01') })).toEqual([]);
  const first = await ses.send(new ListSuppressedDestinationsCommand({ PageSize: 1 }));
  expect(await list({ PageSize: 1, NextToken: first.NextToken })).toEqual(['gone@example.com']);
  await ses.send(new DeleteSuppressedDestinationCommand({ EmailAddress: 'gone@example.com' }));
  const notFound = { name: 'NotFoundException', $metadata: { httpStatusCode: 404 } };
  const EmailAddress = 'gone@example.com';
  await expect(get(EmailAddress)).rejects.toMatchObject(notFound);
  const deleted = ses.send(new DeleteSuppressedDestinationCommand({ EmailAddress }));
  await expect(deleted).rejects.toMatchObject(notFound);
  const Reason = 'BOUNCE';
  await expect(
    ses.send(new PutSuppressedDestinationCommand({ EmailAddress: 'nobody', Reason })),
  ).rejects.toMatchObject({ name: 'BadRequestException' });
});

test('the account and its identities are the workspace and its domains', async () => {
  expect(await live.send(new GetAccountCommand({}))).toMatchObject({
    ProductionAccessEnabled: true,
    SendingEnabled: true,
    SendQuota: { Max24HourSend: -1, MaxSendRate: 100000, SentLast24Hours: expect.any(Number) },
  });
  const { EmailIdentities } = await live.send(new ListEmailIdentitiesCommand({ PageSize: 10 }));
  expect(EmailIdentities).toEqual([
    {
      IdentityType: 'DOMAIN',
      IdentityName: 'example.org',
      SendingEnabled: true,
      VerificationStatus: 'SUCCESS',
    },
  ]);
  const get = (EmailIdentity: string) => live.send(new GetEmailIdentityCommand({ EmailIdentity }));
  expect(await get('example.org')).toMatchObject({
    VerifiedForSendingStatus: true,
    DkimAttributes: { Status: 'SUCCESS', Tokens: [expect.any(String), expect.any(String)] },
    MailFromAttributes: { MailFromDomain: expect.stringContaining('example.org') },
  });
  await expect(get('example.net')).rejects.toMatchObject({ name: 'NotFoundException' });
});

describe('refused requests', () => {
  const Raw = (mail: string) => ({ Raw: { Data: Buffer.from(mail) } });
  const RAW = 'From: hello@example.org\r\nTo: a@example.com\r\n\r\nHi';

  test.each<[string, object, RegExp]>([
    ['an invalid address', { Destination: { ToAddresses: ['nobody'] } }, /not a valid|nobody|@/i],
    ['no recipient', { Destination: {} }, /ToAddresses/],
    ['no sender', { FromEmailAddress: undefined }, /from/],
    ['no content', { Content: {} }, /exactly one of Simple, Raw and Template/],
    ['two contents', { Content: { ...EMAIL.Content, ...Raw(RAW) } }, /exactly one/],
    [
      'the ARN of an address for bounces',
      { FeedbackForwardingEmailAddressIdentityArn: 'arn:x' },
      /FeedbackForwarding.*webhook/,
    ],
    ['a tenant', { TenantName: 'x' }, /TenantName is not supported/],
    [
      'a list that is not a stream',
      { ListManagementOptions: { ContactListName: 'x' } },
      /no stream x/,
    ],
    [
      'a placeholder that would not be replaced',
      {
        Content: {
          Simple: {
            Subject: text('News'),
            Body: { Html: text('<a href="{{amazonSESUnsubscribeUrl}}">Leave</a>') },
          },
        },
      },
      /unsubscribe_url/,
    ],
    ['a template ARN', { Content: { Template: { TemplateArn: 'arn:x' } } }, /TemplateArn/],
    [
      'template data that is not an object',
      { Content: { Template: { TemplateName: 'x', TemplateData: '[]' } } },
      /JSON object/,
    ],
    [
      'a repeated tag',
      { EmailTags: ['1', '2'].map((Value) => ({ Name: 'a', Value })) },
      /given twice/,
    ],
    ['Reply-To of a raw message', { Content: Raw(RAW), ReplyToAddresses: ['a@b.c'] }, /Reply-To/],
  ])('%s, by name', async (_what, change, message) => {
    await expect(send(change)).rejects.toMatchObject({
      name: 'BadRequestException',
      message: expect.stringMatching(message),
      $metadata: { httpStatusCode: 400 },
    });
  });

  test('a raw message without a sender', async () => {
    const email = { Content: Raw('To: a@example.com\r\n\r\nHi') };
    await expect(send(email)).rejects.toMatchObject({
      name: 'MessageRejected',
      message: expect.stringContaining('From header'),
    });
  });

  test('a missing template and an unknown operation', async () => {
    const Template = { TemplateName: 'missing', TemplateData: '{}' };
    const notFound = { name: 'NotFoundException', $metadata: { httpStatusCode: 404 } };
    await expect(send({ Content: { Template } })).rejects.toMatchObject(notFound);
    await expect(ses.send(new GetDedicatedIpsCommand({}))).rejects.toMatchObject(notFound);
  });

  test('a sender domain of another owner, and one that the key may not use', async () => {
    const rejected = { name: 'MessageRejected', $metadata: { httpStatusCode: 400 } };
    const FromEmailAddress = 'hello@example.net';
    await expect(send({ FromEmailAddress }, live)).rejects.toMatchObject(rejected);
    const limited = await credentialsFor({ mode: 'live', allowedDomains: ['example.edu'] });
    const client = clientWith(limited);
    await expect(send({}, client)).rejects.toMatchObject(rejected);
    const raw = { Content: Raw(RAW), FromEmailAddress: undefined };
    await expect(send(raw, client)).rejects.toMatchObject(rejected);
  });

  test('an unverified domain', async () => {
    const { app } = server;
    await app.call('POST', '/domains', { key: app.liveKey, body: { name: 'pending.example.org' } });
    const FromEmailAddress = 'hello@pending.example.org';
    await expect(send({ FromEmailAddress }, live)).rejects.toMatchObject({
      name: 'MailFromDomainNotVerifiedException',
    });
  });

  test('a suspended workspace', async () => {
    const { app } = server;
    const workspace = await app.app.workspaces.create('Suspended');
    const { id: workspaceId } = workspace;
    await app.app.domains.trust(workspaceId, { name: 'suspended.example' });
    const client = clientWith(await credentialsFor({ mode: 'live', workspaceId }));
    const email = {
      FromEmailAddress: 'hello@suspended.example',
      Destination: { ToAddresses: ['suspended@example.com'] },
    };
    expect(await send(email, client)).toMatch(/^msg_/);
    await app.app.workspaces.suspend(workspace, 'Too many complaints.');
    await until(async () => (await outcome(client, email)) === 'AccountSuspendedException');
    await expect(send(email, client)).rejects.toMatchObject({
      message: expect.stringContaining('Too many complaints.'),
      $metadata: { httpStatusCode: 400 },
    });
  });

  test('more requests than the workspace may make', async () => {
    await using limited = await startApp({ env: { RATE_LIMIT_PER_SECOND: '1' } });
    const credentials = await credentialsFor({ mode: 'test' }, limited);
    const client = clientWith(credentials, { endpoint: `${limited.url}/compat/ses` });
    let failure: unknown;
    for (let n = 0; n < 20 && failure === undefined; n++) {
      // Sends would wait for their turn.
      failure = await client.send(new GetAccountCommand({})).then(
        () => undefined,
        (error) => error,
      );
    }
    expect(failure).toMatchObject({
      name: 'TooManyRequestsException',
      $metadata: { httpStatusCode: 429 },
      message: expect.stringContaining('requests per second'),
    });
    client.destroy();
  });

  test('a key without the scope, or for another network', async () => {
    const denied = { name: 'AccessDeniedException', $metadata: { httpStatusCode: 403 } };
    const reader = clientWith(await credentialsFor({ scopes: ['read:messages'] }));
    await expect(send({}, reader)).rejects.toMatchObject(denied);
    const account = await reader.send(new GetAccountCommand({}));
    expect(account.SendingEnabled).toBe(false);
    const elsewhere = clientWith(await credentialsFor({ allowedIps: ['203.0.113.1'] }));
    await expect(send({}, elsewhere)).rejects.toMatchObject(denied);
  });
});

describe('credentials', () => {
  const mismatch = { name: 'SignatureDoesNotMatch', $metadata: { httpStatusCode: 403 } };
  const unknown = { name: 'UnrecognizedClientException', $metadata: { httpStatusCode: 403 } };

  test('a wrong secret, and an unknown access key ID', async () => {
    const credentials = await credentialsFor({});
    const wrong = clientWith({
      ...credentials,
      secretAccessKey: `${credentials.secretAccessKey}x`,
    });
    await expect(send({}, wrong)).rejects.toMatchObject(mismatch);
    for (const accessKeyId of [
      'AKIAIOSFODNN7EXAMPLE',
      'PRTESTAAAAAAAAAAAAAA',
      server.app.testKey,
    ]) {
      const client = clientWith({ ...credentials, accessKeyId });
      await expect(send({}, client)).rejects.toMatchObject({
        name: expect.stringMatching(/UnrecognizedClient|MissingAuthentication/),
      });
    }
  });

  test('a body that was changed after signing', async () => {
    const client = clientWith(await credentialsFor({}));
    client.middlewareStack.add(
      (next) => (args) => {
        const request = args.request as { body: Uint8Array | string };
        request.body = Buffer.from(request.body).toString().replace('Costs', 'Price');
        return next(args);
      },
      { step: 'finalizeRequest', priority: 'low', name: 'tamper' },
    );
    await expect(send({}, client)).rejects.toMatchObject(mismatch);
  });

  test('a clock that is wrong, until the SDK has learned the right time', async () => {
    const credentials = await credentialsFor({});
    for (const minutes of [-20, 20]) {
      const systemClockOffset = minutes * 60_000;
      const once = clientWith(credentials, { systemClockOffset });
      await expect(send({}, once)).rejects.toMatchObject({
        ...mismatch,
        message: expect.stringContaining('15 minutes'),
      });
      expect(await send({}, once)).toMatch(/^msg_/);
    }
  });

  test('revoked credentials, and credentials of a revoked key', async () => {
    const { app } = server;
    const one = await credentialsFor({});
    const client = clientWith(one);
    expect(await send({}, client)).toMatch(/^msg_/);
    const path = `/api-keys/${one.keyId}/ses-credentials/${one.accessKeyId}`;
    expect((await app.call('DELETE', path, { key: app.liveKey })).status).toBe(204);
    await until(async () => (await outcome(client)) === unknown.name);
    const other = await credentialsFor({});
    const second = clientWith(other);
    expect(await send({}, second)).toMatch(/^msg_/);
    await app.call('DELETE', `/api-keys/${other.keyId}`, { key: app.liveKey });
    await until(async () => (await outcome(second)) === unknown.name);
  });

  test('credentials of an expired key', async () => {
    const one = await credentialsFor({});
    const { rowCount } = await server.database.pool.query(
      `update api_keys set expires_at = created_at where id = $1`,
      [decodeId('key', one.keyId)],
    );
    expect(rowCount).toBe(1);
    await expect(send({}, clientWith(one))).rejects.toMatchObject({
      ...unknown,
      message: expect.stringContaining('expired'),
    });
  });

  test('a key whose scopes were changed', async () => {
    const { app } = server;
    const one = await credentialsFor({});
    const client = clientWith(one);
    expect(await send({}, client)).toMatch(/^msg_/);
    await app.call('PATCH', `/api-keys/${one.keyId}`, {
      key: app.liveKey,
      body: { scopes: ['read:messages'] },
    });
    await until(async () => (await outcome(client)) === 'AccessDeniedException');
  });

  test('requests that are not signed', async () => {
    const url = `${server.app.url}/compat/ses/v2/email/account`;
    for (const headers of [{}, { authorization: `Bearer ${server.app.testKey}` }]) {
      const response = await fetch(url, { headers });
      expect(response.status).toBe(403);
      expect(response.headers.get('x-amzn-errortype')).toBe('MissingAuthenticationTokenException');
      expect(await response.json()).toEqual({ message: expect.any(String) });
    }
    const document = await fetch(`${server.app.url}/compat/ses/openapi.json`);
    expect(await document.text()).toContain('/compat/ses/v2/email/outbound-emails');
  });
});

async function outcome(client: SESv2Client, email: object = {}): Promise<string> {
  return await send(email, client).catch((error: Error) => error.name);
}
