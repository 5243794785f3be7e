import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';

/** Invalid input gets an error that names every field, and changes nothing: the list of messages stays empty. */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const long = (length: number): string => 'x'.repeat(length);

const WRONG: [string, Record<string, unknown>, string, string][] = [
  ['no recipient', { to: undefined }, '/to', 'required'],
  ['no sender', { from: undefined }, '/from', 'required'],
  ['an address without @', { to: { email: 'jane' } }, '/to/email', 'invalid_email'],
  [
    'a display name in the address',
    { to: { email: 'J <j@example.com>' } },
    '/to/email',
    'invalid_email',
  ],
  [
    'a header smuggled into an address',
    { to: { email: 'user@good.com\r\nBcc: x@evil.com' } },
    '/to/email',
    'invalid_email',
  ],
  [
    'a header smuggled into a name',
    { from: { email: 'a@b.co', name: 'A\r\nBcc: x@evil.com' } },
    '/from/name',
    'invalid_text',
  ],
  ['a line break in the subject', { subject: 'Hi\r\nBcc: x@evil.com' }, '/subject', 'invalid_text'],
  ['NUL in the subject', { subject: 'a\0b' }, '/subject', 'invalid_text'],
  ['half of a surrogate pair', { html: '<p>\ud800</p>' }, '/html', 'invalid_text'],
  ['an unknown field', { too: 1 }, '/too', 'unknown_field'],
  ['a field of the wrong type', { subject: 5 }, '/subject', 'invalid_type'],
  [
    'too many recipients',
    { cc: Array.from({ length: 50 }, (_, i) => ({ email: `r${i}@example.com` })) },
    '',
    'too_many_recipients',
  ],
  [
    'a reserved header',
    { headers: { 'DKIM-Signature': 'x' } },
    '/headers/DKIM-Signature',
    'reserved_header',
  ],
  ['a header with a line break', { headers: { 'X-A': 'a\nb' } }, '/headers/X-A', 'invalid_text'],
  ['a header name with a colon', { headers: { 'X:A': 'b' } }, '/headers/X:A', 'invalid_header'],
  [
    'too many headers',
    { headers: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, ''])) },
    '/headers',
    'too_many_headers',
  ],
  ['a header that is too long', { headers: { 'X-A': long(2048) } }, '/headers/X-A', 'too_long'],
  [
    'an unsubscribe URL too long for a header line',
    { headers: { 'List-Unsubscribe': `<https://example.com/${long(1_000)}>` } },
    '/headers/List-Unsubscribe',
    'invalid_header_value',
  ],
  [
    'an unsubscribe URL made invalid by its values',
    {
      headers: { 'List-Unsubscribe': '<https://example.com/{{ who }}>' },
      variables: { who: 'zoë' },
    },
    '/headers/List-Unsubscribe',
    'invalid_header_value',
  ],
  ['a tag with a control character', { tags: ['a\tb'] }, '/tags/0', 'invalid_format'],
  ['a tag that ends with a space', { tags: ['a '] }, '/tags/0', 'invalid_format'],
  ['a tag of 256 characters', { tags: ['a'.repeat(256)] }, '/tags/0', 'too_long'],
  ['the tag of system mail', { tags: ['postrider:system'] }, '/tags/0', 'invalid_value'],
  ['too many tags', { tags: Array.from({ length: 11 }, (_, i) => `t${i}`) }, '/tags', 'too_many'],
  [
    'a metadata name that is too long',
    { metadata: { [long(65)]: 'a' } },
    `/metadata/${long(65)}`,
    'invalid_name',
  ],
  ['metadata without a name', { metadata: { '': 'a' } }, '/metadata/', 'invalid_name'],
  ['metadata that is not text', { metadata: { a: 1 } }, '/metadata/a', 'invalid_type'],
  [
    'too much metadata',
    { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v'])) },
    '/metadata',
    'too_many',
  ],
  [
    'a time without an offset',
    { scheduled_at: '2030-01-01T00:00:00' },
    '/scheduled_at',
    'invalid_time',
  ],
  [
    'a time that has passed',
    { scheduled_at: '2020-01-01T00:00:00Z' },
    '/scheduled_at',
    'invalid_time',
  ],
  [
    'a time too far ahead',
    { scheduled_at: new Date(Date.now() + 31 * 86_400_000).toISOString() },
    '/scheduled_at',
    'invalid_time',
  ],
  [
    'a time that does not exist',
    { scheduled_at: '2030-02-31T25:00:00Z' },
    '/scheduled_at',
    'invalid_time',
  ],
  ['a ttl of zero', { ttl_seconds: 0 }, '/ttl_seconds', 'out_of_range'],
  [
    'an attachment that is not base64',
    { attachments: [{ filename: 'a', content: '§§' }] },
    '/attachments/0/content',
    'invalid_base64',
  ],
  [
    'an attachment in a folder',
    { attachments: [{ filename: '../a', content: '' }] },
    '/attachments/0/filename',
    'invalid_filename',
  ],
  [
    'an odd media type',
    { attachments: [{ filename: 'a', content: '', content_type: 'pdf' }] },
    '/attachments/0/content_type',
    'invalid_media_type',
  ],
  [
    'two attachments with the same content_id',
    {
      attachments: [
        { filename: 'a.png', content: '', content_id: 'logo' },
        { filename: 'b.png', content: '', content_id: 'Logo' },
        { filename: 'c.png', content: '', content_id: 'logo' },
      ],
    },
    '/attachments/2/content_id',
    'duplicate',
  ],
  [
    'a variable named contact',
    { variables: { contact: {} } },
    '/variables/contact',
    'reserved_name',
  ],
  ['a subject that is too long', { subject: long(999) }, '/subject', 'too_long'],
  ['html that is too long', { html: long(2 * 1024 * 1024 + 1) }, '/html', 'too_long'],
  ['a time zone that does not exist', { time_zone: 'Mars/Base' }, '/time_zone', 'invalid_value'],
  [
    'a draft with no template',
    { template_version: 'draft' },
    '/template_version',
    'content_conflict',
  ],
];

