import { Resend } from 'resend';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/** Resend's own client library, unchanged, against `/compat/resend`. */

let app: TestApp;
let resend: Resend;

beforeAll(async () => {
  app = await startApp();
  resend = clientWith(app.testKey);
});
afterAll(() => app[Symbol.asyncDispose]());

function clientWith(key: string): Resend {
  return new Resend(key, { baseUrl: `${app.url}/compat/resend` });
}

const EMAIL = {
  from: 'Acme <hello@acme.example>',
  to: ['Jane Doe <jane@example.com>', 'joe@example.com'],
  subject: 'Costs ${5}',
  html: '<p>{{ not a placeholder }}</p>',
};

describe('emails', () => {
  test('an email arrives as it was written, with all that Resend offers', async () => {
    const { data, error } = await resend.emails.send({
      ...EMAIL,
      cc: 'cc@example.com',
      bcc: ['bcc@example.com'],
      replyTo: ['"Süpport, Acme" <support@acme.example>', 'joe@acme.example'],
      text: 'plain {% text',
      headers: { 'X-Entity-Ref-ID': '1' },
      tags: [{ name: 'category', value: 'receipt' }],
      attachments: [
        { filename: 'a.txt', content: Buffer.from('hello') },
        { filename: 'logo.png', content: 'aGk=', contentType: 'image/png', contentId: 'logo' },
      ],
    });
    expect(error).toBeNull();
    const mail = await received(data?.id);
    expect(mail).toMatchObject({ subject: 'Costs ${5}', text: 'plain {% text' });
    expect(mail.html).toContain('{{ not a placeholder }}');
    expect(mail.attachments.map(({ filename }: { filename: string }) => filename)).toEqual([
      'a.txt',
      'logo.png',
    ]);
    const found = await resend.emails.get(data?.id as string);
    expect(found.data).toMatchObject({
      object: 'email',
      message_id: `<${data?.id}@acme.example>`,
      from: 'Acme <hello@acme.example>',
      to: ['Jane Doe <jane@example.com>', 'joe@example.com'],
      cc: ['cc@example.com'],
      bcc: ['bcc@example.com'],
      reply_to: ['"Süpport, Acme" <support@acme.example>', 'joe@acme.example'],
      subject: 'Costs ${5}',
      tags: [{ name: 'category', value: 'receipt' }],
    });
    expect(found.data?.text).toContain('plain {% text');
  });

  test('attachments are listed and can be downloaded for an hour', async () => {
    const { data } = await resend.emails.send({
      ...EMAIL,
      attachments: [
        { filename: 'a.txt', content: Buffer.from('hello'), contentType: 'text/plain' },
        { filename: 'logo.png', content: 'aGk=', contentType: 'image/png', contentId: 'logo' },
      ],
    });
    const emailId = data?.id as string;
    const list = await resend.emails.attachments.list({ emailId });
    expect(list.data).toMatchObject({
      has_more: false,
      data: [
        { id: '1', filename: 'a.txt', size: 5, content_disposition: 'attachment' },
        { id: '2', filename: 'logo.png', content_disposition: 'inline', content_id: 'logo' },
      ],
    });
    const { data: file } = await resend.emails.attachments.get({ emailId, id: '1' });
    expect(file).toMatchObject({ object: 'attachment', filename: 'a.txt' });
    const path = file?.download_url.replace('http://postrider.test', '') as string;
    const response = await fetch(app.url + path);
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(response.headers.get('content-disposition')).toBe('attachment');
    expect(await response.text()).toBe('hello');
    const [link = '', signature] = [path.slice(0, path.lastIndexOf('.')), path.split('.').at(-1)];
    const later = link.replace(/\d+$/, (expiresAt) => String(Number(expiresAt) + 1));
    for (const forged of [`${later}.${signature}`, `${link}.`, link, `${path}x`]) {
      expect((await fetch(app.url + forged)).status).toBe(404);
    }
    const other = await resend.emails.attachments.get({ emailId, id: '3' });
    expect(other.error).toMatchObject({ name: 'not_found' });
    const plain = await resend.emails.send(EMAIL);
    const none = await resend.emails.attachments.list({ emailId: plain.data?.id as string });
    expect(none.data?.data).toEqual([]);
  });

  test('text alone is enough', async () => {
    const { data } = await resend.emails.send({
      from: 'hello@acme.example',
      to: 'jane@example.com',
      subject: 'Text',
      text: 'Only text',
    });
    expect(await received(data?.id)).toMatchObject({ html: '', text: 'Only text' });
  });

  test('an idempotency key sends once', async () => {
    const first = await resend.emails.send(EMAIL, { idempotencyKey: 'welcome-1' });
    const again = await resend.emails.send(EMAIL, { idempotencyKey: 'welcome-1' });
    expect(again.data?.id).toBe(first.data?.id);
    const other = await resend.emails.send(
      { ...EMAIL, subject: 'Other' },
      { idempotencyKey: 'welcome-1' },
    );
    expect(other.error).toMatchObject({ name: 'invalid_idempotent_request', statusCode: 409 });
  });

  test('a scheduled email can be moved and canceled', async () => {
    const { data } = await resend.emails.send({ ...EMAIL, scheduledAt: 'in 2 hours' });
    const id = data?.id as string;
    const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
    expect((await resend.emails.update({ id, scheduledAt })).data).toEqual({ object: 'email', id });
    expect((await resend.emails.get(id)).data).toMatchObject({
      last_event: 'scheduled',
      scheduled_at: scheduledAt,
    });
    expect((await resend.emails.cancel(id)).data).toEqual({ object: 'email', id });
    expect((await resend.emails.get(id)).data?.last_event).toBe('canceled');
  });

  test('a complaint is the last event', async () => {
    const { data } = await resend.emails.send({ ...EMAIL, to: 'complained@simulator.test' });
    await expect
      .poll(async () => (await resend.emails.get(data?.id as string)).data?.last_event)
      .toBe('complained');
  });

  test('the list pages by the id of the last email', async () => {
    for (const subject of ['one', 'two', 'three']) await resend.emails.send({ ...EMAIL, subject });
    const first = await resend.emails.list({ limit: 2 });
    expect(first.data).toMatchObject({ has_more: true });
    expect(first.data?.data.map(({ subject }) => subject)).toEqual(['three', 'two']);
    const next = await resend.emails.list({ limit: 2, after: first.data?.data[1]?.id as string });
    expect(next.data?.data[0]?.subject).toBe('one');
  });
});

