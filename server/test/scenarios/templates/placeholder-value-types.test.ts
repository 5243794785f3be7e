import { Parser } from 'htmlparser2';
import PostalMime, { decodeWords, type Email } from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, type TestResponse } from '../../harness/app.ts';

/**
 * Every field of a message accepts every kind of value, in both placeholder syntaxes, and the recipient reads
 * exactly that value. One message per kind has the value in all fields; its bytes are parsed with another mail
 * parser and another HTML parser, and compared with a table.
 */

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { ROLES: 'api' } });
});
afterAll(() => app[Symbol.asyncDispose]());

const HUGE = 'wide '.repeat(40).trim();

/** The kind, the value, and what a reader sees, except in the listed fields. */
const KINDS: [string, unknown, string, Partial<Record<'line' | 'link', string>>?][] = [
  ['plain text', 'Jane Doe', 'Jane Doe'],
  ['an empty text', '', ''],
  ['zero', 0, '0'],
  ['a negative fraction', -12.5, '-12.5'],
  ['the largest number', 1e21, '1e+21'],
  ['true', true, 'true'],
  ['false', false, 'false'],
  ['characters of many scripts', 'Zoë Żółć 日本語 😀👩‍👩‍👧', 'Zoë Żółć 日本語 😀👩‍👩‍👧'],
  ['combining characters', 'e\u0301', 'e\u0301'],
  ['right-to-left words', 'שלום עולם', 'שלום עולם'],
  ['a right-to-left override', 'a\u202eb', 'a\u202eb'],
  ['HTML', '<b onclick="x()">bold</b><!--', '<b onclick="x()">bold</b><!--'],
  [
    'a script',
    '</title></style><script>alert(1)</script>',
    '</title></style><script>alert(1)</script>',
  ],
  ['entities', '&lt;&amp;&#39;', '&lt;&amp;&#39;'],
  ['quotes', `"double" 'single' \`back\``, `"double" 'single' \`back\``],
  ['backslashes', 'a\\b\\"c', 'a\\b\\"c'],
  ['placeholders', '${other} {{ other }} {% if %}', '${other} {{ other }} {% if %}'],
  [
    'lines',
    'one\r\ntwo\nthree',
    'one\ntwo\nthree',
    { line: 'one two three', link: 'one\r\ntwo\nthree' },
  ],
  [
    'a header',
    'x\r\nBcc: victim@example.com',
    'x\nBcc: victim@example.com',
    { line: 'x Bcc: victim@example.com', link: 'x\r\nBcc: victim@example.com' },
  ],
  ['an encoded word', '=?utf-8?q?Hello?=', '=?utf-8?q?Hello?='],
  ['a huge text', HUGE, HUGE],
  ['a list of texts', ['a', '<b>', 'c'], 'a<b>c'],
  ['an empty list', [], ''],
];

const FORMS = [
  ['${v}', (path: string) => `\${${path}}`],
  ['{{ v }}', (path: string) => `{{ ${path} }}`],
] as const;

/** A message with the placeholder in every field. */
function message(v: string): Record<string, unknown> {
  return {
    to: { email: 'jane@example.com' },
    from: { email: 'hello@example.org', name: `From ${v}.` },
    reply_to: [{ email: 'help@example.org', name: `Help ${v}.` }],
    headers: { 'X-Value': `Header ${v}.` },
    subject: `Subject ${v}.`,
    html: `<title>${v}</title><p title="${v}" lang='${v}' class=${v}>${v}</p><!-- ${v} --><a href="https://example.com/?q=${v}">link</a><i style="font-family: '${v}'">style</i><b>end</b>`,
    text: `Text ${v}.`,
  };
}

async function received(body: object): Promise<Email> {
  const sent = await app.call('POST', '/transactional/send', { body });
  expect([sent.status, sent.text]).toEqual([202, sent.text]);
  const raw = await app.call('GET', `/messages/${sent.json.id}/raw`);
  return PostalMime.parse(raw.text);
}

