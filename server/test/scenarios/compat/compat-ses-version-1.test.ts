import {
  CreateTemplateCommand,
  DeleteTemplateCommand,
  GetAccountSendingEnabledCommand,
  GetIdentityDkimAttributesCommand,
  GetIdentityVerificationAttributesCommand,
  GetSendQuotaCommand,
  GetTemplateCommand,
  ListIdentitiesCommand,
  ListTemplatesCommand,
  SESClient,
  SendBulkTemplatedEmailCommand,
  SendEmailCommand,
  type SendEmailCommandInput,
  SendRawEmailCommand,
  SendTemplatedEmailCommand,
  UpdateTemplateCommand,
} from '@aws-sdk/client-ses';
import nodemailer from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NewKeyOptions, startApp, type TestApp } from '../../harness/app.ts';

/** Amazon's own SDK for version 1 of the SES API, unchanged, against `/compat/ses`. */

const DOMAIN = 'acme.example';
let app: TestApp;
let ses: SESClient;
let live: SESClient;

beforeAll(async () => {
  app = await startApp();
  await app.call('POST', '/domains', { key: app.liveKey, body: { name: DOMAIN } });
  ses = await clientFor({ mode: 'test' });
  live = await clientFor({ mode: 'live' });
});
afterAll(async () => {
  ses?.destroy();
  live?.destroy();
  await app?.[Symbol.asyncDispose]();
});

async function clientFor(options: NewKeyOptions): Promise<SESClient> {
  await app.newKey(options);
  const { json } = await app.call('GET', '/api-keys?limit=1', { key: app.liveKey });
  const path = `/api-keys/${json.data[0].id}/ses-credentials`;
  const made = await app.call('POST', path, { key: app.liveKey });
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = made.json;
  return new SESClient({
    region: 'eu-central-1',
    endpoint: `${app.url}/compat/ses`,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
  });
}

const EMAIL = {
  Source: 'Acme <hello@acme.example>',
  Destination: { ToAddresses: ['Jané Doe <jane@example.com>', 'joe@example.com'] },
  Message: {
    Subject: { Data: 'Ünïcode & <tags>', Charset: 'UTF-8' },
    Body: { Html: { Data: '<p>{{ not a placeholder }} + 100%</p>' }, Text: { Data: 'Hi' } },
  },
} satisfies SendEmailCommandInput;

async function send(email: Partial<SendEmailCommandInput> = {}, client = ses): Promise<string> {
  const { MessageId } = await client.send(new SendEmailCommand({ ...EMAIL, ...email }));
  return MessageId as string;
}

async function read(id: string | undefined, path = '') {
  const { json } = await app.call('GET', `/messages/${id}${path}`, { key: app.testKey });
  return json;
}

test('SendEmail', async () => {
  const id = await send({
    ReplyToAddresses: ['help@acme.example', 'more@acme.example'],
    Tags: [{ Name: 'order', Value: 'A 1+1' }],
    ConfigurationSetName: 'receipts',
    // Ignored: the return path is an address of the server.
    ReturnPath: 'bounces@acme.example',
    Destination: { ...EMAIL.Destination, CcAddresses: ['carl@example.com'], BccAddresses: [] },
  });
  const message = await read(id);
  expect(message).toMatchObject({
    from: { email: 'hello@acme.example', name: 'Acme' },
    subject: 'Ünïcode & <tags>',
    metadata: { order: 'A 1+1' },
    tags: ['receipts'],
  });
  expect(
    message.recipients.map(({ email, kind }: Record<string, string>) => [kind, email]),
  ).toEqual([
    ['to', 'jane@example.com'],
    ['to', 'joe@example.com'],
    ['cc', 'carl@example.com'],
  ]);
  const content = await read(id, '/content');
  expect(content.html).toContain('{{ not a placeholder }} + 100%');
  const { text: raw } = await app.call('GET', `/messages/${id}/raw`, { key: app.testKey });
  expect(raw).toMatch(/^Reply-To: help@acme\.example,\s+more@acme\.example$/m);
});