test('NUL in one field hides no errors of the others', async () => {
  const { status, json } = await app.call('POST', '/transactional/send', {
    body: validMessage({ subject: 'a\0b', to: { email: 'nobody' }, tags: ['not ok! '] }),
  });
  expect(status).toBe(422);
  const pointers = json.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted();
  expect(pointers).toEqual(['/subject', '/tags/0', '/to/email']);
});

test('a tag of another type is not called reserved', async () => {
  const { json } = await app.call('POST', '/transactional/send', {
    body: validMessage({ tags: [1] }),
  });
  const detail = 'Must be of type string.';
  expect(json.errors).toEqual([{ pointer: '/tags/0', code: 'invalid_type', detail }]);
});

test.each(WRONG)('%s', async (_, changes, pointer, code) => {
  const answer = await app.call('POST', '/transactional/send', { body: validMessage(changes) });
  expect(answer.status).toBe(422);
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(answer.json.errors).toContainEqual(expect.objectContaining({ pointer, code }));
  expect(answer.json.request_id).toBe(answer.headers.get('x-request-id'));
});

test('a name of megabytes is not repeated in the response', async () => {
  const name = 'k'.repeat(5_000_000);
  for (const changes of [{ [name]: 1 }, { metadata: { [name]: 'a' } }]) {
    const { status, text, json } = await app.call('POST', '/transactional/send', {
      body: validMessage(changes),
    });
    expect(status).toBe(422);
    expect(json.errors[0].pointer).toMatch(/k{1000}…$/);
    expect(text.length).toBeLessThan(10_000);
  }
});

