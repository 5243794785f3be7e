import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';

/** Test mode runs the full life of a message, and each simulator address ends as documented. */

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const WAITING = new Set(['queued', 'deferred', 'scheduled']);

async function outcomeOf(local: string) {
  const email = `${local}@simulator.test`;
  const sent = await app.call('POST', '/transactional/send', {
    body: validMessage({ to: { email } }),
  });
  expect(sent.status).toBe(202);
  for (;;) {
    const { json } = await app.call('GET', `/messages/${sent.json.id}`);
    const types = json.events.map((event: { type: string }) => event.type);
    const complaintDue = local.startsWith('complained') && !types.includes('message.complained');
    if (!WAITING.has(json.status) && !complaintDue)
      return { sent: sent.json, message: json, types };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test.each([
  ['delivered', 'delivered', undefined],
  ['delivered+label', 'delivered', undefined],
  ['bounced', 'bounced', { class: 'hard', reason: 'unknown_mailbox' }],
  ['mailbox-full', 'bounced', { class: 'soft', reason: 'mailbox_full' }],
  ['blocked', 'bounced', { class: 'block' }],
  ['smtp-550-5.7.26', 'bounced', { reason: 'authentication_failed' }],
  ['smtp-571', 'bounced', {}],
  ['smtp-251', 'delivered', undefined],
  ['anyone', 'delivered', undefined],
])('%s ends %s', async (local, status, bounce) => {
  const { message } = await outcomeOf(local);
  expect(message.status).toBe(status);
  if (bounce) expect(message.recipients[0].bounce).toMatchObject(bounce);
  if (bounce) expect(message.recipients[0].bounce.explanation).not.toBe('');
});

test.each([
  'smtp-999',
  'smtp-999+label',
  'smtp-354',
  'smtp-55',
  'smtp-550-4.7.1',
  'smtp-550-5.7',
  'smtp-',
  'defer-1000',
  'defer-many',
])('%s asks for what cannot be simulated, and is refused', async (local) => {
  const email = `${local}@simulator.test`;
  const pointers = async (path: string, body: object) => {
    const { status, json } = await app.call('POST', path, { body });
    expect([path, status]).toEqual([path, 422]);
    return json.errors.map((error: { pointer: string; code: string }) => [
      error.pointer,
      error.code,
    ]);
  };
  const before = (await app.call('GET', '/messages')).json.data[0]?.id;
  const message = validMessage({ to: { email: 'a@example.com' }, cc: [{ email }] });
  const refused = ['/cc/0/email', 'invalid_simulation'];
  expect(await pointers('/transactional/send', message)).toEqual([refused]);
  expect(await pointers('/transactional/dry-run', message)).toEqual([refused]);
  expect(await pointers('/transactional/send', { ...message, tags: 1 })).toEqual([
    ['/tags', 'invalid_type'],
    refused,
  ]);
  expect(await pointers('/transactional/batch', { messages: [message] })).toEqual([
    [`/messages/0${refused[0]}`, refused[1]],
  ]);
  expect((await app.call('GET', '/messages')).json.data[0]?.id).toBe(before);
});

test.each([
  ['deferred', 2],
  ['defer-3', 3],
])('%s is deferred and then delivered', async (local, deferrals) => {
  const { message, types } = await outcomeOf(local);
  expect(types).toEqual([
    'message.accepted',
    ...Array.from({ length: deferrals }, () => 'message.deferred'),
    'message.delivered',
  ]);
  expect(message.recipients[0].attempts).toBe(deferrals + 1);
  const { json } = await app.call('GET', `/messages/${message.id}/attempts`);
  expect(json.data.map((attempt: { number: number }) => attempt.number)).toEqual(
    Array.from({ length: deferrals + 1 }, (_, index) => index + 1),
  );
  const sequences = message.events.map((event: { sequence: number }) => event.sequence);
  expect(sequences).toEqual(sequences.map((_: number, index: number) => index + 1));
});

test('complained is delivered and then complained about', async () => {
  const { message, types } = await outcomeOf('complained');
  expect(message.status).toBe('delivered');
  expect(types).toEqual(['message.accepted', 'message.delivered', 'message.complained']);
});

test('a complaint is shown in lists, which can be filtered by it', async () => {
  const { message } = await outcomeOf('complained+listed');
  const { message: other } = await outcomeOf('delivered+listed');
  const [recipient] = message.recipients;
  expect(Date.parse(recipient.complained_at)).toBe(Date.parse(recipient.finished_at));
  expect(other.recipients[0].complained_at).toBeNull();
  const listed = async (query: string) => {
    const { json } = await app.call('GET', `/messages?q=listed${query}`);
    return json.data.map((one: typeof message) => [one.id, one.recipients[0].complained_at]);
  };
  const complained = [message.id, recipient.complained_at];
  expect(await listed('&complained=true')).toEqual([complained]);
  expect(await listed('&complained=false')).toEqual([[other.id, null]]);
  expect(await listed('')).toEqual([[other.id, null], complained]);
  const { status, json } = await app.call('GET', '/messages?complained=maybe');
  expect([status, json.errors?.[0].parameter]).toEqual([422, 'complained']);
});

test('suppressed is reported in the response and never attempted', async () => {
  const { sent, message, types } = await outcomeOf('suppressed');
  expect(sent.recipients).toEqual([
    expect.objectContaining({ email: 'suppressed@simulator.test', status: 'suppressed' }),
  ]);
  expect(types).toEqual(['message.accepted', 'message.suppressed']);
  expect(message.recipients[0].attempts).toBe(0);
});

test('bounces never suppress a simulator address, but do suppress other test addresses', async () => {
  await outcomeOf('bounced');
  const again = await outcomeOf('bounced');
  expect(again.sent.status).toBe('queued');
});

test('several recipients have separate outcomes', async () => {
  const body = validMessage({
    to: { email: 'delivered@simulator.test' },
    cc: [{ email: 'bounced@simulator.test' }],
    bcc: [{ email: 'suppressed@simulator.test' }, { email: 'DELIVERED@simulator.test' }],
  });
  const sent = await app.call('POST', '/transactional/send', { body });
  expect(sent.json.recipients.map((one: { kind: string }) => one.kind)).toEqual([
    'to',
    'cc',
    'bcc',
  ]);
  for (;;) {
    const { json } = await app.call('GET', `/messages/${sent.json.id}`);
    if (json.status === 'partial') {
      expect(json.recipients.map((one: { status: string }) => one.status)).toEqual([
        'delivered',
        'bounced',
        'suppressed',
      ]);
      break;
    }
    expect(WAITING.has(json.status)).toBe(true);
  }
  const raw = await app.call('GET', `/messages/${sent.json.id}/raw`);
  expect(raw.headers.get('content-type')).toBe('message/rfc822');
  expect(raw.text).toContain('Cc: bounced@simulator.test');
  expect(raw.text).not.toContain('suppressed@simulator.test');
});

test('a ttl expires the message at that moment, not at the next attempt', async () => {
  const body = validMessage({ to: { email: 'defer-50@simulator.test' }, ttl_seconds: 1 });
  const sent = await app.call('POST', '/transactional/send', { body });
  for (;;) {
    const { json } = await app.call('GET', `/messages/${sent.json.id}`);
    if (json.status === 'expired') {
      const last = json.events.at(-1);
      expect(last.type).toBe('message.expired');
      const lived = Date.parse(last.created_at) - Date.parse(json.created_at);
      expect(lived).toBeGreaterThanOrEqual(1_000);
      break;
    }
    expect(WAITING.has(json.status)).toBe(true);
  }
});