test('SendRawEmail, also with the recipients of the envelope', async () => {
  const composer = nodemailer.createTransport({ streamTransport: true, buffer: true });
  const { message } = await composer.sendMail({
    from: 'Acme <hello@acme.example>',
    to: 'jane@example.com',
    subject: 'Raw',
    text: 'Hi',
    attachments: [{ filename: 'large.bin', content: Buffer.alloc(300_000, 1) }],
  });
  const RawMessage = { Data: message as Buffer };
  const fromHeaders = await ses.send(new SendRawEmailCommand({ RawMessage }));
  expect(await read(fromHeaders.MessageId)).toMatchObject({
    subject: 'Raw',
    recipients: [{ email: 'jane@example.com' }],
  });
  const Destinations = ['joe@example.com', 'Carl <carl@example.com>'];
  const Source = 'hello@acme.example';
  const fromEnvelope = await ses.send(
    new SendRawEmailCommand({ RawMessage, Destinations, Source }),
  );
  expect(await read(fromEnvelope.MessageId)).toMatchObject({
    recipients: [{ email: 'joe@example.com' }, { email: 'carl@example.com' }],
  });
});

describe('templates', () => {
  const Template = {
    TemplateName: 'Welcome',
    SubjectPart: 'Hi {{name}}',
    HtmlPart: '<p>Hi {{name}} & co</p>',
  };

  test('are created, updated, listed, retrieved and deleted', async () => {
    await live.send(new CreateTemplateCommand({ Template }));
    await expect(live.send(new CreateTemplateCommand({ Template }))).rejects.toMatchObject({
      name: 'AlreadyExistsException',
    });
    await live.send(
      new UpdateTemplateCommand({ Template: { ...Template, TextPart: 'Hi {{name}}' } }),
    );
    const found = await live.send(new GetTemplateCommand({ TemplateName: 'Welcome' }));
    expect(found.Template).toMatchObject({ ...Template, TextPart: 'Hi {{name}}' });
    const list = await live.send(new ListTemplatesCommand({ MaxItems: 10 }));
    expect(list.TemplatesMetadata).toEqual([
      { Name: 'Welcome', CreatedTimestamp: expect.any(Date) },
    ]);
  });

  test('are sent to one recipient', async () => {
    const { Source } = EMAIL;
    const { MessageId } = await ses.send(
      new SendTemplatedEmailCommand({
        Source,
        Destination: { ToAddresses: ['jane@example.com'] },
        Template: 'Welcome',
        TemplateData: JSON.stringify({ name: 'Jané' }),
      }),
    );
    expect(await read(MessageId)).toMatchObject({
      subject: 'Hi Jané',
      template: { key: 'welcome' },
    });
  });

  test('are sent to many, of which each is accepted or refused on its own', async () => {
    const entry = (address: string, data?: object) => ({
      Destination: { ToAddresses: [address] },
      ...(data && { ReplacementTemplateData: JSON.stringify(data) }),
    });
    const { Status } = await ses.send(
      new SendBulkTemplatedEmailCommand({
        Source: EMAIL.Source,
        Template: 'Welcome',
        DefaultTemplateData: JSON.stringify({ name: 'you' }),
        Destinations: [
          entry('jane@example.com', { name: 'Jane' }),
          entry('nobody'),
          entry('joe@example.com'),
        ],
      }),
    );
    expect(Status?.map((one) => one.Status)).toEqual([
      'Success',
      'InvalidParameterValue',
      'Success',
    ]);
    expect(await read(Status?.[0]?.MessageId)).toMatchObject({ subject: 'Hi Jane' });
    expect(await read(Status?.[2]?.MessageId)).toMatchObject({ subject: 'Hi you' });
    expect(Status?.[1]?.Error).toContain(
      '/Destinations/1/Destination/ToAddresses/0: Not an address.',
    );
  });

  test('that do not exist', async () => {
    await live.send(new DeleteTemplateCommand({ TemplateName: 'Welcome' }));
    const get = new GetTemplateCommand({ TemplateName: 'Welcome' });
    await expect(live.send(get)).rejects.toMatchObject({ name: 'TemplateDoesNotExistException' });
  });
});