describe('batches', () => {
  test('a batch is accepted as a whole', async () => {
    const { data } = await resend.batch.send([EMAIL, { ...EMAIL, to: 'joe@example.com' }]);
    expect(data?.data).toHaveLength(2);
  });

  test('one invalid email refuses a strict batch and is listed by a permissive one', async () => {
    const emails = [EMAIL, { ...EMAIL, to: 'nobody' }];
    const strict = await resend.batch.send(emails);
    expect(strict.error).toMatchObject({ name: 'validation_error', statusCode: 422 });
    const permissive = await resend.batch.send(emails, { batchValidation: 'permissive' });
    expect(permissive.data?.data).toHaveLength(1);
    expect(permissive.data?.errors).toMatchObject([{ index: 1 }]);
  });
});

test('domains are created, changed, verified and deleted', async () => {
  const client = clientWith(app.liveKey);
  const created = await client.domains.create({
    name: 'compat.example',
    customReturnPath: 'mail',
    openTracking: true,
  });
  expect(created.data).toMatchObject({ name: 'compat.example', status: 'pending' });
  const id = created.data?.id as string;
  expect(created.data?.records.map(({ record }) => record)).toContain('DKIM');
  expect(created.data?.records).toContainEqual(
    expect.objectContaining({ type: 'MX', name: 'mail.compat.example', priority: 10 }),
  );
  const updated = await client.domains.update({
    id,
    clickTracking: true,
    tls: 'enforced',
    trackingSubdomain: 'go',
  });
  expect(updated.data).toMatchObject({ object: 'domain', id });
  expect((await client.domains.get(id)).data).toMatchObject({
    open_tracking: true,
    click_tracking: true,
    tracking_subdomain: 'go',
  });
  expect((await client.domains.verify(id)).data).toMatchObject({ object: 'domain', id });
  expect((await client.domains.list()).data?.data.map(({ name }) => name)).toContain(
    'compat.example',
  );
  expect((await client.domains.remove(id)).data).toEqual({ object: 'domain', id, deleted: true });
  expect((await client.domains.get(id)).error).toMatchObject({ name: 'not_found' });
  const region = await client.domains.create({ name: 'other.example', region: 'us-east-1' });
  expect(region.error?.message).toMatch(/Regions are not supported/);
  const invalid = await client.domains.create({ name: 'no domain' });
  expect(invalid.error).toMatchObject({ name: 'validation_error' });
});