describe.each(FORMS)('%s', (_, placeholder) => {
  const source = message(placeholder('a.v'));

  test.each(KINDS)('%s', async (_kind, value, read, exceptions = {}) => {
    const line = exceptions.line ?? read;
    const mail = await received({ ...source, variables: { a: { v: value } } });
    expect(mail.subject).toBe(`Subject ${line}.`);
    expect(mail.from?.name).toBe(`From ${line}.`);
    expect(mail.replyTo?.[0]?.name).toBe(`Help ${line}.`);
    expect(header(mail, 'x-value')).toBe(`Header ${line}.`);
    expect(mail.text?.trimEnd()).toBe(`Text ${read}.`);

    const page = readHtml(mail.html?.trimEnd() ?? '');
    const harmless = readHtml(
      (await received({ ...source, variables: { a: { v: 'v' } } })).html ?? '',
    );
    expect(page.structure).toEqual(harmless.structure);
    expect(page.texts.join('')).toBe(`${read}${read}linkstyleend`);
    expect(page.attributes.title).toBe(read);
    expect(page.attributes.lang).toBe(read);
    expect(page.attributes.class).toBe(read);
    expect(new URL(page.attributes.href ?? '').searchParams.get('q')).toBe(exceptions.link ?? read);
    expect(mail.headers.filter(({ key }) => key === 'bcc' || key === 'cc')).toEqual([]);
  });

  test.each([
    ['null', { v: null }],
    ['nothing', {}],
  ])('%s is missing in every field, and all are reported', async (_kind, a) => {
    const refused = await app.call('POST', '/transactional/send', {
      body: { ...source, variables: { a } },
    });
    expect([refused.status, refused.json.code]).toEqual([422, 'missing_variables']);
    const pointers = refused.json.errors.map((one: { pointer: string }) => one.pointer);
    expect(new Set(pointers)).toEqual(
      new Set(['/subject', '/html', '/text', '/from/name', '/reply_to/0/name', '/headers/X-Value']),
    );
    expect(pointers).toHaveLength(5 + 8);
  });

  test.each([
    ['an object', { x: 1 }],
    ['a list of objects', [{ x: 1 }]],
    ['a nested object', { x: { x: { x: { x: {} } } } }],
  ])('%s cannot be rendered as text, which is reported', async (_kind, v) => {
    const refused = await app.call('POST', '/transactional/send', {
      body: { ...source, variables: { a: { v } } },
    });
    expect([refused.status, refused.json.errors?.[0]]).toMatchObject([
      422,
      { code: 'invalid_variable', path: 'a.v' },
    ]);
  });

  test('a deeply nested value is found', async () => {
    const depth = 20;
    const path = Array.from({ length: depth }, (_, n) => `k${n}`);
    const variables = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), 'deep');
    const mail = await received({ ...message(placeholder(path.join('.'))), variables });
    expect(mail.subject).toBe('Subject deep.');
  });

  test.each([
    ['from', { from: { email: 'hello@example.org', name: placeholder('v') } }, '/from/name'],
    [
      'reply_to',
      { reply_to: { email: 'a@example.org', name: placeholder('v') } },
      '/reply_to/name',
    ],
    ['headers', { headers: { 'X-Value': placeholder('v') } }, '/headers/X-Value'],
    ['subject', { subject: placeholder('v') }, '/subject'],
  ])('a value too large for %s is rejected there', async (_place, field, pointer) => {
    const body = {
      ...{ to: { email: 'jane@example.com' }, from: { email: 'hello@example.org' } },
      ...{ subject: 'S', html: 'H', variables: { v: 'x'.repeat(5_000) }, ...field },
    };
    const refused = await app.call('POST', '/transactional/send', { body });
    expect(refused.json).toMatchObject({ status: 422, errors: [{ pointer, code: 'too_long' }] });
  });
});