test('all errors are reported at once', async () => {
  const body = validMessage({ to: { email: 'x' }, cc: [{ email: 'y' }], tags: ['a\nb'], extra: 1 });
  const { json } = await app.call('POST', '/transactional/send', { body });
  const pointers = json.errors.map((error: { pointer: string }) => error.pointer).sort();
  expect(pointers).toEqual(['/cc/0/email', '/extra', '/tags/0', '/to/email']);
});

test('type errors and value errors are reported in one response', async () => {
  const errorsFor = async (changes: object) => {
    const body = { ...validMessage(), ...changes };
    const { json } = await app.call('POST', '/transactional/send', { body });
    const pointers = json.errors.map((error: { pointer: string }) => error.pointer).sort();
    return [json.code, ...pointers];
  };
  const misshapen = { extra: 1, headers: { From: 'x' }, time_zone: 'Mars/Base' };
  expect(await errorsFor({ ...misshapen, from: undefined })).toEqual([
    'validation_failed',
    ...['/extra', '/from', '/headers/From', '/time_zone'],
  ]);
  expect(await errorsFor({ subject: undefined, subjct: 'Hello' })).toEqual([
    'validation_failed',
    ...['/subject', '/subjct'].sort(),
  ]);
  const absent = { from: undefined, html: undefined };
  expect(await errorsFor({ ...absent, to: { email: 'x' } })).toEqual([
    'validation_failed',
    ...['/from', '/html', '/to/email'],
  ]);
  expect(await errorsFor(absent)).toEqual(['content_missing', '/from', '/html']);
  // Unknowable errors are not reported: here the template might have a sender.
  const template = { subject: undefined, html: undefined, from: undefined, template_key: 'No!' };
  expect(await errorsFor(template)).toEqual(['validation_failed', '/template_key']);
});

test('for a field with two formats, the error refers to the intended one', async () => {
  const detailOf = async (reply_to: unknown): Promise<string> => {
    const body = validMessage({ reply_to });
    const { json } = await app.call('POST', '/transactional/send', { body });
    expect(json.errors).toHaveLength(1);
    return json.detail;
  };
  const many = Array.from({ length: 11 }, (_, i) => ({ email: `r${i}@example.com` }));
  expect(await detailOf(many)).toBe('/reply_to: Must have at most 10 items.');
  expect(await detailOf({ name: 'Jane' })).toBe('/reply_to/email: This field is required.');
  expect(await detailOf([{ email: 5 }])).toBe('/reply_to/0/email: Must be of type string.');
  expect(await detailOf(5)).toBe('/reply_to: Must be of type object or array.');
});

test('an address given as a string or an array gets a format hint', async () => {
  const form = 'Must be an address object: {"email": "jane@example.com", "name": "Jane"}';
  const from = { pointer: '/from', code: 'invalid_type', detail: `${form}.` };
  for (const [to, error] of [
    [['jane@example.com'], { pointer: '/to/0', detail: `${form}.` }],
    ['jane@example.com', { pointer: '/to', detail: `${form}, or a list of them.` }],
  ] as const) {
    const body = validMessage({ from: 'Acme <hello@example.org>', to });
    const { json } = await app.call('POST', '/transactional/send', { body });
    expect(json.errors).toEqual([{ ...error, code: 'invalid_type' }, from]);
  }
});

test('an error of the whole body has no pointer', async () => {
  const recipients = Array.from({ length: 50 }, (_, i) => ({ email: `r${i}@example.com` }));
  const answers = await Promise.all([
    app.call('POST', '/transactional/send', { body: validMessage({ cc: recipients }) }),
    app.call('POST', '/transactional/send', { body: [] }),
  ]);
  expect(answers.map(({ json }) => json.detail)).toEqual([
    'A message can have at most 50 recipients; this one has 51.',
    'Must be of type object.',
  ]);
});

test('a higher recipient limit applies to all recipient fields', async () => {
  await using wide = await startApp({ env: { ROLES: 'api', RECIPIENTS_MAX: '80' } });
  const cc = Array.from({ length: 79 }, (_, i) => ({ email: `r${i}@example.com` }));
  const { status, json } = await wide.call('POST', '/transactional/send', {
    body: validMessage({ cc }),
  });
  expect([status, json.recipients?.length]).toEqual([202, 80]);
});

