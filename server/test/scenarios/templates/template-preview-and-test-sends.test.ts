import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse, validMessage } from '../../harness/app.ts';

/**
 * Before a template is sent, its author sees what is wrong with it and how it looks: checks, previews without
 * sending, and test sends of the draft.
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

describe('publishing checks', () => {
  test('errors prevent publishing and have positions', async () => {
    await ok(post('/templates', { key: 'bad', html: '<p>\n{{ a | nofilter }}' }));
    const refused = await post('/templates/bad/publish');
    expect(refused.json).toMatchObject({
      status: 422,
      code: 'validation_failed',
      errors: [
        { pointer: '/subject', code: 'subject_missing' },
        { pointer: '/html', code: 'template_syntax', line: 2 },
      ],
    });
    const checked = await ok(post('/templates/bad/check'));
    expect(checked).toMatchObject({
      ok: false,
      errors: [{ code: 'subject_missing' }, { code: 'template_syntax', field: 'html', line: 2 }],
    });
    await ok(patch('/templates/bad', { subject: 'S' }));
    expect((await post('/templates/bad/publish')).json.code).toBe('template_syntax');
    expect((await ok(get('/templates/bad'))).published_version).toBeNull();
    expect((await ok(get('/templates/bad'))).variables).toEqual([]);
    expect((await get('/templates/bad/schema')).json.code).toBe('template_syntax');
  });

  test('warnings are part of the response', async () => {
    await ok(
      post('/templates', {
        key: 'warned',
        subject: 'S',
        html: '<p><img src="http://x.example/a.png"><a href="/in">in</a> {{ frist_name }}</p>',
        locales: { de: { html: '<p>{{ x }}</p>' } },
        variables: [{ name: 'first_name' }, { name: 'unused' }],
      }),
    );
    const { warnings } = await ok(post('/templates/warned/publish'));
    const found = warnings.map(
      (one: { field: string; code: string }) => `${one.field} ${one.code}`,
    );
    expect(found).toEqual(
      expect.arrayContaining([
        'html image_without_alt',
        'html image_not_https',
        'html link_not_absolute',
        'html preheader_missing',
        'html unknown_path',
        'locales.de locale_gap',
        'variables.1 unused_variable',
      ]),
    );
    expect(warnings.find((one: { code: string }) => one.code === 'unknown_path').message).toContain(
      'Did you mean `first_name`?',
    );
  });

  test('apply to inline content too', async () => {
    const checked = await ok(
      post('/transactional/check', { subject: '${a', html: '<div>{% render "x" %}' }),
    );
    expect(checked.ok).toBe(false);
    expect(checked.errors.map((one: { code: string }) => one.code)).toEqual([
      'template_syntax',
      'partial_not_found',
    ]);
    expect((await ok(post('/transactional/check', { html: '<p>Hi</p>' }))).ok).toBe(true);
  });
});

describe('a preview', () => {
  test('uses examples or given values, and reports missing ones', async () => {
    await ok(
      post('/templates', {
        key: 'preview',
        subject: 'Hi ${name}',
        html: '<style>p{color:red}</style>\n<p>{{ contact.city }} {{ total | money: "EUR" }} {{ link }}</p>',
        variables: [{ name: 'name', example: 'Max' }],
      }),
    );
    const examples = await ok(post('/templates/preview/render'));
    expect(examples).toMatchObject({
      version: 'draft',
      locale: null,
      subject: 'Hi Max',
      missing: [],
    });
    expect(examples.html).toContain(
      '<p style="color: red;">[city] €42.00 https://example.com/</p>',
    );
    expect(examples.text).toContain('[city] €42.00');
    expect(examples.size_bytes).toBeGreaterThan(300);

    const given = await ok(
      post('/templates/preview/render', {
        variables: { total: 3 },
        contact: { city: 'Wien' },
        locale: 'de',
      }),
    );
    expect(given.html).toContain('Wien 3,00\u00a0€');
    // The column refers to the source, not to the version with inlined CSS.
    expect(given.missing).toMatchObject([
      { path: 'name', field: 'subject', line: 1, column: 4 },
      { path: 'link', field: 'html', line: 2, column: 50 },
    ]);
    const wrong = await post('/templates/preview/render', { variables: { total: [] } });
    expect(wrong.json.errors[0]).toMatchObject({ pointer: '/variables/total' });
    const zone = await post('/templates/preview/render', { time_zone: 'Nowhere' });
    expect(zone.json.errors[0]).toMatchObject({ pointer: '/time_zone' });
    expect((await post('/templates/preview/render', { version: 1 })).json.code).toBe(
      'template_not_found',
    );
  });

  test('a stored contact is used only with permission to read contacts', async () => {
    await ok(
      app.call('PUT', '/contacts/max@example.com', { body: { attributes: { city: 'Graz' } } }),
    );
    const body = { contact_email: 'max@example.com' };
    expect((await ok(post('/templates/preview/render', body))).html).toContain('Graz');
    const narrow = await app.newKey({ scopes: ['read:templates'] });
    const refused = await app.call('POST', '/templates/preview/render', { body, key: narrow });
    expect(refused.json.code).toBe('insufficient_scope');
    const unknown = await post('/templates/preview/render', { contact_email: 'no@example.com' });
    expect(unknown.json.errors[0]).toMatchObject({ pointer: '/contact_email' });
  });
});

describe('a test send', () => {
  test('puts the draft with its examples into the test inbox', async () => {
    const accepted = await post('/templates/preview/test-send', {
      to: { email: 'author@example.com' },
      from: { email: 'hello@example.org' },
    });
    expect([accepted.status, accepted.json.template]).toEqual([
      202,
      { key: 'preview', version: 'draft' },
    ]);
    expect(accepted.headers.get('location')).toBe(`/api/v1/messages/${accepted.json.id}`);
    const { message } = await ok(get('/test/inbox/wait?to=author@example.com'));
    expect(message.subject).toBe('Hi Max');
  });

  test('needs both scopes, and a sender', async () => {
    const body = { to: { email: 'author@example.com' } };
    expect((await post('/templates/preview/test-send', body)).json.errors[0].pointer).toBe('/from');
    const sender = await app.newKey({ scopes: ['send:transactional'] });
    const refused = await app.call('POST', '/templates/preview/test-send', { body, key: sender });
    expect(refused.json.code).toBe('insufficient_scope');
    expect((await post('/templates/none/test-send', body)).status).toBe(404);
  });

  test('with a live key sends a draft only as a test', async () => {
    const draft = { template_key: 'preview', template_version: 'draft' };
    const { subject: _, html: __, ...envelope } = validMessage(draft);
    const sent = await app.call('POST', '/transactional/send', {
      body: envelope,
      key: app.liveKey,
    });
    expect(sent.json.errors[0]).toMatchObject({ pointer: '/template_version' });
    const body = { to: { email: 'a@example.com' }, from: { email: 'x@example.org' } };
    const test = await app.call('POST', '/templates/preview/test-send', { body, key: app.liveKey });
    expect(test.json.code).toBe('domain_not_owned');
  });
});
