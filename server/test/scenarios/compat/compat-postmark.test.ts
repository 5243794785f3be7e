import { Errors, ServerClient } from 'postmark';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';

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

test('the server is the workspace of the key', async () => {
  const { json: key } = await app.call('GET', '/api-keys/current');
  expect(await postmark.getServer()).toMatchObject({
    Name: key.workspace.name,
    DeliveryType: 'Sandbox',
  });
});

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
    const { Body } = await postmark.getOutboundMessageDump(sent.MessageID);
    expect(Body).toBe(details.Body);
    const list = await postmark.getOutboundMessages({ count: 10, offset: 0, tag: 'receipt' });
    expect(list.Messages.map(({ MessageID }) => MessageID)).toEqual([sent.MessageID]);
  });

  test('copies alone are enough, open or blind', async () => {
    const { To: _none, ...email } = EMAIL;
    const [open, blind, neither] = await postmark.sendEmailBatch([
      { ...email, Cc: 'cc@example.com' } as never,
      { ...email, To: '', Bcc: 'bcc@example.com' },
      { ...email, To: '' },
    ]);
    const rawOf = async (id = '') => (await postmark.getOutboundMessageDump(id)).Body;
    const copied = await rawOf(open?.MessageID);
    expect([/^To:/m.test(copied), /^Cc: cc@example\.com\r$/m.test(copied)]).toEqual([false, true]);
    expect(await rawOf(blind?.MessageID)).not.toMatch(/^(To|Cc|Bcc):/m);
    expect(neither).toMatchObject({ ErrorCode: 300, Message: expect.stringContaining('/To') });
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
  for (const [filter, found] of [
    [{ suppressionReason: 'ManualSuppression' }, 1],
    [{ suppressionReason: 'HardBounce' }, 0],
    [{ origin: 'Customer' }, 1],
    [{ origin: 'Recipient' }, 0],
    [{ emailAddress: 'gone@example.com' }, 1],
    [{ emailAddress: 'here@example.com' }, 0],
    [{ fromDate: '2020-01-01' }, 1],
    [{ toDate: '2020-01-01' }, 0],
  ] as const) {
    const filtered = await client.getSuppressions('outbound', filter as never);
    expect(filtered.Suppressions, JSON.stringify(filter)).toHaveLength(found);
  }
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
    From: 'hello@acme.example',
    Subject: EMAIL.Subject,
  });
  expect(id).toSatisfy(Number.isSafeInteger);
  expect((await postmark.getBounceDump(id)).Body).toBe(bounce?.Details);
  const blocked = { count: 10, offset: 0, type: 'Blocked' as never };
  expect((await postmark.getBounces(blocked)).Bounces).toEqual([]);
  // A simulated bounce adds no suppression.
  const entries = { Suppressions: [{ EmailAddress: 'bounced@simulator.test' }] };
  await postmark.createSuppressions('outbound', entries);
  expect(await postmark.activateBounce(id)).toMatchObject({ Message: 'OK', Bounce: { ID: id } });
  expect((await postmark.getSuppressions('outbound')).Suppressions).toEqual([]);
  expect(await postmark.activateBounce(id)).toMatchObject({ Message: 'OK' });
  for (const other of [17, id + 1, 2 ** 53]) {
    await expect(postmark.getBounce(other)).rejects.toMatchObject({ statusCode: 404 });
  }
  const since = (fromDate: string) =>
    postmark.getBounces({ count: 10, offset: 0, messageID: sent.MessageID, fromDate });
  expect((await since('2020-01-01')).TotalCount).toBe(1);
  expect((await since('2080-01-01')).TotalCount).toBe(0);
  await expect(since('soon')).rejects.toMatchObject({ message: expect.stringMatching(/date/) });
  await expect(postmark.getBounces({ count: 10, offset: 10 })).rejects.toMatchObject({
    statusCode: 422,
  });
});

test('inactive recipients are named, and are an error if there are no others', async () => {
  const [inactive, complained] = ['inactive@example.com', 'complained@example.com'];
  const Suppressions = [{ EmailAddress: inactive }, { EmailAddress: complained }];
  await postmark.createSuppressions('outbound', { Suppressions });
  const mixed = { ...EMAIL, To: `jane@example.com, ${inactive}` };
  expect(await postmark.sendEmail(mixed)).toMatchObject({
    ErrorCode: 0,
    Message: expect.stringMatching(
      `^Message OK, but will not deliver to these inactive addresses: ${inactive}\\. Inactive`,
    ),
  });
  const refused = { ...EMAIL, To: inactive, Cc: complained };
  const error = await postmark.sendEmail(refused).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(Errors.InactiveRecipientsError);
  expect(error).toMatchObject({
    statusCode: 422,
    code: 406,
    recipients: [inactive, complained],
  });
  const results = await postmark.sendEmailBatch([refused, { ...EMAIL, To: 'jane@example.com' }]);
  expect(results.map(({ ErrorCode }) => ErrorCode)).toEqual([406, 0]);
  await postmark.deleteSuppressions('outbound', { Suppressions });
});

