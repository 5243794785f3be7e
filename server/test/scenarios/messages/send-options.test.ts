import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';

/**
 * Options of a send: several recipients, text-only and verbatim content, the caller's own
 * Message-ID, and one content for many recipients. The mail is read back from the test inbox.
 */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const SEND = '/transactional/send';
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  app.call('POST', path, { body, headers });

async function raw(id: string): Promise<string> {
  return (await app.call('GET', `/messages/${id}/raw`)).text;
}

test('several recipients each get a delivery and see each other', async () => {
  const to = [{ email: 'jane@example.com', name: 'Jane' }, { email: 'joe@example.com' }];
  const { status, json } = await post(SEND, validMessage({ to }));
  expect(status).toBe(202);
  expect(
    json.recipients.map(({ email, kind }: { email: string; kind: string }) => [email, kind]),
  ).toEqual([
    ['jane@example.com', 'to'],
    ['joe@example.com', 'to'],
  ]);
  expect(await raw(json.id)).toContain('To: Jane <jane@example.com>, joe@example.com\r\n');
  const invalid = await post(SEND, validMessage({ to: [...to, { email: 'nobody' }] }));
  expect(invalid.json.errors).toMatchObject([{ pointer: '/to/2/email', code: 'invalid_email' }]);
  expect((await post(SEND, validMessage({ to: [] }))).json.errors).toMatchObject([
    { pointer: '/to', code: 'too_few' },
  ]);
});

test('copies alone are enough, and a template greets the first of them', async () => {
  const copies = { to: undefined, cc: [{ email: 'cc@example.com' }] };
  const open = await post(SEND, validMessage(copies));
  expect([open.status, open.json.recipients[0]]).toMatchObject([202, { kind: 'cc' }]);
  expect(await raw(open.json.id)).not.toMatch(/^To:/m);
  const bcc = [{ email: 'bcc@example.com' }];
  const blind = await post(SEND, validMessage({ to: undefined, bcc }));
  expect(await raw(blind.json.id)).not.toMatch(/^(To|Cc|Bcc):|bcc@/m);
  const html = '<p>{{ contact.first_name }}</p>';
  const template = { key: 'greeting', name: 'Greeting', subject: 'Hi', html };
  expect((await post('/templates', template)).status).toBe(201);
  expect((await post('/templates/greeting/publish', {})).status).toBe(200);
  for (const [recipients, pointer] of [
    [{ to: undefined, bcc }, '/bcc/0/email'],
    [copies, '/cc/0/email'],
  ] as const) {
    const body = { from: { email: 'hello@example.org' }, template_key: 'greeting', ...recipients };
    const { json } = await post(SEND, body);
    expect(json.errors).toMatchObject([{ pointer }]);
  }
  const none = await post(SEND, validMessage({ to: undefined, cc: [], bcc: [] }));
  expect(none.json.errors).toMatchObject([{ pointer: '/to', code: 'required' }]);
});

test('a message with text and without html has one part', async () => {
  const body = validMessage({ html: undefined, text: 'Hi ${name}', variables: { name: 'Jane' } });
  const { json } = await post(SEND, body);
  const mail = await raw(json.id);
  expect(mail).toContain('Content-Type: text/plain');
  expect(mail).toContain('\r\n\r\nHi Jane');
  expect(mail).not.toContain('text/html');
});

test('without placeholders, content is sent verbatim', async () => {
  const texts = { subject: 'Costs ${5}', html: '<p>{{ x }} {% y</p>', text: '{% if %} ${5' };
  const reply_to = { email: 'a+{{b}}@example.com', name: '${c}' };
  const body = validMessage({ ...texts, reply_to, placeholders: false });
  const { status, json } = await post(SEND, body);
  expect(status).toBe(202);
  const content = await app.call('GET', `/messages/${json.id}/content`);
  expect(content.json).toMatchObject(texts);
  expect(await raw(json.id)).toContain('${c}');
  expect((await post(SEND, validMessage({ ...texts, placeholders: true }))).status).toBe(422);
});

test('the longest content id that is accepted is delivered', async () => {
  const content_id = `${'i'.repeat(245)}@[10.0.0.5]`;
  const attachment = { filename: 'logo.png', content: 'aGk=', content_id };
  const html = '<img src="cid:logo">';
  const { status, json } = await post(SEND, validMessage({ html, attachments: [attachment] }));
  expect(status).toBe(202);
  expect(await raw(json.id)).toContain(`Content-ID: <${content_id}>\r\n`);
  const longer = [{ ...attachment, content_id: `i${content_id}` }];
  expect((await post(SEND, validMessage({ html, attachments: longer }))).json.errors).toMatchObject(
    [{ pointer: '/attachments/0/content_id', code: 'too_long' }],
  );
});