describe('a reply-to address', () => {
  const send = (email: string, variables: object, more = {}) =>
    app.call('POST', '/transactional/dry-run', {
      body: {
        ...{ to: { email: 'jane@example.com' }, from: { email: 'hello@example.org' } },
        ...{ subject: 'S', html: 'H', reply_to: { email }, variables, ...more },
      },
    });
  const replyTo = (answer: TestResponse): string | undefined =>
    answer.json.headers?.find(({ name }: { name: string }) => name === 'Reply-To')?.value;

  test('is rendered and must then be a valid address', async () => {
    const ticket = { id: 4711, owner: 'max@bücher.example' };
    const plus = await send('support+${ticket.id}@example.org', { ticket });
    expect(replyTo(plus)).toBe('support+4711@example.org');
    const whole = await send('{{ ticket.owner }}', { ticket });
    expect(replyTo(whole)).toBe('max@xn--bcher-kva.example');
  });

  test.each([
    'no address',
    'a@example.org, b@example.org',
    'a@example.org\r\nBcc: victim@example.com',
    'a@example.org>',
    '',
  ])('is rejected when %j makes it invalid', async (v) => {
    const refused = await send('${v}', { v });
    expect(refused.json).toMatchObject({
      status: 422,
      errors: [{ pointer: '/reply_to/email', code: 'invalid_email' }],
    });
  });

  test('reports a missing value like any other field', async () => {
    const refused = await send('${v}@example.org', {});
    expect(refused.json).toMatchObject({
      code: 'missing_variables',
      errors: [{ pointer: '/reply_to/email', path: 'v', line: 1, column: 1 }],
    });
    expect((await send('${v@example.org', {})).json.code).toBe('template_syntax');
  });

  test('can come from the template, and a secret in it is redacted', async () => {
    const made = await app.call('POST', '/templates', {
      body: {
        ...{ key: 'ticket', subject: 'S', html: 'H' },
        reply_to: [{ email: 'support+${ticket}-${token}@example.org', name: 'Ticket ${ticket}' }],
        variables: [{ name: 'token', secret: true }],
      },
    });
    const names = made.json.variables.map((one: { name: string }) => one.name);
    expect(names.sort()).toEqual(['ticket', 'token']);
    expect((await app.call('POST', '/templates/ticket/publish')).status).toBe(200);
    const body = {
      ...{ to: { email: 'jane@example.com' }, from: { email: 'hello@example.org' } },
      ...{ template_key: 'ticket', template_variables: { ticket: 7, token: 'Zx81q9' } },
    };
    const sent = await app.call('POST', '/transactional/send', { body });
    expect([sent.status, sent.text]).toEqual([202, sent.text]);
    const content = await app.call('GET', `/messages/${sent.json.id}/content`);
    expect(replyTo(content)).toBe('Ticket 7 <redacted@redacted.invalid>');
    const lacking = await app.call('POST', '/transactional/send', {
      body: { ...body, template_variables: { token: 'x' } },
    });
    expect(lacking.json.errors[0]).toMatchObject({ pointer: '/template_variables/ticket' });
  });

  test('placeholders are rejected in sender and recipient addresses', async () => {
    for (const field of ['to', 'from', 'cc', 'bcc']) {
      const address = { email: '{{ v }}' };
      const value = field.endsWith('cc') ? [address] : address;
      const refused = await send('a@example.org', { v: 'b@example.org' }, { [field]: value });
      expect([field, refused.status]).toEqual([field, 422]);
    }
  });
});

function header(mail: Email, key: string): string {
  return decodeWords(mail.headers.find((one) => one.key === key)?.value ?? '');
}

function readHtml(html: string): {
  structure: string[];
  texts: string[];
  attributes: Record<string, string>;
} {
  const found = { structure: [] as string[], texts: [] as string[], attributes: {} };
  const parser = new Parser({
    onopentag(name, attributes) {
      found.structure.push(`<${name} ${Object.keys(attributes).join(' ')}>`);
      Object.assign(found.attributes, attributes);
    },
    onclosetag: (name) => void found.structure.push(`</${name}>`),
    oncomment: () => void found.structure.push('<!-- -->'),
    ontext: (text) => void found.texts.push(text),
  });
  parser.end(html);
  return found;
}
