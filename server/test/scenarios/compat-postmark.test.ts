// biome-ignore-all lint/suspicious/noTemplateCurlyInString: content with placeholders is the subject here.
import { ServerClient } from 'postmark';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../harness/app.ts';

/** Postmark's own client library, unchanged, against `/compat/postmark`. */

let app: TestApp;
let postmark: ServerClient;

beforeAll(async () => {
  app = await startApp();
  postmark = clientWith(app.testKey);
});
afterAll(() => app[Symbol.asyncDispose]());

function clientWith(key: string): ServerClient {
  const requestHost = `${new URL(app.url).host}/compat/postmark`;
  return new ServerClient(key, { useHttps: false, requestHost });
}

const EMAIL = {
  From: 'Acme <hello@acme.example>',
  To: 'Jane Doe <jane@example.com>, joe@example.com',
  Subject: 'Costs ${5}',
  HtmlBody: '<p>{{ not a placeholder }}</p>',
};

describe('emails', () => {
  test('an email arrives as it was written, and can be looked up', async () => {
    const sent = await postmark.sendEmail({
      ...EMAIL,
      Cc: 'cc@example.com',
      Bcc: 'bcc@example.com',
      ReplyTo: 'support@acme.example',
      TextBody: 'plain {% text',
      Tag: 'receipt',
      Metadata: { order: '17' },
      MessageStream: 'outbound',
      Headers: [{ Name: 'X-Ref', Value: '1' }],
      Attachments: [
        { Name: 'logo.png', Content: 'aGk=', ContentType: 'image/png', ContentID: 'cid:logo' },
      ],
    });
    expect(sent).toMatchObject({ ErrorCode: 0, Message: 'OK', To: EMAIL.To });
    const mail = await received(sent.MessageID);
    expect(mail).toMatchObject({ subject: 'Costs ${5}', text: 'plain {% text' });
    expect(mail.html).toContain('{{ not a placeholder }}');
    const details = await postmark.getOutboundMessageDetails(sent.MessageID);
    expect(details).toMatchObject({
      MessageID: sent.MessageID,
      From: EMAIL.From,
      To: [
        { Email: 'jane@example.com', Name: 'Jane Doe' },
        { Email: 'joe@example.com', Name: '' },
      ],
      Cc: [{ Email: 'cc@example.com' }],
      Tag: 'receipt',
      Metadata: { order: '17' },
      Sandboxed: true,
    });
    expect(details.Body).toContain('Subject: Costs ${5}');
    const list = await postmark.getOutboundMessages({ count: 10, offset: 0, tag: 'receipt' });
    expect(list.Messages.map(({ MessageID }) => MessageID)).toEqual([sent.MessageID]);
  });

  test('a stored template is sent by its alias', async () => {
    const key = app.liveKey;
    const created = await app.call('POST', '/templates', {
      key,
      body: {
        key: 'welcome',
        name: 'Welcome',
        subject: 'Hi {{ name }}',
        html: '<p>Hi {{ name }}</p>',
      },
    });
    expect(created.status).toBe(201);
    const published = await app.call('POST', '/templates/welcome/publish', { key, body: {} });
    expect(published.status).toBe(200);
    const sent = await postmark.sendEmailWithTemplate({
      From: 'hello@acme.example',
      To: 'jane@example.com',
      TemplateAlias: 'welcome',
      TemplateModel: { name: 'Jane' },
    });
    expect(await received(sent.MessageID)).toMatchObject({ subject: 'Hi Jane' });
    const batch = await postmark.sendEmailBatchWithTemplates([
      {
        From: 'hello@acme.example',
        To: 'a@example.com',
        TemplateAlias: 'welcome',
        TemplateModel: { name: 'A' },
      },
      {
        From: 'hello@acme.example',
        To: 'b@example.com',
        TemplateAlias: 'missing',
        TemplateModel: {},
      },
    ]);
    expect(batch.map(({ ErrorCode }) => ErrorCode)).toEqual([0, 1101]);
  });

  test('a batch answers for each email, even if all are refused', async () => {
    const mixed = await postmark.sendEmailBatch([EMAIL, { ...EMAIL, To: 'nobody' }]);
    expect(mixed.map(({ ErrorCode }) => ErrorCode)).toEqual([0, 300]);
    const none = await postmark.sendEmailBatch([
      { ...EMAIL, To: 'nobody' },
      { ...EMAIL, To: '' },
    ]);
    expect(none.map(({ ErrorCode }) => ErrorCode)).toEqual([300, 300]);
  });
});

