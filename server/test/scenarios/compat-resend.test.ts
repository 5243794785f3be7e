// biome-ignore-all lint/suspicious/noTemplateCurlyInString: content with placeholders is the subject here.
import { Resend } from 'resend';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../harness/app.ts';

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
      replyTo: 'Support <support@acme.example>',
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
      from: 'Acme <hello@acme.example>',
      to: ['Jane Doe <jane@example.com>', 'joe@example.com'],
      cc: ['cc@example.com'],
      bcc: ['bcc@example.com'],
      subject: 'Costs ${5}',
      tags: [{ name: 'category', value: 'receipt' }],
    });
    expect(found.data?.text).toContain('plain {% text');
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

describe('errors', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['an invalid address', { to: 'nobody' }, /\/to/],
    ['an unknown field', { topicId: 'top_1' }, /topic_id/],
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

  test('a resource that is not offered is not found, in the same format', async () => {
    const { error } = await resend.broadcasts.list();
    expect(error).toMatchObject({ name: 'not_found', statusCode: 404 });
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
