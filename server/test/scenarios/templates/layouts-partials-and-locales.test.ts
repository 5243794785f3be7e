import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse, validMessage } from '../../harness/app.ts';

/**
 * A message is rendered from a template, its layout and its partials, in the recipient's locale, each as
 * published at the time of the send; changes that would break them cannot be published. The tests use the
 * API, with dry runs for the rendered content.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const post = (path: string, body: unknown = {}) => app.call('POST', path, { body });
const patch = (path: string, body: unknown) => app.call('PATCH', path, { body });

async function ok(answer: Promise<TestResponse>): Promise<TestResponse['json']> {
  const { status, json, text } = await answer;
  expect([status < 300, text]).toEqual([true, text]);
  return json;
}

async function published(
  path: string,
  body: Record<string, unknown>,
): Promise<TestResponse['json']> {
  await ok(post(path, body));
  return ok(post(`${path}/${body.key}/publish`));
}

async function republished(path: string, body: unknown): Promise<TestResponse['json']> {
  await ok(patch(path, body));
  return ok(post(`${path}/publish`));
}

function dryRun(key: string, more: Record<string, unknown> = {}): Promise<TestResponse> {
  const { subject: _, html: __, ...envelope } = validMessage();
  return post('/transactional/dry-run', { ...envelope, template_key: key, ...more });
}

describe('a layout with partials', () => {
  beforeAll(async () => {
    await published('/partials', {
      key: 'footer',
      html: '<p class="small">{{ company }}</p>',
      text: '-- {{ company }}',
    });
    await published('/layouts', {
      key: 'main',
      html: '<html><head><style>h1 { color: red } .small { color: gray } @media (max-width: 1px) { h1 { color: blue } }</style></head><body><div style="display:none">Pre</div>{{ content }}{% render "footer" %}</body></html>',
      text: '{{ content }}\n{% render "footer" %}',
    });
    await published('/templates', {
      key: 'news',
      subject: 'News for ${name}',
      html: '<h1 style="margin:0">Hello {{ name }}</h1>',
      text: 'Hello ${name}',
      layout: 'main',
      variables: [{ name: 'company', default: 'Example Ltd.' }],
    });
  });

  test('wraps the template, in HTML and text, with CSS inlined across all of them', async () => {
    const sent = await ok(dryRun('news', { template_variables: { name: 'A & B' } }));
    expect(sent.html).toContain(
      '<h1 style="color: red; margin:0">Hello A &amp; B</h1><p style="color: gray;" class="small">Example Ltd.</p>',
    );
    expect(sent.html).toContain('@media (max-width: 1px)');
    expect(sent.text).toBe('Hello A & B\n-- Example Ltd.');
  });

  test('missing variables are reported where their author wrote them', async () => {
    await republished('/partials/footer', {
      html: '<p class="small">{{ company }} {{ city }}</p>',
    });
    const lacking = await dryRun('news', { template_variables: { name: 'A' } });
    expect(lacking.json.errors).toEqual([
      expect.objectContaining({
        pointer: '/template_variables/city',
        path: 'city',
        field: 'partials.footer.html',
        line: 1,
        column: 32,
      }),
    ]);
  });

  test('publishing reports the affected templates and their new variables', async () => {
    const layout = await ok(app.call('GET', '/layouts/main'));
    const { version, touches } = await republished('/layouts/main', {
      html: layout.html.replace('{{ content }}', '{{ banner }}{{ content }}'),
    });
    expect(version).toBe(2);
    expect(touches).toEqual([{ key: 'news', version: 1, new_variables: ['banner'] }]);
    const values = { name: 'A', city: 'Wien', banner: 'Sale' };
    const sent = await ok(dryRun('news', { template_variables: values }));
    expect(sent.html).toContain('Sale<h1');
    const back = await ok(post('/layouts/main/publish', { version: 1 }));
    expect(back.touches[0].new_variables).toEqual([]);
    expect((await ok(dryRun('news', { template_variables: values }))).html).not.toContain('Sale');
    const through = await ok(post('/partials/footer/publish', { version: 1 }));
    expect(through.touches).toEqual([{ key: 'news', version: 1, new_variables: [] }]);
  });

  test('a version that would break templates is not published', async () => {
    await ok(patch('/partials/footer', { text: null }));
    const refused = await post('/partials/footer/publish');
    expect(refused.json.errors).toEqual([
      expect.objectContaining({
        code: 'breaks_template',
        detail: expect.stringContaining('The template `news` could no longer be sent'),
      }),
    ]);
    await ok(patch('/layouts/main', { html: '<p>no place for a template</p>' }));
    expect((await post('/layouts/main/publish')).json.code).toBe('template_syntax');
  });

  test('cannot be deleted while in use, unless forced', async () => {
    const refused = await app.call('DELETE', '/layouts/main');
    expect(refused.json).toMatchObject({ status: 409, code: 'conflict' });
    expect(refused.json.detail).toContain('the template "news"');
    expect((await app.call('DELETE', '/partials/footer')).status).toBe(409);
    expect((await app.call('DELETE', '/partials/footer?force=true')).status).toBe(204);
    expect((await app.call('DELETE', '/layouts/main?force=true')).status).toBe(204);
    const gone = await dryRun('news', { template_variables: { name: 'A' } });
    expect(gone.json).toMatchObject({ status: 422, code: 'template_not_found' });
    expect(gone.json.detail).toContain('layout "main"');
  });
});

describe('partials', () => {
  test('must be published, without cycles', async () => {
    await ok(post('/partials', { key: 'a', html: 'a{% render "b" %}' }));
    const lacking = await post('/partials/a/publish');
    expect(lacking.json.errors[0]).toMatchObject({
      pointer: '/html',
      code: 'partial_not_found',
      line: 1,
      column: 2,
    });
    await published('/partials', { key: 'b', html: 'b' });
    await ok(post('/partials/a/publish'));
    await ok(patch('/partials/b', { html: 'b{% render "a" %}' }));
    const circle = await post('/partials/b/publish');
    expect(circle.json.errors[0]).toMatchObject({ code: 'partial_cycle' });
    await ok(patch('/partials/b', { html: '{% render "b" %}' }));
    expect((await post('/partials/b/publish')).json.errors[0].code).toBe('partial_cycle');
  });

  test('two that would form a cycle together cannot both be published', async () => {
    await published('/partials', { key: 'x', html: 'x' });
    await published('/partials', { key: 'y', html: 'y' });
    await ok(patch('/partials/x', { html: '{% render "y" %}' }));
    await ok(patch('/partials/y', { html: '{% render "x" %}' }));
    const both = await Promise.all([post('/partials/x/publish'), post('/partials/y/publish')]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 422]);
  });

  test('a draft may use unpublished parts; a published version may not', async () => {
    await ok(post('/layouts', { key: 'new', html: '<b>{{ content }}</b>' }));
    await ok(post('/templates', { key: 'fresh', subject: 'S', html: 'H', layout: 'new' }));
    const draft = await ok(dryRun('fresh', { template_version: 'draft' }));
    expect(draft.html).toBe('<b>H</b>');
    const refused = await post('/templates/fresh/publish');
    expect(refused.json.errors[0]).toMatchObject({ pointer: '/layout', code: 'layout_not_found' });
    await ok(post('/layouts/new/publish'));
    await ok(post('/templates/fresh/publish'));
    await ok(patch('/layouts/new', { html: '<i>{{ content }}</i>' }));
    expect((await ok(dryRun('fresh', { template_version: 'draft' }))).html).toBe('<b>H</b>');
  });
});

describe('locales', () => {
  beforeAll(async () => {
    await published('/partials', {
      key: 'bye',
      html: 'Bye',
      locales: { de: { html: 'Tschüss' }, 'de-AT': { html: 'Baba' } },
    });
    await published('/templates', {
      key: 'many',
      subject: 'Hello',
      html: '{{ 1234.5 | money: "EUR" }} {% render "bye" %}',
      text: 'English',
      locales: {
        de: { subject: 'Hallo', html: 'Guten Tag {% render "bye" %}' },
        'de-AT': { subject: 'Servus' },
        fr: { subject: 'Bonjour', html: '{{ extra }}' },
      },
    });
  });

  const subjectOf = async (more: Record<string, unknown>) => {
    const { subject, html, text } = await ok(dryRun('many', more));
    return [subject, html, text];
  };

  test.each([
    ['de', ['Hallo', 'Guten Tag Tschüss', 'Guten Tag Tschüss']],
    ['de-CH', ['Hallo', 'Guten Tag Tschüss', 'Guten Tag Tschüss']],
    ['DE-at', ['Servus', 'Guten Tag Baba', 'Guten Tag Baba']],
    ['it', ['Hello', '1234,50\u00a0€ Bye', 'English']],
  ])('%s falls back by subtag and by field, also in partials', async (locale, expected) => {
    expect(await subjectOf({ locale })).toEqual(expected);
  });

  test('without one, the contact’s locale is used', async () => {
    await ok(app.call('PUT', '/contacts/hans@example.com', { body: { locale: 'de-DE' } }));
    expect((await subjectOf({ to: { email: 'hans@example.com' } }))[0]).toBe('Hallo');
    expect(
      (
        await subjectOf({
          to: { email: 'hans@example.com' },
          locale: 'fr-FR',
          template_variables: { extra: 'x' },
        })
      )[0],
    ).toBe('Bonjour');
    expect((await subjectOf({}))[0]).toBe('Hello');
  });

  test('variables of one variant are required only in its own sends', async () => {
    expect((await dryRun('many', { locale: 'fr' })).json.errors).toEqual([
      expect.objectContaining({ path: 'extra', field: 'locales.fr.html' }),
    ]);
    const schema = await ok(app.call('GET', '/templates/many/schema'));
    expect(schema.required ?? []).toEqual([]);
    expect(Object.keys(schema.properties)).toEqual(['extra']);
  });
});

test('a partial in use can start to render another one', async () => {
  await published('/partials', { key: 'stamp', html: '<i>{{ place }}</i>', text: '{{ place }}' });
  await published('/partials', { key: 'sign', html: '<p>Bye</p>', text: 'Bye' });
  await published('/templates', { key: 'letter', subject: 'S', html: '{% render "sign" %}' });
  const html = '<p>Bye {% render "stamp" %}</p>';
  const { touches } = await republished('/partials/sign', { html });
  expect(touches).toEqual([{ key: 'letter', version: 1, new_variables: ['place'] }]);
  const { html: sent } = await ok(dryRun('letter', { template_variables: { place: 'Graz' } }));
  expect(sent).toBe('<p>Bye <i>Graz</i></p>');
});