test('a Message-ID of the caller is delivered, returned and searchable, and must be new', async () => {
  const body = validMessage({ headers: { 'message-id': '<order-1@shop.example>', 'X-A': 'b' } });
  const { json } = await post(SEND, body);
  expect(await raw(json.id)).toContain('Message-ID: <order-1@shop.example>\r\n');
  const message = await app.call('GET', `/messages/${json.id}`);
  expect(message.json.header_message_id).toBe('<order-1@shop.example>');
  for (const text of ['<order-1@shop.example>', 'order-1@shop.example']) {
    const found = await app.call('GET', `/messages?header_message_id=${encodeURIComponent(text)}`);
    expect(found.json.data.map(({ id }: { id: string }) => id)).toEqual([json.id]);
  }
  const again = await post(SEND, body);
  expect([again.status, again.json.code]).toEqual([409, 'message_id_in_use']);
  expect(again.json.errors).toMatchObject([{ pointer: '/headers/Message-ID' }]);
  const live = await app.call('GET', '/messages?header_message_id=order-1@shop.example', {
    key: app.liveKey,
  });
  expect(live.json.data).toEqual([]);
});

test('a generated Message-ID is returned and searchable too', async () => {
  const { json } = await post(SEND, validMessage());
  const { header_message_id } = (await app.call('GET', `/messages/${json.id}`)).json;
  expect(await raw(json.id)).toContain(`Message-ID: ${header_message_id}\r\n`);
  const found = await app.call(
    'GET',
    `/messages?header_message_id=${encodeURIComponent(header_message_id)}`,
  );
  expect(found.json.data).toMatchObject([{ id: json.id }]);
});

test.each(['order-1@shop.example', '<a b@c>', '<ä@c>', '<a>', '<a@b> <c@d>'])(
  'the Message-ID %s is rejected',
  async (value) => {
    const { json } = await post(SEND, validMessage({ headers: { 'Message-ID': value } }));
    expect(json.errors).toMatchObject([
      { pointer: '/headers/Message-ID', code: 'invalid_message_id' },
    ]);
  },
);

test('of concurrent sends with one Message-ID, on two nodes, one is accepted', async () => {
  await using other = await startApp({ database: app.database });
  const body = validMessage({ headers: { 'Message-ID': '<race@shop.example>' } });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? app : other).call('POST', SEND, { body, key: app.testKey }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(19).fill(409)]);
});

test('a repeated request with a Message-ID and an idempotency key is replayed', async () => {
  const body = validMessage({ headers: { 'Message-ID': '<replay@shop.example>' } });
  const headers = { 'idempotency-key': 'message-id' };
  const first = await post(SEND, body, headers);
  const second = await post(SEND, body, headers);
  expect([second.status, second.text]).toEqual([202, first.text]);
  // A rejected duplicate does not use up its key.
  const refused = await post(SEND, body, { 'idempotency-key': 'message-id-2' });
  expect(refused.json.code).toBe('message_id_in_use');
  expect((await post(SEND, validMessage(), { 'idempotency-key': 'message-id-2' })).status).toBe(
    202,
  );
});

test('in a batch only the second message with a Message-ID is rejected', async () => {
  const message = validMessage({ headers: { 'Message-ID': '<batch@shop.example>' } });
  const { json } = await post('/transactional/batch', {
    mode: 'permissive',
    messages: [message, message, validMessage()],
  });
  expect(json.data).toMatchObject([
    { message: { status: 'queued' } },
    {
      error: { code: 'message_id_in_use', errors: [{ pointer: '/messages/1/headers/Message-ID' }] },
    },
    { message: { status: 'queued' } },
  ]);
});

