import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse, validMessage } from '../../harness/app.ts';

/**
 * The life of a template through the API: a draft does not affect sends; a published version never changes; an old
 * version can be published again; a template in use is not deleted.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function ok(answer: Promise<TestResponse>): Promise<TestResponse['json']> {
  const { status, json, text } = await answer;
  expect([status < 300, text]).toEqual([true, text]);
  return json;
}

const post = (path: string, body: unknown = {}) => app.call('POST', path, { body });
const patch = (path: string, body: unknown) => app.call('PATCH', path, { body });
const get = (path: string) => app.call('GET', path);

/** The content that a send would have, from a dry run. */
function dryRun(key: string, more: Record<string, unknown> = {}): Promise<TestResponse> {
  const { subject: _, html: __, ...envelope } = validMessage();
  return post('/transactional/dry-run', { ...envelope, template_key: key, ...more });
}

describe('documented examples', () => {
  test('inline content with both placeholder syntaxes', async () => {
    await ok(app.call('PUT', '/contacts/jane@example.com', { body: { first_name: 'Jane' } }));
    const sent = await ok(
      post('/transactional/send', {
        to: { email: 'jane@example.com' },
        from: { email: 'hello@example.org' },
        subject: 'Welcome, ${variable_name}',
        html: '<p>Hello {{ contact.first_name }}</p>',
        variables: { variable_name: 'friend' },
      }),
    );
    const arrived = await ok(get('/test/inbox/wait?to=jane@example.com'));
    expect(arrived.message).toMatchObject({
      id: sent.id,
      subject: 'Welcome, friend',
      html: '<p>Hello Jane</p>',
    });
  });

  test('a stored template with template_key and template_variables', async () => {
    await ok(
      post('/templates', {
        key: 'welcome',
        subject: 'Welcome, ${variable_name}',
        html: '<p>Your plan: {{ dotted.path }}. Hello {{ contact.first_name }}!</p>',
      }),
    );
    await ok(post('/templates/welcome/publish'));
    const sent = await ok(
      post('/transactional/send', {
        to: { email: 'jane@example.com' },
        from: { email: 'hello@example.org' },
        template_key: 'welcome',
        template_variables: { variable_name: 'Jane', dotted: { path: 'A & B' } },
      }),
    );
    expect(sent.template).toEqual({ key: 'welcome', version: 1 });
    const arrived = await ok(get('/test/inbox/wait?subject=Welcome,%20Jane'));
    expect(arrived.message.html).toBe('<p>Your plan: A &amp; B. Hello Jane!</p>');
  });
});

test('contact and message are available in every send and cannot be set as variables', async () => {
  const attributes = { plan: 'pro', address: { city: 'Wien' } };
  await ok(app.call('PUT', '/contacts/Max@example.com', { body: { last_name: 'M', attributes } }));
  const body = {
    ...validMessage({ to: { email: 'max@example.com' } }),
    subject: '${message.from} to ${message.to}',
    html: '{{ contact.last_name }} {{ contact.plan }} {{ contact.address.city }} {{ contact.email }} {{ message.id }}',
  };
  const { id } = await ok(post('/transactional/send', body));
  const { message } = await ok(get('/test/inbox/wait?to=max@example.com'));
  expect(message.subject).toBe('hello@example.org to max@example.com');
  expect(message.html).toBe(`M pro Wien Max@example.com ${id}`);
  for (const root of ['contact', 'message']) {
    const refused = await post('/transactional/send', { ...body, variables: { [root]: {} } });
    expect(refused.json.errors[0]).toMatchObject({ pointer: `/variables/${root}` });
  }
});

