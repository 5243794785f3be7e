import { expect, test } from 'vitest';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { mailboxRoute } from '../../harness/delivery/mailbox-route.ts';
import { createEventCheck } from '../../harness/http/event-schemas.ts';
import { until } from '../../harness/until.ts';

/**
 * With tracking enabled, opens and clicks become events, separately for humans and bots; without it, mail
 * is unchanged. Links cannot be forged to redirect elsewhere. The whole server runs; messages in the inbox
 * are opened and clicked over HTTP.
 */

const BROWSER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
};
const SHOP = 'https://shop.example/offer?id=1&for=jane';
const CART = 'https://shop.example/cart';
const HTML = `<body><p>Hi</p><a href="${SHOP.replace('&', '&amp;')}">Shop</a> <a href="${CART}">Cart</a> <a href="mailto:a@b.example">Write</a></body>`;

async function send(app: TestApp, changes: object, key?: string): Promise<string> {
  const body = validMessage({ html: HTML, tags: ['spring'], metadata: { order: '7' }, ...changes });
  const sent = await app.call('POST', '/transactional/send', { body, ...(key ? { key } : {}) });
  expect(sent.status).toBe(202);
  return sent.json.id;
}

async function arrived(app: TestApp, id: string): Promise<{ html: string; text: string }> {
  await until(async () => (await app.call('GET', `/test/inbox/${id}`)).status === 200);
  return (await app.call('GET', `/test/inbox/${id}`)).json;
}