test('suppressions are those of the workspace', async () => {
  const client = clientWith(app.liveKey);
  const entries = {
    Suppressions: [{ EmailAddress: 'gone@example.com' }, { EmailAddress: 'nobody' }],
  };
  const created = await client.createSuppressions('outbound', entries);
  expect(created.Suppressions.map(({ Status }) => Status)).toEqual(['Suppressed', 'Failed']);
  const list = await client.getSuppressions('outbound');
  expect(list.Suppressions).toMatchObject([
    { EmailAddress: 'gone@example.com', SuppressionReason: 'ManualSuppression' },
  ]);
  const deleted = await client.deleteSuppressions('outbound', entries);
  expect(deleted.Suppressions.map(({ Status }) => Status)).toEqual(['Deleted', 'Deleted']);
  expect((await client.getSuppressions('outbound')).Suppressions).toEqual([]);
});

test('a bounce can be looked up, and its address activated', async () => {
  const sent = await postmark.sendEmail({ ...EMAIL, To: 'bounced@simulator.test', Tag: 'b1' });
  const list = () => postmark.getBounces({ count: 10, offset: 0, messageID: sent.MessageID });
  await expect.poll(async () => (await list()).TotalCount).toBe(1);
  const [bounce] = (await list()).Bounces;
  expect(bounce).toMatchObject({
    Type: 'HardBounce',
    TypeCode: 1,
    Email: 'bounced@simulator.test',
    MessageID: sent.MessageID,
    Tag: 'b1',
    Inactive: true,
  });
  const id = bounce?.ID as number;
  expect(await postmark.getBounce(id)).toMatchObject({
    ID: id,
    From: EMAIL.From,
    Subject: EMAIL.Subject,
  });
  expect((await postmark.getBounceDump(id)).Body).toBe(bounce?.Details);
  const blocked = { count: 10, offset: 0, type: 'Blocked' as never };
  expect((await postmark.getBounces(blocked)).Bounces).toEqual([]);
  // A simulated bounce adds no suppression.
  const entries = { Suppressions: [{ EmailAddress: 'bounced@simulator.test' }] };
  await postmark.createSuppressions('outbound', entries);
  expect(await postmark.activateBounce(id)).toMatchObject({ Message: 'OK', Bounce: { ID: id } });
  expect((await postmark.getSuppressions('outbound')).Suppressions).toEqual([]);
  expect(await postmark.activateBounce(id)).toMatchObject({ Message: 'OK' });
  await expect(postmark.getBounce(17)).rejects.toMatchObject({ statusCode: 404 });
  await expect(postmark.getBounces({ count: 10, offset: 10 })).rejects.toMatchObject({
    statusCode: 422,
  });
});