test('a draft is created, read, changed and listed', async () => {
  const made = await post('/templates', { key: 'draft.one', subject: 'S ${a}', html: '<p>H</p>' });
  expect(made.status).toBe(201);
  expect(made.headers.get('location')).toBe('/api/v1/templates/draft.one');
  expect(made.json).toMatchObject({
    key: 'draft.one',
    name: 'draft.one',
    text: null,
    from: null,
    reply_to: [],
    layout: null,
    locales: {},
    published_version: null,
    has_unpublished_changes: true,
    published_at: null,
  });
  expect(made.json.id).toMatch(/^tpl_/);
  const changed = await ok(
    patch('/templates/draft.one', {
      name: 'One',
      text: 'T',
      from: { email: 'Shop@Example.org', name: '${company}' },
      reply_to: { email: 'help@example.org' },
      locales: { 'de-at': { subject: 'Servus' }, de: { subject: 'Hallo' } },
    }),
  );
  expect(changed).toMatchObject({
    name: 'One',
    subject: 'S ${a}',
    text: 'T',
    from: { email: 'Shop@example.org', name: '${company}' },
    reply_to: [{ email: 'help@example.org' }],
    locales: { de: { subject: 'Hallo' }, 'de-AT': { subject: 'Servus' } },
  });
  const less = await ok(
    patch('/templates/draft.one', { text: null, locales: { de: null }, from: null }),
  );
  expect(less).toMatchObject({
    text: null,
    from: null,
    locales: { 'de-AT': { subject: 'Servus' } },
  });
  expect(await ok(get('/templates/draft.one'))).toEqual(less);
  const { data } = await ok(get('/templates?limit=1'));
  expect(data[0]).toMatchObject({ key: 'draft.one', subject: 'S ${a}', locales: ['de-AT'] });
  expect(data[0]).not.toHaveProperty('html');
  expect((await post('/templates', { key: 'draft.one' })).json.code).toBe('conflict');
});

test('a change without effect adds no event or version', async () => {
  const draft = {
    name: 'Still',
    subject: 'Hi {{ name }}',
    html: '<p>Hi</p>',
    from: { email: 'hello@example.org', name: 'Example' },
    reply_to: [{ email: 'help@example.org' }],
    locales: { de: { subject: 'Hallo' } },
    variables: [{ name: 'name', type: 'string', required: true, example: 'Jane' }],
  };
  await ok(post('/templates', { key: 'still', ...draft }));
  const made = await ok(get('/templates/still'));
  const other = await app.newKey({});
  const again = await app.call('PATCH', '/templates/still', { body: draft, key: other });
  expect(again.json).toEqual(made);
  expect((await ok(patch('/templates/still', { name: 'Moved' }))).updated_at).not.toBe(
    made.updated_at,
  );
});

test('lists are paginated, newest first', async () => {
  for (const key of ['p1', 'p2', 'p3']) await ok(post('/partials', { key, html: 'x' }));
  const first = await ok(get('/partials?limit=2'));
  expect(first.data.map((one: { key: string }) => one.key)).toEqual(['p3', 'p2']);
  await ok(post('/partials', { key: 'p4', html: 'x' }));
  const second = await ok(get(`/partials?limit=2&cursor=${first.next_cursor}`));
  expect(second.data.map((one: { key: string }) => one.key)).toEqual(['p1']);
  expect(second.next_cursor).toBeNull();
});

test('variables are inferred, described, and round-trip', async () => {
  const made = await ok(
    post('/templates', {
      key: 'order',
      subject: 'Order ${order.id}',
      html: '{% for line in order.lines %}{{ line.name }} {{ line.price | money: "EUR" }}{% endfor %}{{ note | default: "-" }}',
      variables: [{ name: 'order.id', type: 'string', example: '4711', description: 'Its number' }],
    }),
  );
  const byName = new Map(made.variables.map((one: { name: string }) => [one.name, one] as const));
  expect(byName.get('order.id')).toEqual({
    name: 'order.id',
    type: 'string',
    required: true,
    default: null,
    example: '4711',
    description: 'Its number',
    secret: false,
    inferred: false,
  });
  expect(byName.get('order.lines')).toMatchObject({ type: 'list', inferred: true });
  expect(byName.get('order.lines[].price')).toMatchObject({ type: 'number', inferred: true });
  expect(byName.get('note')).toMatchObject({ required: false, inferred: true });
  const again = await ok(patch('/templates/order', { variables: made.variables }));
  expect(again.variables).toEqual(made.variables);
  const schema = await ok(get('/templates/order/schema'));
  expect(schema).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    required: ['order'],
    properties: { order: { properties: { lines: { type: 'array' } } } },
  });
});