test('inline_css: false leaves the HTML of a template as written', async () => {
  const html = '<style>p { color: red }</style><p>Hi</p>';
  await post('/templates', { key: 'styled', subject: 'Hi', html });
  expect((await post('/templates/styled/publish', {})).status).toBe(200);
  const template = {
    ...validMessage(),
    subject: undefined,
    html: undefined,
    template_key: 'styled',
  };
  const inlined = await post('/transactional/dry-run', template);
  const verbatim = await post('/transactional/dry-run', { ...template, inline_css: false });
  expect(inlined.json.html).toContain('<p style="color: red');
  expect(verbatim.json.html).toBe(html);
  const inline = await post(SEND, validMessage({ inline_css: false }));
  expect(inline.json.code).toBe('content_conflict');
  // A generated client may send every default.
  const defaults = { placeholders: true, inline_css: true };
  expect((await post(SEND, validMessage(defaults))).status).toBe(202);
  expect((await post(SEND, { ...template, ...defaults })).status).toBe(202);
  const empty = { template_variables: {}, variables: {} };
  expect((await post(SEND, validMessage(empty))).status).toBe(202);
  expect((await post(SEND, validMessage({ ...empty, placeholders: false }))).status).toBe(202);
  expect((await post(SEND, { ...template, ...empty })).status).toBe(202);
});

const bulk = (more: object = {}) => ({
  from: { email: 'hello@example.org' },
  subject: 'Hi ${name}',
  html: '<p>{{ name }} from {{ city }}</p>',
  variables: { city: 'Vienna' },
  metadata: { campaign: 'spring' },
  recipients: [
    { to: { email: 'jane@example.com' }, variables: { name: 'Jane' } },
    {
      to: { email: 'joe@example.com' },
      variables: { name: 'Joe', city: 'Linz' },
      metadata: { n: '2' },
    },
  ],
  ...more,
});

test('a bulk send is one message per recipient, each with its own variables', async () => {
  const { status, json } = await post('/transactional/bulk', bulk());
  expect(status).toBe(202);
  const ids = json.data.map((item: { message: { id: string } }) => item.message.id);
  expect(await raw(ids[0])).toContain('Jane from Vienna');
  expect(await raw(ids[1])).toContain('Joe from Linz');
  expect(await raw(ids[1])).not.toContain('jane@example.com');
  const second = await app.call('GET', `/messages/${ids[1]}`);
  expect(second.json).toMatchObject({
    subject: 'Hi Joe',
    metadata: { campaign: 'spring', n: '2' },
  });
});

test('in a bulk send, invalid recipients are reported by index', async () => {
  const recipients = [
    { to: { email: 'jane@example.com' }, variables: { name: 'Jane' } },
    { to: { email: 'joe@example.com' } },
    { to: { email: 'nobody' }, variables: { name: 'x' } },
  ];
  const strict = await post('/transactional/bulk', bulk({ recipients: recipients.slice(0, 2) }));
  expect([strict.status, strict.json.code]).toEqual([422, 'missing_variables']);
  expect(strict.json.errors[0].pointer).toMatch(/^\/recipients\/1\//);
  const both = await post('/transactional/bulk', bulk({ recipients, mode: 'permissive' }));
  expect(both.json.data).toMatchObject([
    { index: 0, message: {} },
    { index: 1, error: { code: 'missing_variables' } },
    { index: 2, error: { code: 'validation_failed' } },
  ]);
});

test('a bulk send is replayed with its idempotency key', async () => {
  const headers = { 'idempotency-key': 'bulk' };
  const first = await post('/transactional/bulk', bulk(), headers);
  const second = await post('/transactional/bulk', bulk(), headers);
  expect([second.status, second.text]).toEqual([202, first.text]);
});

test('a bulk send that multiplies to more than a request may have is rejected', async () => {
  const recipients = Array.from({ length: 500 }, (_, i) => ({
    to: { email: `r${i}@example.com` },
  }));
  const large = bulk({
    recipients,
    html: 'x'.repeat(200_000),
    variables: undefined,
    subject: 'Hi',
  });
  const { status, json } = await post('/transactional/bulk', large);
  expect(status).toBe(422);
  expect(json.errors).toMatchObject([{ pointer: '/recipients', code: 'message_too_large' }]);
});

test.each(['variables', 'headers'])('%s count for each recipient of a bulk send', async (field) => {
  const large = bulk({
    recipients: Array.from({ length: 500 }, (_, i) => ({
      to: { email: `r${i}@example.com` },
      variables: { name: 'Jane' },
    })),
    [field]: Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`x-${i}`, 'v'])),
  });
  const { status, json } = await post('/transactional/bulk', large);
  expect(status).toBe(422);
  expect(json.errors).toMatchObject([{ pointer: '/recipients', code: 'message_too_large' }]);
});