test('quota and identities', async () => {
  const quota = await live.send(new GetSendQuotaCommand({}));
  expect(quota).toMatchObject({ Max24HourSend: -1, MaxSendRate: expect.any(Number) });
  expect(quota.SentLast24Hours).toBeGreaterThanOrEqual(0);
  expect(await live.send(new GetAccountSendingEnabledCommand({}))).toMatchObject({ Enabled: true });
  const { Identities } = await live.send(new ListIdentitiesCommand({ IdentityType: 'Domain' }));
  expect(Identities).toContain(DOMAIN);
  const { VerificationAttributes } = await live.send(
    new GetIdentityVerificationAttributesCommand({
      Identities: [`hello@${DOMAIN}`, DOMAIN, 'other.example'],
    }),
  );
  expect(VerificationAttributes).toEqual({
    [`hello@${DOMAIN}`]: { VerificationStatus: 'Pending' },
    [DOMAIN]: { VerificationStatus: 'Pending' },
  });
});

describe('errors are those of version 1', () => {
  test('of a raw message that cannot be sent, by which nodemailer 6 verifies', async () => {
    const RawMessage = {
      Data: Buffer.from('From: invalid@invalid\r\nTo: invalid@invalid\r\n\r\n'),
    };
    await expect(ses.send(new SendRawEmailCommand({ RawMessage }))).rejects.toMatchObject({
      name: 'InvalidParameterValue',
    });
  });

  test('of a field, by its name in version 1', async () => {
    await expect(send({ Source: 'nobody' })).rejects.toMatchObject({
      name: 'InvalidParameterValue',
      message: expect.stringContaining('/Source: Not an address.'),
      $metadata: { httpStatusCode: 400, requestId: expect.stringMatching(/^req_/) },
    });
    const both = send({ Source: 'nobody', ReturnPathArn: 'arn:aws:ses' });
    await expect(both).rejects.toMatchObject({ message: expect.stringContaining('ReturnPathArn') });
  });

  test('of a sender that the key may not use', async () => {
    await expect(send({ Source: 'hello@other.example' }, live)).rejects.toMatchObject({
      name: 'MessageRejected',
    });
  });

  test('of a key without the scope', async () => {
    const reader = await clientFor({ mode: 'test', scopes: ['read:messages'] });
    await expect(send({}, reader)).rejects.toMatchObject({
      name: 'AccessDenied',
      message: expect.stringContaining('send:transactional'),
    });
    reader.destroy();
  });

  test('of a wrong secret, and of a request without a signature', async () => {
    const { accessKeyId } = await ses.config.credentials();
    const stranger = new SESClient({
      region: 'eu-central-1',
      endpoint: `${app.url}/compat/ses`,
      credentials: { accessKeyId, secretAccessKey: 'wrong' },
      maxAttempts: 1,
    });
    await expect(send({}, stranger)).rejects.toMatchObject({ name: 'SignatureDoesNotMatch' });
    stranger.destroy();
    const body = new URLSearchParams({ Action: 'SendEmail', Version: '2010-12-01' });
    // boto3 adds no slash.
    for (const path of ['/compat/ses/', '/compat/ses']) {
      const response = await fetch(app.url + path, { method: 'POST', body });
      expect(response.status).toBe(403);
      expect(response.headers.get('content-type')).toContain('text/xml');
      expect(await response.text()).toContain('<Code>MissingAuthenticationToken</Code>');
    }
  });

  test('of an action that is not offered', async () => {
    await expect(
      ses.send(new GetIdentityDkimAttributesCommand({ Identities: [] })),
    ).rejects.toMatchObject({
      name: 'InvalidAction',
      message: expect.stringContaining('GetIdentityDkimAttributes'),
    });
  });
});