test('missing variables are reported with path and position, values of a wrong type with their pointer', async () => {
  await ok(post('/templates/order/publish'));
  const lacking = await dryRun('order', {
    template_variables: { order: { lines: [{ name: 'Tea', price: '1' }, { name: 'Cup' }] } },
  });
  expect([lacking.status, lacking.json.code]).toEqual([422, 'missing_variables']);
  expect(lacking.json.errors).toEqual([
    expect.objectContaining({
      pointer: '/template_variables/order/id',
      path: 'order.id',
      field: 'subject',
      line: 1,
      column: 7,
    }),
    expect.objectContaining({
      pointer: '/template_variables/order/lines/1/price',
      path: 'order.lines[1].price',
      field: 'html',
      line: 1,
    }),
  ]);
  const wrong = await dryRun('order', {
    template_variables: { order: { id: '1', lines: 'none' } },
  });
  expect([wrong.status, wrong.json.code]).toEqual([422, 'validation_failed']);
  expect(wrong.json.errors[0]).toMatchObject({
    pointer: '/template_variables/order/lines',
    code: 'invalid_variable',
  });
  const contact = await ok(
    post('/templates', { key: 'hi', subject: 'Hi', html: 'Hi {{ contact.nickname }}' }),
  );
  await ok(post(`/templates/${contact.key}/publish`));
  expect((await dryRun('hi')).json.errors[0]).toMatchObject({
    pointer: '/to/email',
    path: 'contact.nickname',
  });
});

test('declared defaults apply, and required variables are required', async () => {
  await ok(
    post('/templates', {
      key: 'defaults',
      subject: '${greeting}',
      html: '{% if vip %}VIP{% endif %}{% for l in lines %}{{ l.n }}{% endfor %}',
      from: { email: 'x@example.org', name: '${company}' },
      variables: [
        { name: 'greeting', default: 'Hello' },
        { name: 'company', default: 'Example Ltd.' },
        { name: 'lines[].n', default: 1 },
        { name: 'vip', required: true },
      ],
    }),
  );
  await ok(post('/templates/defaults/publish'));
  const sent = await dryRun('defaults', {
    template_variables: { lines: [{}, { n: 2 }], vip: false },
    from: undefined,
  });
  expect(sent.json).toMatchObject({ subject: 'Hello', html: '12' });
  expect(sent.json.headers).toContainEqual({
    name: 'From',
    value: '"Example Ltd." <x@example.org>',
  });
  const lacking = await dryRun('defaults', { template_variables: { lines: [] } });
  expect(lacking.json).toMatchObject({
    code: 'missing_variables',
    errors: [{ pointer: '/template_variables/vip', path: 'vip' }],
  });
});

describe('versions', () => {
  const key = 'versions';
  const subjectOf = async (more = {}) => (await ok(dryRun(key, more))).subject;

  test('are numbered, kept, compared and published again', async () => {
    await ok(post('/templates', { key, subject: 'One', html: '<p>1</p>' }));
    expect((await dryRun(key)).json).toMatchObject({
      status: 422,
      code: 'template_not_found',
      detail: 'The template "versions" is not published yet.',
    });
    const first = await ok(post(`/templates/${key}/publish`, { note: 'the first' }));
    expect(first).toMatchObject({ key, version: 1, note: 'the first', touches: [] });
    await ok(patch(`/templates/${key}`, { subject: 'Two', html: '<p>1</p>\n<p>2</p>' }));
    expect(await subjectOf()).toBe('One');
    expect((await ok(get(`/templates/${key}`))).has_unpublished_changes).toBe(true);
    expect((await ok(post(`/templates/${key}/publish`))).version).toBe(2);
    expect(await subjectOf()).toBe('Two');
    expect(await subjectOf({ template_version: 1 })).toBe('One');
    expect(await subjectOf({ template_version: 'draft' })).toBe('Two');

    const back = await ok(post(`/templates/${key}/publish`, { version: 1, note: 'back' }));
    expect(back).toMatchObject({ version: 1, note: 'back' });
    expect(await subjectOf()).toBe('One');
    expect(await ok(get(`/templates/${key}`))).toMatchObject({
      published_version: 1,
      has_unpublished_changes: true,
      subject: 'Two',
    });
    const { data } = await ok(get(`/templates/${key}/versions`));
    expect(data).toMatchObject([
      { version: 2, current: false, note: null },
      { version: 1, current: true, note: 'back' },
    ]);
    expect(data[1].publications.map((one: { note: string }) => one.note)).toEqual([
      'the first',
      'back',
    ]);
    expect(data[0].published_by).toMatch(/^key_/);
    expect(await ok(get(`/templates/${key}/versions/2`))).toMatchObject({
      version: 2,
      subject: 'Two',
      html: '<p>1</p>\n<p>2</p>',
    });
    const page = await ok(get(`/templates/${key}/versions?limit=1`));
    const rest = await ok(get(`/templates/${key}/versions?cursor=${page.next_cursor}`));
    expect(rest.data.map((one: { version: number }) => one.version)).toEqual([1]);
  });

  test('are compared field by field', async () => {
    const compared = await ok(get(`/templates/${key}/compare?from=1&to=2`));
    expect(compared.changes).toEqual([
      { field: 'subject', before: 'One', after: 'Two', diff: '@@ -1,1 +1,1 @@\n-One\n+Two' },
      {
        field: 'html',
        before: '<p>1</p>',
        after: '<p>1</p>\n<p>2</p>',
        diff: '@@ -1,1 +1,2 @@\n <p>1</p>\n+<p>2</p>',
      },
    ]);
    expect(await ok(get(`/templates/${key}/compare?from=2`))).toMatchObject({
      to: 'draft',
      changes: [],
    });
    const unpublished = await get('/templates/draft.one/compare');
    expect(unpublished.json.errors[0]).toMatchObject({ parameter: 'from' });
  });

  test('that do not exist are 404', async () => {
    for (const path of ['/versions/3', '/versions/0', '/versions/x', '/compare?to=9']) {
      expect((await get(`/templates/${key}${path}`)).status).toBe(404);
    }
    expect((await dryRun(key, { template_version: 9 })).json.code).toBe('template_not_found');
    expect((await post(`/templates/${key}/publish`, { version: 9 })).json).toMatchObject({
      status: 422,
      errors: [{ pointer: '/version' }],
    });
    expect((await post('/templates/never/publish')).status).toBe(404);
    expect((await get('/templates/NEVER/versions')).status).toBe(404);
  });

  test('publishing adds a live event', async () => {
    const publishedEvents = async () => {
      const { data } = await ok(
        app.call('GET', '/events?type=template.published&limit=100', { key: app.liveKey }),
      );
      return data
        .map((event: { data: { template: { key: string } } }) => event.data)
        .filter(({ template }: { template: { key: string } }) => template.key === key);
    };
    // The feed may be slightly behind.
    await expect
      .poll(publishedEvents)
      .toEqual([1, 2, 1].map((version) => ({ template: { kind: 'template', key, version } })));
  });
});