test('an unknown template is reported with its pointer', async () => {
  const body = { ...validMessage(), subject: undefined, html: undefined, template_key: 'none' };
  const { json } = await app.call('POST', '/transactional/send', { body });
  expect(json.errors).toEqual([
    { pointer: '/template_key', code: 'template_not_found', detail: json.detail },
  ]);
});

test('content is either inline or a template', async () => {
  const codeOf = async (changes: object): Promise<string> => {
    const body = { ...validMessage(), ...changes };
    return (await app.call('POST', '/transactional/send', { body })).json.code;
  };
  expect(await codeOf({ template_key: 'welcome' })).toBe('content_conflict');
  expect(await codeOf({ subject: undefined, html: undefined })).toBe('content_missing');
  expect(await codeOf({ html: undefined })).toBe('content_missing');
  expect(await codeOf({ placeholders: false, variables: { a: 1 } })).toBe('content_conflict');
  expect(await codeOf({ template_variables: { a: 1 } })).toBe('content_conflict');
  expect(await codeOf({ subject: undefined, html: undefined, template_key: 'none' })).toBe(
    'template_not_found',
  );
});

test('a message without content is refused, whether as sent or with its values; an empty subject is not', async () => {
  const send = async (changes: Record<string, unknown>, path = '/transactional/send') => {
    const body = validMessage(changes);
    const { status, json } = await app.call('POST', path, { body });
    const pointers = (json.errors ?? []).map((error: { pointer: string }) => error.pointer);
    return [status, json.code, ...pointers];
  };
  const refused = [422, 'content_missing'];
  expect(await send({ subject: '', html: '' })).toEqual([...refused, '/html']);
  expect(await send({ html: ' \n', text: '' })).toEqual([...refused, '/html']);
  expect(await send({ html: undefined, text: '' })).toEqual([...refused, '/text']);
  expect(await send({ html: '', placeholders: false })).toEqual([...refused, '/html']);
  expect(await send({ html: '' }, '/transactional/dry-run')).toEqual([...refused, '/html']);
  expect(await send({ html: '${body}', variables: { body: '' } })).toEqual([...refused, '/html']);
  expect(await send({ html: '', to: { email: 'nobody' }, from: undefined })).toEqual([
    ...[422, 'validation_failed', '/to/email', '/from', '/html'],
  ]);
  const template = { key: 'maybe-empty', subject: 'x', html: '{% if on %}<p>On</p>{% endif %}' };
  expect((await app.call('POST', '/templates', { body: template })).status).toBe(201);
  expect((await app.call('POST', '/templates/maybe-empty/publish', { body: {} })).status).toBe(200);
  const templated = { subject: undefined, html: undefined, template_key: 'maybe-empty' };
  const off = { ...templated, template_variables: { on: false } };
  expect(await send(off)).toEqual([...refused, '/template_key']);
  const checked = async (changes: Record<string, unknown>) =>
    (await send(changes, '/transactional/dry-run'))[0];
  expect(await checked({ ...templated, template_variables: { on: true } })).toBe(200);

  expect(await checked({ subject: '' })).toBe(200);
  expect(await checked({ html: '', text: 'Only text' })).toBe(200);
  const attachments = [{ filename: 'scan.pdf', content: 'JVBERi0=' }];
  expect(await checked({ html: '', attachments })).toBe(200);
});

test('values in the field of the other kind of content are pointed at', async () => {
  const send = async (changes: object) =>
    (await app.call('POST', '/transactional/send', { body: { ...validMessage(), ...changes } }))
      .json.errors;
  const template = { subject: undefined, html: undefined, template_key: 'welcome' };
  expect(await send({ ...template, variables: { name: 'Jane' } })).toEqual([
    {
      pointer: '/variables',
      code: 'content_conflict',
      detail: 'The values of a template are given in template_variables, not in variables.',
    },
  ]);
  expect(await send({ template_variables: { name: 'Jane' } })).toEqual([
    {
      pointer: '/template_variables',
      code: 'content_conflict',
      detail: 'The values of inline content are given in variables, not in template_variables.',
    },
  ]);
});