test('delivery statistics count bounces by type, and suppressed addresses', async () => {
  await postmark.sendEmail({ ...EMAIL, To: 'bounced@simulator.test' });
  const suppressed = { Suppressions: [{ EmailAddress: 'inactive@example.com' }] };
  await postmark.createSuppressions('outbound', suppressed);
  await expect
    .poll(async () => (await postmark.getDeliveryStatistics()).Bounces.map(({ Name }) => Name))
    .toEqual(['All', 'Hard bounce']);
  const { InactiveMails, Bounces } = await postmark.getDeliveryStatistics();
  expect(InactiveMails).toBe(1);
  expect(Bounces[0]?.Count).toBe(Bounces[1]?.Count);
  expect(Bounces[1]).toMatchObject({ Type: 'HardBounce' });
  await postmark.deleteSuppressions('outbound', suppressed);
});

test('opens and clicks are listed, of all messages and of one', async () => {
  const sent = await postmark.sendEmail({
    From: EMAIL.From,
    To: 'jane@example.com',
    Subject: 'Tracked',
    HtmlBody: '<p><a href="https://acme.example/offer">Offer</a></p>',
    Tag: 'tracked',
    TrackOpens: true,
    TrackLinks: 'HtmlOnly' as never,
  });
  const { html } = await received(sent.MessageID);
  for (const [, path] of html.matchAll(/http:\/\/postrider\.test(\/t\/[^"]+)/g)) {
    await fetch(app.url + path, { redirect: 'manual' });
  }
  const page = { count: 10, offset: 0 };
  await expect
    .poll(async () => (await postmark.getMessageClicks({ ...page, tag: 'tracked' })).TotalCount)
    .toBe(1);
  await expect.poll(async () => (await postmark.getMessageOpens(page)).TotalCount).toBe(1);
  const id = sent.MessageID;
  const opened = { RecordType: 'Open', MessageID: id, Recipient: 'jane@example.com' };
  expect((await postmark.getMessageOpens(page)).Opens).toMatchObject([opened]);
  expect((await postmark.getMessageOpensForSingleMessage(id, page)).Opens).toMatchObject([opened]);
  const clicked = {
    RecordType: 'Click',
    OriginalLink: 'https://acme.example/offer',
    Tag: 'tracked',
  };
  const { Clicks } = await postmark.getMessageClicksForSingleMessage(id, page);
  expect(Clicks).toMatchObject([clicked]);
  const another = { ...page, recipient: 'joe@example.com' };
  expect((await postmark.getMessageClicks(another)).Clicks).toEqual([]);
  await expect(postmark.getMessageOpens({ ...page, client_name: 'Gmail' })).rejects.toMatchObject({
    message: expect.stringMatching(/client_name/),
  });
});

test('templates can be validated without storing them', async () => {
  const model = { name: '<Jane>' };
  const valid = await postmark.validateTemplate({
    Subject: 'Hi {{ name }}',
    HtmlBody: '<p>Hi {{ name }}, {{ order.number }}</p>',
    TestRenderModel: { ...model, order: { number: 17 } },
  });
  expect(valid).toMatchObject({
    AllContentIsValid: true,
    Subject: { ContentIsValid: true, RenderedContent: 'Hi <Jane>' },
    HtmlBody: { RenderedContent: expect.stringContaining('Hi &lt;Jane&gt;, 17') },
    TextBody: null,
    SuggestedTemplateModel: { name: '<Jane>', order: { number: 17 } },
  });
  const suggested = await postmark.validateTemplate({ TextBody: 'Hi {{ name }}' });
  expect(suggested).toMatchObject({
    AllContentIsValid: true,
    SuggestedTemplateModel: { name: expect.any(String) },
  });
  const invalid = await postmark.validateTemplate({ Subject: 's', HtmlBody: '<p>\n{{{ x }}}</p>' });
  expect(invalid).toMatchObject({
    AllContentIsValid: false,
    Subject: { ContentIsValid: true, ValidationErrors: [] },
    HtmlBody: {
      ContentIsValid: false,
      ValidationErrors: [{ Message: expect.any(String), Line: 2 }],
    },
  });
  await expect(
    postmark.validateTemplate({ HtmlBody: 'x', LayoutTemplate: 'base' }),
  ).rejects.toMatchObject({ message: expect.stringMatching(/without a layout/) });
});

describe('POSTMARK_API_TEST', () => {
  const anyone = () => clientWith('POSTMARK_API_TEST');
  const count = async () =>
    (await app.database.pool.query<{ n: string }>('select count(*) as n from messages')).rows[0]?.n;

  test('emails are checked and accepted, and nothing is stored', async () => {
    const before = await count();
    const sent = await anyone().sendEmail({ ...EMAIL, Headers: [{ Name: 'X-Ref', Value: '1' }] });
    expect(sent).toMatchObject({ ErrorCode: 0, Message: 'Test job accepted', To: EMAIL.To });
    expect(sent.MessageID).toMatch(/^msg_/);
    const templated = await anyone().sendEmailWithTemplate({
      From: EMAIL.From,
      To: 'jane@example.com',
      TemplateAlias: 'any',
      TemplateModel: {},
    });
    expect(templated.Message).toBe('Test job accepted');
    const batch = await anyone().sendEmailBatch([EMAIL, { ...EMAIL, To: 'nobody' }]);
    expect(batch.map(({ ErrorCode }) => ErrorCode)).toEqual([0, 300]);
    expect(await count()).toBe(before);
    await expect(postmark.getOutboundMessageDetails(sent.MessageID)).rejects.toMatchObject({
      statusCode: 404,
    });
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['an invalid address', { To: 'nobody' }, /\/to/i],
    ['an unknown field', { Topic: 'x' }, /Topic/],
    ['a header that we write', { Headers: [{ Name: 'Date', Value: 'now' }] }, /Date/],
    ['a missing body', { HtmlBody: '' }, /html/],
    ['a subject of two lines', { Subject: 'a\nb' }, /line breaks/],
    ['a flood of addresses', { To: 'a@example.com,'.repeat(1_000) }, /10000 characters/],
  ])('%s is named', async (_name, change, message) => {
    await expect(anyone().sendEmail({ ...EMAIL, ...change } as never)).rejects.toMatchObject({
      statusCode: 422,
      code: 300,
      message: expect.stringMatching(message),
    });
  });

  test('large bodies, other operations and floods are refused', async () => {
    const large = { ...EMAIL, HtmlBody: 'x'.repeat(300 * 1024) };
    await expect(anyone().sendEmail(large)).rejects.toMatchObject({ statusCode: 413 });
    for (const other of [
      () => anyone().getServer(),
      () => anyone().getMessageStreams(),
      () => anyone().getBounces(),
      () => anyone().createTemplate({ Name: 'a', Alias: 'a' }),
    ]) {
      await expect(other()).rejects.toMatchObject({
        statusCode: 401,
        message: expect.stringMatching(/only be used to send/),
      });
    }
    await using limited = await startApp({ env: { RATE_LIMIT_PER_SECOND: '1' } });
    const statuses: number[] = [];
    for (let n = 0; n < 20 && !statuses.includes(429); n++) {
      const { status } = await fetch(`${limited.url}/compat/postmark/email`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-postmark-server-token': 'POSTMARK_API_TEST',
        },
        body: JSON.stringify(EMAIL),
      });
      statuses.push(status);
    }
    expect(statuses.slice(0, 2)).toEqual([200, 200]);
    expect(statuses).toContain(429);
  });
});

test('templates are published with every change', async () => {
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
});

test('message streams are the streams of the workspace, each with its suppressions', async () => {
  const client = clientWith(app.liveKey);
  expect(await client.getMessageStream('outbound')).toMatchObject({ Name: 'Transactional' });
  await expect(client.getMessageStream('broadcast')).rejects.toMatchObject({ statusCode: 404 });
  const made = { ID: 'broadcast', Name: 'News', MessageStreamType: 'Broadcasts' };
  expect(await client.createMessageStream(made)).toMatchObject({ ...made, ArchivedAt: null });
  await expect(client.createMessageStream(made)).rejects.toMatchObject({ statusCode: 422 });
  await expect(
    client.createMessageStream({ ...made, ID: 'other', Description: 'Weekly' }),
  ).rejects.toMatchObject({ message: expect.stringMatching(/Description/) });
  expect(await client.editMessageStream('broadcast', { Name: 'Weekly' })).toMatchObject({
    Name: 'Weekly',
  });
  const ids = async (type: string) =>
    (await client.getMessageStreams({ messageStreamType: type })).MessageStreams.map(
      ({ ID }) => ID,
    );
  expect(await ids('All')).toEqual(['broadcast', 'outbound']);
  expect(await ids('Broadcasts')).toEqual(['broadcast']);

  const left = { Suppressions: [{ EmailAddress: 'left@example.com' }] };
  await postmark.createSuppressions('broadcast', left);
  const listed = async (stream: string) =>
    (await postmark.getSuppressions(stream)).Suppressions.map(({ EmailAddress }) => EmailAddress);
  expect(await listed('broadcast')).toEqual(['left@example.com']);
  expect(await listed('outbound')).toEqual([]);
  await expect(postmark.createSuppressions('none', left)).rejects.toMatchObject({ code: 300 });
  const sendTo = (MessageStream: string) =>
    postmark.sendEmail({ ...EMAIL, To: 'left@example.com', MessageStream });
  await expect(sendTo('broadcast')).rejects.toMatchObject({ code: 406 });
  const { MessageID } = await sendTo('outbound');
  const { json } = await app.call('GET', `/messages/${MessageID}`, { key: app.testKey });
  expect(json).toMatchObject({ stream: 'transactional' });
  const sent = async (messagestream: string) =>
    (await postmark.getOutboundMessages({ count: 10, offset: 0, messagestream })).Messages;
  expect(await sent('broadcast')).toMatchObject([{ MessageStream: 'broadcast' }]);
  expect((await sent('outbound'))[0]).toMatchObject({ MessageStream: 'outbound' });
  await postmark.deleteSuppressions('outbound', left);
  expect(await listed('broadcast')).toEqual(['left@example.com']);
  await postmark.deleteSuppressions('broadcast', left);
  expect(await listed('broadcast')).toEqual([]);
});

describe('errors', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['an invalid address', { To: 'nobody' }, /\/to/i],
    ['an unknown field', { Topic: 'x' }, /Topic/],
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

  test('a stream that does not exist has an error code of its own', async () => {
    const email = { ...EMAIL, MessageStream: 'none' };
    await expect(postmark.sendEmail(email)).rejects.toMatchObject({
      statusCode: 422,
      code: 1235,
      message: expect.stringMatching(/no stream none/),
    });
  });

  test('keys are checked as everywhere', async () => {
    const invalid = { name: 'InvalidAPIKeyError', statusCode: 401, code: 10 };
    await expect(clientWith('pr_test_wrong').sendEmail(EMAIL)).rejects.toMatchObject(invalid);
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

describe('inbound messages', () => {
  beforeAll(() => app.call('POST', '/domains', { body: { name: 'inbound.example' } }));

  async function simulated(more: object = {}): Promise<string> {
    const { json } = await app.call('POST', '/inbound-messages/simulate', {
      body: {
        from: { email: 'jane@example.com', name: 'Jane' },
        to: { email: 'ticket+42@inbound.example', name: 'Shop' },
        subject: 'Re: Your order',
        text: 'Thank you.\n\nOn Nov 15, 2026, Shop wrote:\n> It is on its way.',
        html: '<p>Thank you.</p>',
        headers: { 'X-Order': '17' },
        attachments: [{ filename: 'März.txt', content: 'aGVsbG8=', content_type: 'text/plain' }],
        ...more,
      },
    });
    return json.id;
  }

  test('are found by sender, recipient, subject and time', async () => {
    const id = await simulated();
    await simulated({ from: { email: 'joe@example.com' }, subject: 'Hello' });
    const search = async (filter: object) => {
      const found = await postmark.getInboundMessages({ count: 10, offset: 0, ...filter });
      return found.InboundMessages.map(({ MessageID }) => MessageID);
    };
    expect(await search({})).toHaveLength(2);
    expect(await search({ fromEmail: 'jane@example.com' })).toEqual([id]);
    expect(await search({ recipient: 'ticket+42@inbound.example', subject: 'order' })).toEqual([
      id,
    ]);
    expect(await search({ toDate: '2020-01-01' })).toEqual([]);
    expect(await search({ status: 'processed' })).toHaveLength(2);
    expect(await search({ status: 'blocked' })).toEqual([]);
    await expect(search({ mailboxHash: '42' })).rejects.toThrow('not supported');
    await expect(search({ offset: 1 })).rejects.toThrow('offset');
  });

  test('have the fields of Postmark', async () => {
    const details = await postmark.getInboundMessageDetails(await simulated());
    expect(details).toMatchObject({
      From: 'jane@example.com',
      FromName: 'Jane',
      FromFull: { Email: 'jane@example.com', Name: 'Jane', MailboxHash: '' },
      To: 'Shop <ticket+42@inbound.example>',
      ToFull: [{ Email: 'ticket+42@inbound.example', Name: 'Shop', MailboxHash: '42' }],
      OriginalRecipient: 'ticket+42@inbound.example',
      MailboxHash: '42',
      HtmlBody: '<p>Thank you.</p>',
      StrippedTextReply: 'Thank you.',
      Status: 'Processed',
      BlockedReason: '',
      Attachments: [{ Name: 'März.txt', ContentType: 'text/plain', ContentLength: 5 }],
    });
    expect(details.TextBody).toContain('> It is on its way.');
    expect(details.Headers).toContainEqual({ Name: 'X-Order', Value: '17' });
    await expect(
      postmark.getInboundMessageDetails('inm_01kc8x3f7ye6qvj2m4n5p6q7r8'),
    ).rejects.toThrow();
  });
});
