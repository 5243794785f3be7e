import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse, validMessage } from '../../harness/app.ts';
import { type CommandResult, databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { createTempDir } from '../../harness/temp-dir.ts';

/**
 * A folder and a server are kept in sync in both directions without losing a byte; a push is atomic.
 * The command line runs as users run it, next to a running server.
 */

let app: TestApp;
let scratch: Awaited<ReturnType<typeof createTempDir>>;
let directory: string;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
  scratch = await createTempDir();
  directory = scratch.path;
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await scratch[Symbol.asyncDispose]();
});

const templates = (...args: string[]): Promise<CommandResult> =>
  runPostrider(['templates', ...args], { env: databaseEnv(app.database) });

async function ok(answer: Promise<TestResponse>): Promise<TestResponse['json']> {
  const { status, json, text } = await answer;
  expect([status < 300, text]).toEqual([true, text]);
  return json;
}

const post = (url: string, body: unknown = {}) => ok(app.call('POST', url, { body }));
const get = (url: string) => ok(app.call('GET', url));

async function put(file: string, text: string): Promise<void> {
  await mkdir(path.join(directory, path.dirname(file)), { recursive: true });
  await writeFile(path.join(directory, file), text);
}

async function tree(folder = directory): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = files.map(async (entry) => {
    const file = path.join(entry.parentPath, entry.name);
    return [path.relative(folder, file), await readFile(file, 'utf8')] as const;
  });
  return Object.fromEntries((await Promise.all(texts)).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Text that editors, shells and JSON tend to change. */
const NASTY = 'Grüße\t\u2028 "quoted" \\ back\r\nlast line without an end 😀';

test('pull writes readable files, and pushing them changes nothing', async () => {
  await post('/partials', { key: 'footer', html: '<p>F</p>\n', text: 'F' });
  await post('/layouts', { key: 'main', html: '<div>{{ content }}{% render "footer" %}</div>' });
  await post('/templates', {
    key: 'welcome',
    name: 'Welcome',
    subject: 'Hi ${name}',
    html: `<p>{{ name }}</p>\n${NASTY}`,
    text: NASTY,
    layout: 'main',
    from: { email: 'shop@example.org', name: 'Shop' },
    reply_to: [{ email: 'help@example.org' }],
    locales: { de: { subject: 'Hallo ${name}' }, 'zh-Hant': { html: '<p>{{ name }}</p>' } },
    variables: [{ name: 'name', type: 'string', example: 'Jane', secret: true }],
  });
  await post('/templates', { key: 'layouts', subject: 'An odd key', html: 'x' });
  const pulled = await templates('pull', directory);
  expect([pulled.code, pulled.stderr]).toEqual([0, '']);
  expect(await tree()).toEqual({
    'layouts~/html.liquid': 'x',
    'layouts~/subject.txt': 'An odd key\n',
    'layouts~/template.json': '{\n  "name": "layouts"\n}\n',
    'layouts/main/html.liquid': '<div>{{ content }}{% render "footer" %}</div>',
    'layouts/main/layout.json': '{\n  "name": "main"\n}\n',
    'partials/footer/html.liquid': '<p>F</p>\n',
    'partials/footer/partial.json': '{\n  "name": "footer"\n}\n',
    'partials/footer/text.liquid': 'F',
    'welcome/html.liquid': `<p>{{ name }}</p>\n${NASTY}`,
    'welcome/locales/de/subject.txt': 'Hallo ${name}\n',
    'welcome/locales/zh-Hant/html.liquid': '<p>{{ name }}</p>',
    'welcome/subject.txt': 'Hi ${name}\n',
    'welcome/template.json': expect.stringContaining('"secret": true'),
    'welcome/text.liquid': NASTY,
  });
  const before = await get('/templates/welcome');
  const pushed = await templates('push', directory, '--json');
  expect(pushed.code).toBe(0);
  expect(JSON.parse(pushed.stdout)).toMatchObject([
    { kind: 'layout', key: 'main', draft: 'unchanged', published_version: null },
    { kind: 'template', key: 'layouts', draft: 'unchanged' },
    { kind: 'partial', key: 'footer', draft: 'unchanged' },
    { kind: 'template', key: 'welcome', draft: 'unchanged' },
  ]);
  expect(await get('/templates/welcome')).toEqual(before);
  const same = await templates('diff', directory);
  expect([same.code, same.stdout.trim()]).toEqual([0, 'No differences.']);
});

test('edits show up in diff, are pushed as drafts, and are used by sends once published', async () => {
  await put('welcome/subject.txt', 'Welcome, ${name}');
  await put('fresh/subject.txt', 'Fresh\n');
  await put('fresh/html.liquid', '<p>{{ content_of_today }}</p>');
  await put('fresh/source.mjml', '<mjml></mjml>');
  await put('notes/README.md', '# not a template');
  const differs = await templates('diff', directory, '--json');
  expect(differs.code).toBe(1);
  expect(JSON.parse(differs.stdout)).toMatchObject([
    { file: 'fresh/html.liquid', state: 'only_local' },
    { file: 'fresh/subject.txt', state: 'only_local' },
    { file: 'fresh/template.json', state: 'only_local' },
    {
      file: 'welcome/subject.txt',
      state: 'differs',
      diff: expect.stringContaining('-Hi ${name}\n+Welcome, ${name}'),
    },
  ]);
  const pushed = await templates('push', directory);
  expect(pushed.stdout).toContain('fresh: created');
  expect(pushed.stdout).toContain('  fresh/html.liquid (line 1, column 1): There is no preheader');
  expect(pushed.stdout).toContain('welcome: changed');
  expect(await get('/templates/fresh')).toMatchObject({
    subject: 'Fresh',
    published_version: null,
  });

  const published = await templates('push', directory, '--publish', '--note', 'from git', '--json');
  const versions = JSON.parse(published.stdout).map(
    (one: { key: string; published_version: number }) => [one.key, one.published_version],
  );
  expect(versions).toEqual([
    ['fresh', 1],
    ['main', 1],
    ['layouts', 1],
    ['footer', 1],
    ['welcome', 1],
  ]);
  const { data } = await get('/templates/welcome/versions');
  expect(data[0]).toMatchObject({ note: 'from git', published_by: 'cli' });
  const { subject: _, html: __, ...envelope } = validMessage();
  const sent = await post('/transactional/dry-run', {
    ...envelope,
    template_key: 'welcome',
    template_variables: { name: 'Jane' },
  });
  expect(sent.subject).toBe('Welcome, Jane');
  const again = await templates('push', directory, '--publish', '--json');
  expect(
    JSON.parse(again.stdout).every(
      (one: { published_version: null }) => one.published_version === null,
    ),
  ).toBe(true);
});

test('a push with any error changes nothing, and reports files and positions', async () => {
  const before = [await get('/templates/welcome'), await get('/partials/footer')];
  const good = await readFile(path.join(directory, 'partials/footer/html.liquid'), 'utf8');
  await put('partials/footer/html.liquid', '<p>changed</p>');
  await put('welcome/locales/de/subject.txt', 'Hallo\u0020${name');
  await put('welcome/template.json', '{"from": {"email": "nobody"}, "colour": "red"}');
  const fields = await templates('push', directory, '--publish');
  expect(fields.code).toBe(2);
  expect(fields.stderr).toContain('welcome/template.json');
  expect(fields.stderr).toContain('Unknown field.');

  await put('welcome/template.json', '{"layout": "main"}');
  const syntax = await templates('push', directory, '--publish');
  expect(syntax.code).toBe(2);
  expect(syntax.stderr).toContain('welcome/locales/de/subject.txt (line 1, column 7)');
  await put('welcome/template.json', '{"layout": ');
  expect((await templates('push', directory)).stderr).toContain('welcome/template.json');
  expect([await get('/templates/welcome'), await get('/partials/footer')]).toEqual(before);
  expect((await templates('push', path.join(directory, 'nowhere'))).code).toBe(2);

  const pulled = await templates('pull', directory);
  expect(pulled.stdout).toContain('wrote    welcome/template.json');
  expect(await readFile(path.join(directory, 'partials/footer/html.liquid'), 'utf8')).toBe(good);
  expect((await templates('diff', directory)).code).toBe(0);
});

test('an unfinished draft of another author does not stop a push, but is not published by it', async () => {
  await using other = await createTempDir();
  const folder = path.join(other.path, 'all');
  const html = '<p>{% if x %} to be continued';
  await post('/templates', { key: 'unfinished', subject: 's', html });
  await post('/templates', { key: 'mine', subject: 's', html: '<p>mine</p>' });
  expect((await templates('pull', folder)).code).toBe(0);
  await writeFile(path.join(folder, 'mine/html.liquid'), '<p>changed</p>');
  const pushed = await templates('push', folder);
  expect([pushed.code, pushed.stderr]).toEqual([0, '']);
  expect(pushed.stdout).toContain('mine: changed');
  expect(pushed.stdout).toContain('unfinished/html.liquid (line 1, column 4)');
  expect((await get('/templates/mine')).html).toBe('<p>changed</p>');

  const published = await templates('push', folder, '--publish');
  expect([published.code, published.stderr]).toEqual([
    2,
    expect.stringContaining('unfinished/html.liquid'),
  ]);
  await writeFile(path.join(folder, 'unfinished/html.liquid'), `${html} soon`);
  expect((await templates('push', folder)).code).toBe(2);
  expect((await get('/templates/unfinished')).html).toBe(html);
  for (const key of ['unfinished', 'mine']) {
    expect((await app.call('DELETE', `/templates/${key}`)).status).toBeLessThan(300);
  }
});

test('files that cannot be read or written are reported in one sentence', async () => {
  await using odd = await createTempDir();
  await mkdir(path.join(odd.path, 'welcome', 'html.liquid'), { recursive: true });
  const pushed = await templates('push', odd.path);
  expect([pushed.code, pushed.stdout]).toEqual([2, '']);
  expect(pushed.stderr).toMatch(/welcome\/html\.liquid: Not a regular file\.\n$/);
  await rm(path.join(odd.path, 'welcome', 'html.liquid'), { recursive: true });
  execFileSync('mkfifo', [path.join(odd.path, 'welcome', 'html.liquid')]);
  for (const command of ['push', 'diff']) {
    const waiting = await templates(command, odd.path);
    expect(waiting.stderr).toMatch(/welcome\/html\.liquid: Not a regular file\.\n$/);
  }

  const file = path.join(odd.path, 'file');
  await writeFile(file, '');
  const pulled = await templates('pull', path.join(file, 'below'));
  expect([pulled.code, pulled.stdout]).toEqual([1, '']);
  expect(pulled.stderr).toMatch(/^ENOTDIR: [^\n]+\n$/);
});

test('templates and partials that depend on each other are published together', async () => {
  // Each of these would be rejected alone: the template needs the partial, the partial needs its text.
  await put('partials/footer/html.liquid', '<p>F</p>{% render "fine.print" %}');
  await put('partials/fine.print/html.liquid', '<small>small</small>');
  await rm(path.join(directory, 'partials/footer/text.liquid'));
  const published = await templates('push', directory, '--publish');
  expect([published.code, published.stderr]).toEqual([0, '']);
  expect(published.stdout).toContain('partials/fine.print: created, published as version 1');
  expect(published.stdout).toContain('partials/footer: changed, published as version 2');
  expect((await get('/partials/footer')).text).toBeNull();
});

test('pull removes files of deleted template parts and nothing else', async () => {
  await ok(
    app.call('PATCH', '/templates/welcome', { body: { locales: { de: null }, text: null } }),
  );
  const pulled = await templates('pull', directory, '--json');
  expect(JSON.parse(pulled.stdout)).toEqual({
    written: ['partials/fine.print/partial.json'],
    removed: expect.arrayContaining(['welcome/locales/de/subject.txt', 'welcome/text.liquid']),
  });
  const files = Object.keys(await tree());
  expect(files).toContain('notes/README.md');
  expect(files).toContain('fresh/source.mjml');
  expect(await readdir(path.join(directory, 'welcome/locales'))).toEqual(['zh-Hant']);
});

test('a folder can be pushed to another workspace', async () => {
  const second = await app.app.workspaces.create('Second');
  const key = await app.newKey({ workspaceId: second.id });
  const pushed = await templates('push', directory, '--workspace', 'Second', '--publish');
  expect([pushed.code, pushed.stderr]).toEqual([0, '']);
  const here = await get('/templates/welcome');
  const there = await ok(app.call('GET', '/templates/welcome', { key }));
  for (const field of ['name', 'subject', 'html', 'text', 'locales', 'variables', 'layout']) {
    expect(there[field]).toEqual(here[field]);
  }
});

/** As generated by MJML 4, shortened. */
const MJML = `<!doctype html><html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"><head><title></title><!--[if !mso]><!--><meta http-equiv="X-UA-Compatible" content="IE=edge"><!--<![endif]--><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"><style type="text/css">#outlook a { padding:0; } body { margin:0;padding:0; } table, td { border-collapse:collapse;mso-table-lspace:0pt;mso-table-rspace:0pt; } p { display:block;margin:13px 0; }</style><!--[if mso]><noscript><xml><o:OfficeDocumentSettings><o:AllowPNG/><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml></noscript><![endif]--><style type="text/css">@media only screen and (min-width:480px) { .mj-column-per-100 { width:100% !important; max-width: 100%; } }</style></head><body style="word-spacing:normal;"><div><!--[if mso | IE]><table align="center" border="0" cellpadding="0" cellspacing="0" style="width:600px;" width="600" ><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]--><div style="margin:0px auto;max-width:600px;"><table align="center" border="0" role="presentation" style="width:100%;"><tbody><tr><td align="left"><div>Hello {{ first_name | default: "there" }}</div></td></tr>{% for line in order.lines %}<tr><td align="left"><div>{{ line.name }}: {{ line.price | money: "EUR" }}</div></td></tr>{% endfor %}</tbody></table></div><!--[if mso | IE]></td></tr></table><![endif]--></div></body></html>`;

/** As generated by React Email, shortened. */
const REACT = `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd"><!--$--><html dir="ltr" lang="en"><head></head><div style="display:none;overflow:hidden;line-height:1px;opacity:0;max-height:0;max-width:0" data-skip-in-text="true">Good to have you<div> ‌​‍‎‏﻿</div></div><body><p style="font-size:14px;line-height:24px">Hello <!-- -->{{ first_name }}<!-- -->,</p><a href="{{ start_link }}" style="line-height:100%;text-decoration:none;display:inline-block" target="_blank"><span><!--[if mso]><i style="mso-font-width:0%;mso-text-raise:0" hidden></i><![endif]--></span><span style="max-width:100%">Start</span></a></body></html><!--/$-->`;

test.each([
  ['mjml', MJML, { order: { lines: [{ name: 'Tea', price: 3 }] } }, ['Hello there', 'Tea: €3.00']],
  [
    'react-email',
    REACT,
    { first_name: 'Jane', start_link: 'https://app.example/?a=1&b=2' },
    ['Hello <!-- -->Jane<!-- -->,', 'href="https://app.example/?a=1&amp;b=2"'],
  ],
])('HTML generated by %s can be pushed', async (key, html, values, expected) => {
  await put(`${key}/subject.txt`, 'Made elsewhere\n');
  await put(`${key}/html.liquid`, html);
  const pushed = await templates('push', directory, '--publish');
  expect([pushed.code, pushed.stderr]).toEqual([0, '']);
  const { subject: _, html: __, ...envelope } = validMessage();
  const sent = await post('/transactional/dry-run', {
    ...envelope,
    template_key: key,
    template_variables: values,
  });
  for (const piece of expected) expect(sent.html).toContain(piece);
});