/** The tracking paths in a message, without the public host name. */
function ours(html: string): { image: string | undefined; links: string[] } {
  const paths = [...html.matchAll(/http:\/\/postrider\.test(\/t\/[^"]+)/g)].map(
    ([, path]) => path as string,
  );
  return {
    image: paths.find((path) => path.startsWith('/t/o/')),
    links: paths.filter((path) => path.startsWith('/t/c/')),
  };
}

function visit(app: TestApp, path: string, init: RequestInit = { headers: BROWSER }) {
  return fetch(app.url + path, { redirect: 'manual', ...init });
}

interface TrackingEvent {
  type: string;
  sequence: number;
  data: { machine: boolean; url?: string; first?: boolean };
}

async function trackingEvents(
  app: TestApp,
  id: string,
  count: number,
  key?: string,
): Promise<TrackingEvent[]> {
  const read = async (): Promise<TrackingEvent[]> => {
    const answer = await app.call('GET', `/events?message_id=${id}`, key ? { key } : {});
    return answer.json.data.filter(({ type }: TrackingEvent) => /opened|clicked/.test(type));
  };
  await until(async () => (await read()).length >= count);
  return read();
}

test('the first open and click are reported once, with tags and metadata', async () => {
  await using app = await startApp();
  const check = await createEventCheck(app.url);
  const id = await send(app, { tracking: { opens: true, clicks: true } });
  const mail = await arrived(app, id);
  const { image, links } = ours(mail.html);
  expect(links).toHaveLength(2);
  expect(mail.html).toContain('href="mailto:a@b.example"');
  expect(mail.text).toContain(SHOP);
  expect(mail.text).not.toContain('postrider.test');

  const opened = await visit(app, image as string);
  expect(opened.status).toBe(200);
  expect(opened.headers.get('content-type')).toBe('image/gif');
  expect(opened.headers.get('cache-control')).toContain('no-store');
  const clicked = await visit(app, links[0] as string);
  expect([clicked.status, clicked.headers.get('location')]).toEqual([200, null]);
  expect(await clicked.text()).toContain(SHOP);
  await trackingEvents(app, id, 2);
  for (const path of [image, links[0], image, links[0]]) await visit(app, path as string);
  await visit(app, links[1] as string);
  // Events that are recorded later have higher sequence numbers.
  await visit(app, image as string, { method: 'HEAD', headers: BROWSER });

  const events = await trackingEvents(app, id, 4);
  for (const event of events) check(event);
  expect(events.map(({ type, data }) => [type, data.machine, data.url, data.first])).toEqual([
    ['message.opened', false, undefined, undefined],
    ['message.clicked', false, SHOP, true],
    ['message.clicked', false, CART, false],
    ['message.opened', true, undefined, undefined],
  ]);
  expect(events.map(({ sequence }) => sequence)).toEqual([3, 4, 5, 6]);
  expect(events[0]?.data).toMatchObject({
    message_id: id,
    recipient: 'jane@example.com',
    attempt: 1,
    tags: ['spring'],
    metadata: { order: '7' },
  });
  await until(async () => {
    const [{ totals }] = (await app.call('GET', '/stats')).json.data;
    return totals.opened === 1 && totals.clicked === 1 && totals.opened_by_machine === 1;
  });
});

test('nothing is tracked by default', async () => {
  await using app = await startApp();
  for (const changes of [{}, { tracking: {} }, { tracking: { opens: false, clicks: false } }]) {
    const mail = await arrived(app, await send(app, changes));
    expect(mail.html).toBe(HTML);
  }
});

test('a message to several recipients is not tracked, because the reader would be unknown', async () => {
  await using app = await startApp();
  const both = { opens: true, clicks: true };
  const id = await send(app, { tracking: both, cc: [{ email: 'joe@example.com' }] });
  expect((await arrived(app, id)).html).toBe(HTML);
});

test('secret values never become part of tracking links', async () => {
  await using app = await startApp();
  const template = {
    key: 'reset',
    name: 'Reset',
    subject: 'Reset',
    html: '<a href="https://shop.example/reset/{{ code }}">Reset</a>',
    variables: [{ name: 'code', type: 'string', required: true, secret: true }],
  };
  expect((await app.call('POST', '/templates', { body: template })).status).toBe(201);
  expect((await app.call('POST', '/templates/reset/publish', { body: {} })).status).toBeLessThan(
    300,
  );
  const sent = await app.call('POST', '/transactional/send', {
    body: {
      to: { email: 'jane@example.com' },
      from: { email: 'hello@example.org' },
      template_key: 'reset',
      template_variables: { code: 'open-sesame' },
      tracking: { opens: true, clicks: true },
    },
  });
  expect(sent.status).toBe(202);
  const { html } = await arrived(app, sent.json.id);
  expect(html).toBe('<a href="https://shop.example/reset/open-sesame">Reset</a>');
});

test('unsigned links are 404 and record nothing', async () => {
  await using app = await startApp();
  const id = await send(app, { tracking: { opens: true, clicks: true } });
  const { image = '', links } = ours((await arrived(app, id)).html);
  const [, , , token] = (links[0] as string).split('/');
  const evil = Buffer.from('https://evil.example/').toString('base64url');
  for (const path of [
    `/t/c/${token}/${evil}`,
    `/t/c/${token}/`,
    `/t/c/${'A'.repeat(66)}/${evil}`,
    `/t/c/${image.slice('/t/o/'.length, -'.gif'.length)}/${evil}`,
    `/t/o/${token}.gif`,
    '/t/o/x.gif',
    '/t/c//evil.example',
    `/t/c/${token}/https://evil.example/`,
  ]) {
    const answer = await visit(app, path);
    expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 404, null]);
  }
  await visit(app, image);
  expect(await trackingEvents(app, id, 1)).toHaveLength(1);
});

test('a domain sets the default for its messages, and fast clients count as bots', async () => {
  const route = mailboxRoute();
  await using app = await startApp({ liveRoute: route });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  const { liveKey: key } = app;
  const [domain] = (await app.call('GET', '/domains', { key })).json.data;
  const change = { tracking: { opens: true, clicks: true }, tracking_host: 'go.example.org' };
  const changed = await app.call('PATCH', `/domains/${domain.id}`, { key, body: change });
  expect(changed.status).toBe(200);

  const id = await send(app, {}, key);
  const { html } = await route.next('jane@example.com');
  const [link = ''] = html.match(/(?<=href="http:\/\/go\.example\.org)\/t\/c\/[^"]+/) ?? [];
  const hurried = await visit(app, link);
  expect(hurried.headers.get('location')).toBe(SHOP);
  const [click] = await trackingEvents(app, id, 1, key);
  expect(click?.data.machine).toBe(true);

  await app.database.pool.query(
    `update deliveries set finished_at = finished_at - interval '1 hour'`,
  );
  await visit(app, link);
  const events = await trackingEvents(app, id, 2, key);
  expect(events.map(({ data }) => data.machine)).toEqual([true, false]);

  await send(app, { tracking: { opens: false, clicks: false } }, key);
  expect((await route.next('jane@example.com')).html).toBe(HTML);
});

test('opens and clicks of an erased recipient are not recorded', async () => {
  await using app = await startApp();
  const both = { opens: true, clicks: true };
  const gone = await send(app, { tracking: both });
  const stays = await send(app, { tracking: both, to: { email: 'joe@example.com' } });
  const goneLinks = ours((await arrived(app, gone)).html).links;
  const image = ours((await arrived(app, stays)).html).image as string;
  const erased = await app.call('DELETE', '/contacts/jane@example.com?erase=true');
  expect(erased.status).toBe(200);
  expect((await visit(app, goneLinks[0] as string)).status).toBe(200);
  await visit(app, image);
  await trackingEvents(app, stays, 1);
  expect(await trackingEvents(app, gone, 0)).toEqual([]);
});

test('links of a suspended workspace do not redirect, but those of others do during an outage', async () => {
  const route = mailboxRoute();
  await using app = await startApp({ liveRoute: route });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  await send(app, { tracking: { clicks: true } }, app.liveKey);
  const [link = ''] = ours((await route.next('jane@example.com')).html).links;
  const visited = async () => {
    const answer = await visit(app, link);
    return [answer.status, answer.headers.get('location')];
  };
  const workspace = await app.app.workspaces.first();
  if (!workspace) throw new Error('No workspace.');
  await app.app.workspaces.suspend(workspace, 'Spam');
  await until(async () => (await visited())[0] === 410);
  await app.app.workspaces.resume(workspace);
  await until(async () => (await visited())[0] === 302);

  await app.database.pool.query('alter table workspaces rename to workspaces_away');
  await app.database.pool.query('alter table deliveries rename to deliveries_away');
  await app.database.pool.query(`select pg_notify('domains', $1)`, [app.workspaceId]);
  expect(await visited()).toEqual([302, SHOP]);
  await app.database.pool.query('alter table deliveries_away rename to deliveries');
  await app.database.pool.query('alter table workspaces_away rename to workspaces');
});