test('placeholders without a value are reported with their position, and nothing is accepted', async () => {
  const body = validMessage({
    subject: 'Hi ${first_name}',
    html: '<p>\n  {{ order.total }} and {{ nick | default: "you" }}</p>',
    text: '{{ empty }}',
    variables: { empty: '', order: { total: null } },
  });
  const { status, json } = await app.call('POST', '/transactional/send', { body });
  expect(status).toBe(422);
  expect(json.code).toBe('missing_variables');
  expect(json.errors).toEqual([
    expect.objectContaining({ path: 'first_name', pointer: '/subject', line: 1, column: 4 }),
    expect.objectContaining({ path: 'order.total', pointer: '/html', line: 2, column: 3 }),
  ]);
});

test('an unclosed placeholder is a syntax error with its position', async () => {
  const body = validMessage({ html: '<p>{{ name </p>' });
  const { json } = await app.call('POST', '/transactional/send', { body });
  expect(json.code).toBe('template_syntax');
  expect(json.errors[0]).toMatchObject({ pointer: '/html', line: 1 });
});

test('a live key sends only from a domain of its workspace', async () => {
  const call = { key: app.liveKey, body: validMessage() };
  const { status, json } = await app.call('POST', '/transactional/send', call);
  expect(status).toBe(403);
  expect(json.code).toBe('domain_not_owned');
});

test('a key restricted to domains cannot send from others', async () => {
  const key = await app.newKey({ allowedDomains: ['example.net'] });
  const { status, json } = await app.call('POST', '/transactional/send', {
    key,
    body: validMessage(),
  });
  expect(status).toBe(403);
  expect(json.code).toBe('domain_not_allowed');
});

test('a dry run renders everything and stores nothing', async () => {
  const body = validMessage({
    subject: 'Hi ${name}',
    html: '<p>{{ name }}</p>',
    variables: { name: '<Jane>' },
    bcc: [{ email: 'secret@example.com' }],
  });
  const { status, json } = await app.call('POST', '/transactional/dry-run', { body });
  expect(status).toBe(200);
  expect(json).toMatchObject({ subject: 'Hi <Jane>', html: '<p>&lt;Jane&gt;</p>', text: '<Jane>' });
  expect(json.headers.map((header: { name: string }) => header.name)).toContain('Message-ID');
  expect(JSON.stringify(json)).not.toContain('secret@example.com');
});

test('after all these requests no message exists', async () => {
  expect((await app.call('GET', '/messages')).json.data).toEqual([]);
  expect((await app.call('GET', '/messages', { key: app.liveKey })).json.data).toEqual([]);
});

test('the most likely correction is suggested', async () => {
  const body = {
    ...validMessage(),
    html: undefined,
    replyTo: 'a@example.com',
    Tags: [],
    texxt: 'Hi',
  };
  const { json } = await app.call('GET', '/messages?recipent=a@example.com');
  expect(json.errors).toEqual([
    expect.objectContaining({
      parameter: 'recipent',
      detail: expect.stringContaining('recipient?'),
    }),
  ]);
  const sent = await app.call('POST', '/transactional/send', { body });
  expect(detailsOf(sent.json.errors)).toMatchObject({
    '/replyTo': 'Unknown field. Did you mean reply_to?',
    '/Tags': 'Unknown field. Did you mean tags?',
    '/texxt': 'Unknown field. Did you mean text?',
  });
});

function detailsOf(errors: { pointer: string; detail: string }[]): Record<string, string> {
  return Object.fromEntries(errors.map(({ pointer, detail }) => [pointer, detail]));
}