test('API keys get at most the rights of the calling key', async () => {
  const created = await resend.apiKeys.create({ name: 'Shop', permission: 'sending_access' });
  const { id = '', token = '' } = created.data ?? {};
  expect((await clientWith(token).emails.send(EMAIL)).error).toBeNull();
  expect((await clientWith(token).apiKeys.list()).error).toMatchObject({
    name: 'restricted_api_key',
  });
  const listed = await resend.apiKeys.list({ limit: 1 });
  expect(listed.data?.data).toMatchObject([{ id, name: 'Shop' }]);
  const rest = await resend.apiKeys.list({ after: id });
  expect(rest.data?.data.map((key) => key.id)).not.toContain(id);
  const renamed = await resend.apiKeys.update(id, { name: 'Store' });
  expect(renamed.data).toEqual({ object: 'api_key', id });
  expect((await resend.apiKeys.list({ limit: 1 })).data?.data).toMatchObject([{ name: 'Store' }]);
  expect((await resend.apiKeys.remove(id)).data).toEqual({ object: 'api_key', id, deleted: true });
  expect((await clientWith(token).emails.send(EMAIL)).error).toMatchObject({ statusCode: 403 });
  const missing = await resend.apiKeys.create({ name: 'x', domain_id: 'dom_none' });
  expect(missing.error).toMatchObject({ name: 'not_found' });
});

test('contacts are found by id and by address', async () => {
  const { data } = await resend.contacts.create({
    email: 'ann@example.com',
    firstName: 'Ann',
    properties: { plan: 'pro', seats: 5 },
  });
  const id = data?.id as string;
  await resend.contacts.create({ email: 'bob@example.com' });
  expect((await resend.contacts.get('ann@example.com')).data).toMatchObject({
    id,
    first_name: 'Ann',
    unsubscribed: false,
    properties: { plan: { type: 'string', value: 'pro' }, seats: { type: 'number', value: 5 } },
  });
  expect((await resend.contacts.update({ id, lastName: 'Lee' })).data).toMatchObject({ id });
  expect((await resend.contacts.get(id)).data).toMatchObject({ last_name: 'Lee' });
  const first = await resend.contacts.list({ limit: 1 });
  expect(first.data).toMatchObject({ has_more: true, data: [{ email: 'bob@example.com' }] });
  const next = await resend.contacts.list({ after: first.data?.data[0]?.id as string });
  expect(next.data?.data.map(({ email }) => email)).toEqual(['ann@example.com']);
  expect((await resend.contacts.remove('ann@example.com')).data).toMatchObject({ deleted: true });
  expect((await resend.contacts.get(id)).error).toMatchObject({ statusCode: 404 });
  const unsubscribed = await resend.contacts.create({ email: 'c@example.com', unsubscribed: true });
  expect(unsubscribed.error?.message).toMatch(/suppressions/);
  expect((await resend.contacts.create({ email: 'nobody' })).error).toMatchObject({
    name: 'validation_error',
  });
});