test('templates are published with every change, and streams are listed', async () => {
  const client = clientWith(app.liveKey);
  const created = await client.createTemplate({
    Name: 'Receipt',
    Alias: 'receipt',
    Subject: 'Receipt {{ number }}',
    HtmlBody: '<p>Receipt {{ number }}</p>',
  });
  expect(created).toMatchObject({ Name: 'Receipt', Alias: 'receipt', Active: true });
  const send = () =>
    postmark.sendEmailWithTemplate({
      From: 'hello@acme.example',
      To: 'jane@example.com',
      TemplateAlias: 'receipt',
      TemplateModel: { number: 17 },
    });
  expect(await received((await send()).MessageID)).toMatchObject({ subject: 'Receipt 17' });
  await client.editTemplate('receipt', { Subject: 'Your receipt {{ number }}' });
  expect(await received((await send()).MessageID)).toMatchObject({ subject: 'Your receipt 17' });
  await expect(
    client.editTemplate('receipt', { HtmlBody: '{{{ number }}}' }),
  ).rejects.toMatchObject({
    statusCode: 422,
  });
  expect(await client.getTemplate('receipt')).toMatchObject({
    Subject: 'Your receipt {{ number }}',
    HtmlBody: '<p>Receipt {{ number }}</p>',
  });
  const broken = { Name: 'Broken', Alias: 'broken', Subject: 's', HtmlBody: '{{{ x }}}' };
  await expect(client.createTemplate(broken)).rejects.toMatchObject({ statusCode: 422 });
  await expect(client.getTemplate('broken')).rejects.toMatchObject({ statusCode: 404 });
  const { Templates } = await client.getTemplates();
  expect(Templates.map(({ Alias }) => Alias)).toContain('receipt');
  const layout = { Name: 'L', Alias: 'l', TemplateType: 'Layout' as never };
  await expect(client.createTemplate(layout)).rejects.toMatchObject({
    message: expect.stringMatching(/layouts/),
  });
  await expect(client.createTemplate({ Name: 'No alias' })).rejects.toMatchObject({
    message: expect.stringMatching(/alias is required/),
  });
  await client.deleteTemplate('receipt');
  await expect(client.getTemplate('receipt')).rejects.toMatchObject({ statusCode: 404 });
  expect((await client.getMessageStreams()).MessageStreams).toMatchObject([{ ID: 'outbound' }]);
  expect(await client.getMessageStream('outbound')).toMatchObject({ Name: 'Transactional' });
  await expect(client.getMessageStream('broadcast')).rejects.toMatchObject({ statusCode: 404 });
});

describe('errors', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['an invalid address', { To: 'nobody' }, /\/to/i],
    ['an unknown field', { Topic: 'x' }, /Topic/],
    ['another stream', { MessageStream: 'broadcast' }, /broadcast/],
    ['a header that we write', { Headers: [{ Name: 'Date', Value: 'now' }] }, /Date/],
    [
      'a repeated header',
      { Headers: ['a', 'b'].map((Value) => ({ Name: 'X-Ref', Value })) },
      /given twice/,
    ],
  ])('%s is named', async (_name, change, message) => {
    await expect(postmark.sendEmail({ ...EMAIL, ...change } as never)).rejects.toMatchObject({
      statusCode: 422,
      code: 300,
      message: expect.stringMatching(message),
    });
  });

  test('keys are checked as everywhere', async () => {
    const invalid = { name: 'InvalidAPIKeyError', statusCode: 401, code: 10 };
    await expect(clientWith('pr_test_wrong').sendEmail(EMAIL)).rejects.toMatchObject(invalid);
    await expect(clientWith('POSTMARK_API_TEST').sendEmail(EMAIL)).rejects.toMatchObject({
      ...invalid,
      message: expect.stringMatching(/Use a test key/),
    });
    const reader = clientWith(await app.newKey({ mode: 'test', scopes: ['read:messages'] }));
    await expect(reader.sendEmail(EMAIL)).rejects.toMatchObject(invalid);
    await expect(clientWith(app.liveKey).sendEmail(EMAIL)).rejects.toMatchObject({
      statusCode: 422,
      code: 400,
    });
  });
});

/** The message as the test inbox shows it, once it has arrived. */
// biome-ignore lint/suspicious/noExplicitAny: tests read single fields
async function received(id: string): Promise<any> {
  await expect
    .poll(async () => (await app.call('GET', `/test/inbox/${id}`, { key: app.testKey })).status)
    .toBe(200);
  return (await app.call('GET', `/test/inbox/${id}`, { key: app.testKey })).json;
}