describe('deleting', () => {
  test('is rejected while scheduled messages use it, unless forced', async () => {
    await ok(post('/templates', { key: 'soon', subject: 'S', html: 'H' }));
    await ok(post('/templates/soon/publish'));
    const { subject: _, html: __, ...envelope } = validMessage();
    const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
    const sent = await ok(
      post('/transactional/send', { ...envelope, template_key: 'soon', scheduled_at }),
    );
    const refused = await app.call('DELETE', '/templates/soon');
    expect([refused.status, refused.json.code]).toEqual([409, 'conflict']);
    expect((await app.call('DELETE', '/templates/soon?force=true')).status).toBe(204);
    expect((await get('/templates/soon')).status).toBe(404);
    expect((await ok(get(`/messages/${sent.id}/content`))).subject).toBe('S');

    await ok(post('/templates', { key: 'soon', subject: 'New', html: 'H' }));
    await ok(post('/templates/soon/publish'));
    expect((await ok(dryRun('soon'))).subject).toBe('New');
    await ok(post(`/messages/${sent.id}/cancel`));
    expect((await app.call('DELETE', '/templates/soon')).status).toBe(204);
    expect((await dryRun('soon')).json.code).toBe('template_not_found');
  });
});

test.each([
  [{ key: 'UPPER' }, '/key'],
  [{ key: 'x', html: 5 }, '/html'],
  [{ key: 'x', from: { email: 'no' } }, '/from/email'],
  [{ key: 'x', reply_to: [{ email: 'no' }] }, '/reply_to/0/email'],
  [{ key: 'x', layout: 'No Key' }, '/layout'],
  [{ key: 'x', locales: { 'not a tag!': { html: 'x' } } }, '/locales/not a tag!'],
  [{ key: 'x', locales: { de: {} } }, '/locales/de'],
  [{ key: 'x', variables: [{ name: 'contact.x' }] }, '/variables/0/name'],
  [{ key: 'x', variables: [{ name: 'a' }, { name: 'a' }] }, '/variables/1/name'],
  [{ key: 'x', variables: [{ name: '1 2' }] }, '/variables/0/name'],
])('a template with invalid fields is rejected: %j', async (body, pointer) => {
  const answer = await post('/templates', body);
  expect([answer.status, answer.json.errors[0].pointer]).toEqual([422, pointer]);
});
