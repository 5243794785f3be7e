import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { startApp, type TestApp, type TestResponse } from '../../harness/app.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { signedLiveRoute } from '../../harness/delivery/signed-live-route.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/**
 * Concurrent sends never share a value, and a publication is visible completely or not at all: immediately on the
 * same node, and shortly after on others. Two thousand sends run on two nodes, hundreds at once; others race with
 * publications, pinned versions and rollbacks.
 */

let database: TestDatabase;
let app: TestApp;
let other: TestApp;

beforeAll(async () => {
  database = await createTestDatabase();
  app = await startApp({ database, env: { ROLES: 'api' } });
  other = await startApp({ database, env: { ROLES: 'api' } });
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function ok(answer: Promise<TestResponse>): Promise<TestResponse['json']> {
  const { status, json, text } = await answer;
  expect([status < 300, text]).toEqual([true, text]);
  return json;
}

const post = (path: string, body: unknown = {}) => ok(app.call('POST', path, { body }));
const patch = (path: string, body: unknown) => ok(app.call('PATCH', path, { body }));

async function published(path: string, body: Record<string, unknown>): Promise<void> {
  await post(path, body);
  await post(`${path}/${body.key}/publish`);
}

function send(
  by: TestApp,
  key: string,
  more: Record<string, unknown> = {},
): Promise<TestResponse['json']> {
  const body = {
    to: { email: 'jane@example.com' },
    from: { email: 'hello@example.org' },
    template_key: key,
    ...more,
  };
  return ok(by.call('POST', '/transactional/send', { body }));
}

async function contents(
  ids: readonly string[],
): Promise<Map<string, { subject: string; html: string }>> {
  const { rows } = await database.pool.query<{ id: string; subject: string; html: string }>(
    `select c.id, m.subject, c.html from message_contents c join messages m on m.id = c.id
     where c.id = any($1)`,
    [ids.map((id) => decodeId('msg', id))],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Runs `count` tasks, `width` at a time. */
async function sideBySide(count: number, width: number, work: (n: number) => Promise<void>) {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

test('a thousand concurrent sends each arrive with their own values', {
  timeout: 400_000,
}, async () => {
  await published('/partials', { key: 'line', html: '<li>{{ item.name }}:{{ item.n }}</li>' });
  await published('/layouts', { key: 'frame', html: '<b>{{ who }}</b>{{ content }}' });
  await published('/templates', {
    key: 'own',
    subject: 'For ${who}',
    from: { email: 'hello@example.com', name: 'Shop ${who}' },
    reply_to: { email: 'answers+${who}@example.com' },
    layout: 'frame',
    html: '<p>{{ contact.first_name | default: who }}</p>{% for item in items %}{% render "line", item: item %}{% endfor %}{% assign x = who %}{{ x }}',
  });
  await app.app.domains.trust(app.workspaceId, { name: 'example.com' });
  const key = app.liveKey;
  for (let n = 0; n < 20; n++) {
    const body = { first_name: `Contact ${n}` };
    await ok(app.call('PUT', `/contacts/c${n}@example.org`, { body, key }));
  }
  // More would exceed the listen backlog and measure connection delays instead.
  await sideBySide(1_000, 400, async (n) => {
    const body = {
      to: { email: `c${n % 40}@example.org` },
      template_key: 'own',
      template_variables: {
        who: `who-${n}`,
        items: [
          { name: 'a', n },
          { name: 'b', n: n + 1 },
        ],
      },
      headers: { 'X-Who': '${who}' },
    };
    await ok((n % 2 ? app : other).call('POST', '/transactional/send', { body, key }));
  });
  await using receiver = await startSmtpReceiver();
  await using dns = await startDnsServer({
    'example.org': { MX: ['10 mx.example.org'] },
    'mx.example.org': { A: ['127.0.0.1'] },
  });
  await using _back = await startApp({
    database,
    env: { ROLES: 'delivery' },
    liveRoute: signedLiveRoute({ clock: systemClock, dns: dns.address, mxPort: receiver.port }),
  });
  await receiver.until(({ messages }) => messages.length === 1_000);
  const mails = await Promise.all(receiver.messages.map(({ raw }) => PostalMime.parse(raw)));
  const seen = new Set<number>();
  for (const mail of mails) {
    const n = Number(/^For who-(\d+)$/.exec(mail.subject ?? '')?.[1]);
    seen.add(n);
    const first = n % 40 < 20 ? `Contact ${n % 40}` : `who-${n}`;
    expect(mail).toMatchObject({
      from: { name: `Shop who-${n}` },
      to: [{ address: `c${n % 40}@example.org` }],
      replyTo: [{ address: `answers+who-${n}@example.com` }],
    });
    expect(mail.html?.trimEnd()).toBe(
      `<b>who-${n}</b><p>${first}</p><li>a:${n}</li><li>b:${n + 1}</li>who-${n}`,
    );
    expect(mail.headers.find(({ key: name }) => name === 'x-who')?.value).toBe(`who-${n}`);
  }
  expect(seen.size).toBe(1_000);
});

test('publishing, pinning and rolling back race with sends', async () => {
  const contentOf = (n: number) => ({ subject: `V${n}`, html: `<p>V${n}</p>` });
  await published('/templates', { key: 'raced', ...contentOf(1) });
  /** Published versions, each with the steps during which it was the current one. */
  const reigns: { version: number; from: number; to: number }[] = [
    { version: 1, from: 0, to: Number.POSITIVE_INFINITY },
  ];
  let step = 0;
  let last = 1;
  let publishing = true;
  const sent: {
    id: string;
    version: number;
    pinned?: number;
    from: number;
    to: number;
    strict: boolean;
  }[] = [];

  async function publish(): Promise<void> {
    for (let round = 0; round < 24; round++) {
      const again = round % 4 === 3 ? 1 + (round % last) : undefined;
      if (again === undefined) await patch('/templates/raced', contentOf(last + 1));
      const begun = ++step;
      const { version } = await post('/templates/raced/publish', again ? { version: again } : {});
      last = Math.max(last, version);
      const before = reigns.at(-1);
      if (before) before.to = ++step;
      reigns.push({ version, from: begun, to: Number.POSITIVE_INFINITY });
    }
    publishing = false;
  }

  async function sendOn(by: TestApp, pin: boolean): Promise<void> {
    while (publishing) {
      const pinned = pin ? 1 + Math.floor(Math.random() * last) : undefined;
      const from = ++step;
      const { id, template } = await send(by, 'raced', pinned ? { template_version: pinned } : {});
      const to = ++step;
      const strict = by === app;
      sent.push({ id, version: template.version, ...(pinned ? { pinned } : {}), from, to, strict });
    }
  }

  await Promise.all([
    publish(),
    ...[app, app, app, other, other].map((by) => sendOn(by, false)),
    ...[app, other].map((by) => sendOn(by, true)),
  ]);
  const stored = await contents(sent.map(({ id }) => id));
  expect(sent.length).toBeGreaterThan(100);
  expect(new Set(sent.map(({ version }) => version)).size).toBeGreaterThan(5);
  for (const { id, version, pinned, from, to, strict } of sent) {
    expect(stored.get(decodeId('msg', id) as string)).toMatchObject(contentOf(version));
    if (pinned !== undefined) expect(version).toBe(pinned);
    else if (strict) {
      const reigned = reigns.some(
        (one) => one.version === version && one.from <= to && one.to >= from,
      );
      expect([version, from, to, reigned]).toEqual([version, from, to, true]);
    }
  }
});

test('a layout and a template that changed together are never mixed', async () => {
  await published('/layouts', { key: 'pair', html: '<i>1</i>{{ content }}' });
  await published('/templates', { key: 'paired', layout: 'pair', subject: 'S', html: '1' });
  const seen = new Set<string>();
  let over = false;
  const changes = (async () => {
    for (let n = 2; n < 13; n++) {
      await patch('/layouts/pair', { html: `<i>${n}</i>{{ content }}` });
      await post('/layouts/pair/publish');
      await patch('/templates/paired', { html: `${n}` });
      await post('/templates/paired/publish');
    }
    over = true;
  })();
  const ids: string[] = [];
  const sender = async (by: TestApp) => {
    while (!over) ids.push((await send(by, 'paired')).id);
  };
  await Promise.all([changes, sender(app), sender(app), sender(other)]);
  for (const { html } of (await contents(ids)).values()) seen.add(html);
  for (const html of seen) {
    const [, layout, template] = /^<i>(\d+)<\/i>(\d+)$/.exec(html) ?? [];
    // The layout is published first: it is never older than the template, and at most one ahead.
    expect(Number(layout) - Number(template)).toBeGreaterThanOrEqual(0);
    expect(Number(layout) - Number(template)).toBeLessThanOrEqual(1);
  }
  expect(seen.size).toBeGreaterThan(5);
});

test('other nodes learn of publications, drafts and deletions within moments', async () => {
  await published('/templates', { key: 'notified', subject: 'One', html: 'x' });
  const subject = async (more = {}) => {
    const { id } = await send(other, 'notified', more);
    return [...(await contents([id])).values()][0]?.subject;
  };
  expect(await subject()).toBe('One');
  expect(await subject({ template_version: 'draft' })).toBe('One');
  await patch('/templates/notified', { subject: 'Two' });
  await until(async () => (await subject({ template_version: 'draft' })) === 'Two');
  expect(await subject()).toBe('One');
  await post('/templates/notified/publish');
  await until(async () => (await subject()) === 'Two');
  expect((await app.call('DELETE', '/templates/notified')).status).toBe(204);
  const body = {
    to: { email: 'jane@example.com' },
    from: { email: 'hello@example.org' },
    template_key: 'notified',
  };
  await until(
    async () => (await other.call('POST', '/transactional/send', { body })).status === 422,
  );
});