test('topics are streams', async () => {
  for (const [key, purpose] of [
    ['alerts', 'transactional'],
    ['news', 'subscription'],
  ]) {
    await app.call('POST', '/streams', { body: { key, purpose } });
  }
  const { data } = await resend.emails.send({ ...EMAIL, topicId: 'alerts' });
  expect((await app.call('GET', `/messages/${data?.id}`)).json.stream).toBe('alerts');
  const email = 'topics@example.com';
  // Not every version of the client sends the topics of a contact, so the request is a plain one.
  const response = await fetch(`${app.url}/compat/resend/contacts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email, topics: [{ id: 'news', subscription: 'opt_out' }] }),
  });
  expect(response.status).toBe(201);
  const contact = await app.call('GET', `/contacts/${email}`);
  expect(contact.json.subscriptions).toMatchObject({ news: { status: 'unsubscribed' } });
});

test('topics are created, changed and deleted, and contacts leave and join them', async () => {
  const { topics, contacts } = clientWith(app.liveKey);
  const offers = { name: 'Special offers!', defaultSubscription: 'opt_in' } as const;
  expect((await topics.create(offers)).data).toMatchObject({ id: 'special-offers' });
  expect((await topics.create(offers)).error).toMatchObject({ statusCode: 409 });
  const id = 'special-offers';
  expect((await topics.update({ id, name: 'Offers' })).data).toMatchObject({ id });
  const topic = { id, name: 'Offers', default_subscription: 'opt_in' };
  expect((await topics.get(id)).data).toMatchObject(topic);
  const listed = (await topics.list()).data?.data ?? [];
  expect(listed).toContainEqual(expect.objectContaining(topic));
  expect(listed.map((one) => one.id)).not.toContain('transactional');
  const email = 'reader@example.com';
  const created = await contacts.create({ email });
  const subscriptionOf = async () => {
    const { data } = await contacts.topics.list({ email });
    return data?.data.find((one) => one.id === id)?.subscription;
  };
  expect(await subscriptionOf()).toBe('opt_in');
  for (const subscription of ['opt_out', 'opt_in'] as const) {
    const changed = await contacts.topics.update({ email, topics: [{ id, subscription }] });
    expect(changed.data).toEqual({ id: created.data?.id });
    expect(await subscriptionOf()).toBe(subscription);
  }
  for (const [change, message] of [
    [{ defaultSubscription: 'opt_out' }, /default_subscription: Contacts get mail/],
    [{ description: 'Rarely' }, /description: Streams have no description/],
    [{ name: '!' }, /name: Must contain a letter/],
  ] as const) {
    const { error } = await topics.create({ ...offers, ...change });
    expect(error).toMatchObject({ statusCode: 422, message: expect.stringMatching(message) });
  }
  expect((await topics.remove(id)).data).toMatchObject({ id, deleted: true });
  expect((await topics.get(id)).error).toMatchObject({ statusCode: 404 });
});

test('suppressions are those of the workspace', async () => {
  const { data } = await resend.suppressions.add({ email: 'gone@example.com' });
  const id = data?.id as string;
  const own = { id, email: 'gone@example.com', origin: 'manual', source_id: null };
  expect((await resend.suppressions.get('gone@example.com')).data).toMatchObject(own);
  expect((await resend.suppressions.get(id)).data).toMatchObject(own);
  expect((await resend.suppressions.list({ origin: 'manual' })).data?.data).toMatchObject([own]);
  expect((await resend.suppressions.list({ origin: 'bounce' })).data?.data).toEqual([]);
  expect((await resend.suppressions.remove('gone@example.com')).error).toBeNull();
  expect((await resend.suppressions.get('gone@example.com')).error).toMatchObject({
    name: 'not_found',
  });
  expect((await resend.suppressions.add({ email: 'nobody' })).error).toMatchObject({
    name: 'validation_error',
  });
});

test('several suppressions are added and removed at once', async () => {
  const { suppressions } = resend;
  const emails = ['one@example.com', 'two@example.com'];
  const refused = await suppressions.batch.add({ emails: [...emails, 'nobody'] });
  expect(refused.error?.message).toMatch(/emails\/2/);
  expect((await suppressions.list()).data?.data).toEqual([]);
  const added = (await suppressions.batch.add({ emails })).data?.data ?? [];
  expect(added).toMatchObject([{ object: 'suppression' }, { object: 'suppression' }]);
  const [, second] = added;
  const id = second?.id as string;
  expect((await suppressions.get('two@example.com')).data?.id).toBe(id);
  const byEmail = { emails: ['one@example.com', 'never@example.com'] };
  expect((await suppressions.batch.remove(byEmail)).data?.data).toMatchObject([
    { id: 'one@example.com', deleted: true },
  ]);
  expect((await suppressions.batch.remove({ ids: [id] })).data?.data).toMatchObject([{ id }]);
  expect((await suppressions.list()).data?.data).toEqual([]);
});

test('a template is created, published and sent by its alias', async () => {
  const client = clientWith(app.liveKey);
  const published = await client.templates
    .create({
      name: 'Order Confirmed',
      alias: 'order-confirmed',
      from: 'Acme <hello@acme.example>',
      subject: 'Order {{ ORDER }}',
      html: '<p>{{ ORDER }} for {{ NAME }}</p>',
      variables: [{ key: 'NAME', type: 'string', fallbackValue: 'you' }],
    })
    .publish();
  expect(published.data).toEqual({ object: 'template', id: 'order-confirmed' });
  const sent = await resend.emails.send({
    to: 'jane@example.com',
    template: { id: 'order-confirmed', variables: { ORDER: 'A-17' } },
  } as never);
  expect(await received(sent.data?.id)).toMatchObject({ subject: 'Order A-17' });
  const { data } = await client.templates.get('order-confirmed');
  expect(data).toMatchObject({
    alias: 'order-confirmed',
    status: 'published',
    from: 'Acme <hello@acme.example>',
  });
  expect(data?.variables).toContainEqual(
    expect.objectContaining({ key: 'NAME', fallback_value: 'you' }),
  );
  await client.templates.create({ name: 'Second one', html: '<p>2</p>' });
  const first = await client.templates.list({ limit: 1 });
  expect(first.data).toMatchObject({ has_more: true, data: [{ alias: 'second-one' }] });
  const next = await client.templates.list({ after: 'second-one' });
  expect(next.data?.data.map(({ alias }) => alias)).toEqual(['order-confirmed']);
  const renamed = await client.templates.update('order-confirmed', { alias: 'other' } as never);
  expect(renamed.error?.message).toMatch(/cannot change/);
  const broken = await client.templates.update('order-confirmed', { html: '{{{ ORDER }}}' });
  expect(broken.error).toBeNull();
  expect((await client.templates.publish('order-confirmed')).error?.message).toMatch(
    /Triple braces/,
  );
  expect((await client.templates.remove('order-confirmed')).data).toMatchObject({ deleted: true });
  expect((await client.templates.get('order-confirmed')).error).toMatchObject({ statusCode: 404 });
});

describe('errors', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['an invalid address', { to: 'nobody' }, /\/to/],
    ['an unknown topic', { topicId: 'top_1' }, /no stream top_1/],
    ['an attachment by URL', { attachments: [{ path: 'http://localhost/' }] }, /by URL/],
    ['a time that is none', { scheduledAt: 'someday' }, /Not a time/],
    ['a header that we write', { headers: { Date: 'now' } }, /Date/],
  ])('%s is named', async (_name, change, message) => {
    const { error } = await resend.emails.send({ ...EMAIL, ...change } as never);
    expect(error).toMatchObject({ name: 'validation_error', statusCode: 422 });
    expect(error?.message).toMatch(message);
  });

  test('keys are checked as everywhere', async () => {
    const wrong = await clientWith('pr_test_wrong').emails.send(EMAIL);
    expect(wrong.error).toMatchObject({ name: 'invalid_api_key', statusCode: 403 });
    const reader = clientWith(await app.newKey({ mode: 'test', scopes: ['read:messages'] }));
    const unscoped = await reader.emails.send(EMAIL);
    expect(unscoped.error).toMatchObject({ name: 'restricted_api_key', statusCode: 401 });
    const live = await clientWith(app.liveKey).emails.send(EMAIL);
    expect(live.error).toMatchObject({ name: 'validation_error', statusCode: 403 });
    const missing = await resend.emails.get('msg_01kc8x3f7ye6qvj2m4n5p6q7r8');
    expect(missing.error).toMatchObject({ name: 'not_found', statusCode: 404 });
  });
});

describe('attachments by URL', () => {
  const withFile = (path: string, more = {}) => ({
    ...EMAIL,
    attachments: [{ path, ...more }],
  });

  test('they are refused by name unless the operator allows them', async () => {
    const { error } = await resend.emails.send(withFile('https://example.com/a.pdf'));
    expect(error).toMatchObject({ name: 'validation_error', statusCode: 422 });
    expect(error?.message).toMatch(/ATTACHMENT_URLS/);
  });

  test('files are fetched from where webhooks may go, and from nowhere else', async () => {
    await using files = await startWebhookReceiver();
    await using guarded = await startApp({ env: { ATTACHMENT_URLS: 'true' } });
    const outside = new Resend(guarded.testKey, { baseUrl: `${guarded.url}/compat/resend` });
    for (const url of [
      files.url,
      'http://localhost/a',
      'http://169.254.169.254/latest/meta-data/',
    ]) {
      const { error } = await outside.emails.send(withFile(url));
      expect(error?.message).toMatch(/private network/);
    }
    const odd = await outside.emails.send(withFile('file:///etc/passwd'));
    expect(odd.error?.message).toMatch(/http or https URL/);
    const live = new Resend(guarded.liveKey, { baseUrl: `${guarded.url}/compat/resend` });
    const plain = await live.emails.send(withFile('http://example.com/a.pdf'));
    expect(plain.error?.message).toMatch(/https/);
    expect(files.connections).toBe(0);
  });

  test('the file arrives under its name; other responses are refused', async () => {
    await using files = await startWebhookReceiver();
    const env = {
      ATTACHMENT_URLS: 'true',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      REQUEST_BODY_MAX_BYTES: '100000',
    };
    await using open = await startApp({ env });
    const client = new Resend(open.testKey, { baseUrl: `${open.url}/compat/resend` });
    const url = new URL('/files/in%20voice.pdf', files.url).href;
    files.answer = () => ({ status: 200, body: 'PDF' });
    const { data } = await client.emails.send(withFile(url));
    await expect
      .poll(async () => (await open.call('GET', `/test/inbox/${data?.id}`)).status)
      .toBe(200);
    const inbox = await open.call('GET', `/test/inbox/${data?.id}`);
    expect(inbox.json.attachments).toMatchObject([{ filename: 'in voice.pdf', size_bytes: 3 }]);
    const errorOf = async (email: object) =>
      (await client.emails.send(email as never)).error?.message;
    files.answer = () => ({ status: 302, headers: { location: url } });
    expect(await errorOf(withFile(url))).toMatch(/status 302/);
    files.answer = () => 'close';
    expect(await errorOf(withFile(url))).toMatch(/cannot be reached/);
    files.answer = () => 'endless';
    expect(await errorOf(withFile(url))).toMatch(/too large/);
    expect(await errorOf(withFile(url, { content: 'aGk=' }))).toMatch(/either/);
    const batch = await client.batch.send([withFile(url)] as never);
    expect(batch.error?.message).toMatch(/batch/);
  });
});

/** The message as the test inbox shows it, once it has arrived. */
// biome-ignore lint/suspicious/noExplicitAny: tests read single fields
async function received(id: string | undefined): Promise<any> {
  await expect
    .poll(async () => (await app.call('GET', `/test/inbox/${id}`, { key: app.testKey })).status)
    .toBe(200);
  return (await app.call('GET', `/test/inbox/${id}`, { key: app.testKey })).json;
}

describe('received emails', () => {
  const IMAGE = {
    filename: 'logo.png',
    content: 'aGk=',
    content_type: 'image/png',
    content_id: 'logo',
  };

  async function simulated(more: object = {}): Promise<string> {
    const { json } = await app.call('POST', '/inbound-messages/simulate', {
      body: {
        from: { email: 'jane@example.com', name: 'Jane' },
        to: { email: 'ticket@inbound.example' },
        subject: 'Re: Costs',
        text: 'Thank you.',
        html: '<p>Thank you. <img src="cid:logo"></p>',
        attachments: [IMAGE, { filename: 'März.txt', content: 'aGVsbG8=' }],
        ...more,
      },
    });
    return json.id;
  }

  beforeAll(() => app.call('POST', '/domains', { body: { name: 'inbound.example' } }));

  test('are listed, and paged with the id of the last one', async () => {
    const [first, second] = [await simulated(), await simulated()];
    const { data: page } = await resend.emails.receiving.list({ limit: 1 });
    expect(page).toMatchObject({ object: 'list', has_more: true, data: [{ id: second }] });
    const { data: next } = await resend.emails.receiving.list({ limit: 1, after: second });
    expect(next?.data).toMatchObject([
      {
        id: first,
        from: 'Jane <jane@example.com>',
        to: ['ticket@inbound.example'],
        received_for: ['ticket@inbound.example'],
        subject: 'Re: Costs',
      },
    ]);
  });

  test('are read with images in the HTML, or with their ids', async () => {
    const id = await simulated({ headers: { 'X-Order': '17' } });
    const { data } = await resend.emails.receiving.get(id);
    expect(data).toMatchObject({
      object: 'email',
      id,
      text: 'Thank you.',
      html: '<p>Thank you. <img src="data:image/png;base64,aGk="></p>',
      headers: { 'x-order': '17', subject: 'Re: Costs' },
      attachments: [
        { id: '1', filename: 'logo.png', content_id: 'logo', size: 2 },
        { id: '2', filename: 'März.txt', content_id: null, size: 5 },
      ],
    });
    const kept = await resend.emails.receiving.get(id, { html_format: 'cid' });
    expect(kept.data?.html).toBe('<p>Thank you. <img src="cid:logo"></p>');
    const missing = await resend.emails.receiving.get('inm_01kc8x3f7ye6qvj2m4n5p6q7r8');
    expect(missing.error).toMatchObject({ name: 'not_found' });
  });

  test('only images become part of the HTML, and each a limited number of times', async () => {
    const content = Buffer.alloc(6 * 1024 * 1024).toString('base64');
    const id = await simulated({
      html: '<img src="cid:logo"><img src="cid:logo"><img src="cid:logo"><a href="cid:page">x</a>',
      attachments: [
        { ...IMAGE, content },
        { filename: 'page.html', content: 'aGk=', content_type: 'text/html', content_id: 'page' },
      ],
    });
    const { data } = await resend.emails.receiving.get(id);
    expect(data?.html?.split('data:image/png').length).toBe(2);
    expect(data?.html).toContain('<img src="cid:logo"><a href="cid:page">x</a>');
  });

  test('attachments and the whole email can be downloaded for an hour', async () => {
    const emailId = await simulated();
    const { data: list } = await resend.emails.receiving.attachments.list({ emailId });
    expect(list?.data).toMatchObject([{ id: '1' }, { id: '2', filename: 'März.txt', size: 5 }]);
    const { data: file } = await resend.emails.receiving.attachments.get({ emailId, id: '2' });
    const local = (url: string) => fetch(url.replace('http://postrider.test', app.url));
    const response = await local(file?.download_url ?? '');
    expect(await response.text()).toBe('hello');
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    const { data: email } = await resend.emails.receiving.get(emailId);
    expect(await (await local(email?.raw?.download_url ?? '')).text()).toContain(
      'Subject: Re: Costs',
    );
    const forged = (file?.download_url ?? '').replace('.1.', '.0.');
    expect((await local(forged)).status).toBe(404);
    const none = await resend.emails.receiving.attachments.get({ emailId, id: '3' });
    expect(none.error).toMatchObject({ name: 'not_found' });
  });

  test('are hidden from keys without the right to read them', async () => {
    const key = await app.newKey({ scopes: ['read:messages', 'send:transactional'] });
    const { error } = await clientWith(key).emails.receiving.list();
    expect(error).toMatchObject({ name: 'restricted_api_key' });
  });

  test('have no content once it has been deleted', async () => {
    const id = await simulated();
    await app.database.pool.query('delete from inbound_contents');
    const { data } = await resend.emails.receiving.get(id);
    expect(data).toMatchObject({ id, html: null, text: null, headers: null, raw: null });
  });
});

test('a domain receives once it is verified', async () => {
  const client = clientWith(app.liveKey);
  const early = await client.domains.create({
    name: 'receiving.example',
    capabilities: { receiving: 'enabled' },
  });
  expect(early.error?.message).toContain('once it is verified');
  const { data } = await client.domains.create({ name: 'receiving.example' });
  const id = data?.id as string;
  expect(data?.capabilities).toEqual({ sending: 'enabled', receiving: 'disabled' });
  const refused = await client.domains.update({ id, capabilities: { receiving: 'enabled' } });
  expect(refused.error).toMatchObject({ statusCode: 403 });
  await app.app.domains.trust(app.workspaceId, { name: 'receiving.example' });
  const updated = await client.domains.update({ id, capabilities: { receiving: 'enabled' } });
  expect(updated.error).toBeNull();
  const { data: receiving } = await client.domains.get(id);
  expect(receiving?.capabilities.receiving).toBe('enabled');
  expect(receiving?.records.find(({ record }) => record === 'Receiving')).toMatchObject({
    type: 'MX',
    name: 'receiving.example',
    priority: 10,
  });
  const silent = await client.domains.update({ id, capabilities: { sending: 'disabled' } });
  expect(silent.error?.message).toContain('Every domain can send');
});
