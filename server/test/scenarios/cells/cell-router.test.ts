import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OperatorKeys } from '../../../src/accounts/operator-keys.ts';
import { markMoving } from '../../../src/accounts/workspace-move-store.ts';
import { openRouter } from '../../../src/bootstrap/start-router.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { validMessage } from '../../harness/app.ts';
import { changeLast } from '../../harness/change-last.ts';
import { move, purge, ROUTER_TOKEN, startCells, withPool } from '../../harness/database/cells.ts';
import { sendRaw } from '../../harness/http/raw-request.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';
import { until } from '../../harness/until.ts';

/**
 * Three cells in one database behind a router. Clients use one URL, and keep it and their key while
 * their workspace moves from cell to cell.
 */

const CLIENTS = 4;

interface Sent {
  subject: string;
  id: string;
}

/** Repeats each send with the same Idempotency-Key until it gets its 202, as the client library does. */
async function sendUntil(over: AbortSignal, url: string, key: string, client: number) {
  const sent: Sent[] = [];
  const refused = new Set<number>();
  for (let n = 0; !over.aborted; n++) {
    const subject = `${client}-${n}`;
    for (;;) {
      const response = await fetch(`${url}/api/v1/transactional/send`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': subject,
        },
        body: JSON.stringify(validMessage({ subject })),
      });
      const json = (await response.json()) as { id: string };
      if (response.status === 202) {
        sent.push({ subject, id: json.id });
        break;
      }
      refused.add(response.status);
      await sleep(20);
    }
    await sleep(25);
  }
  return { sent, refused };
}

const get = (url: string, path: string, headers: Record<string, string> = {}) =>
  fetch(`${url}${path}`, { headers, redirect: 'manual' });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test('a workspace moves back and forth under load, and its clients keep URL and key', async () => {
  await using cells = await startCells(['east', 'west']);
  const { route, router } = cells;
  const east = cells.app('east');
  const id = east.workspaceId;
  const key = east.liveKey;
  await east.app.domains.trust(id, { name: 'example.org' });
  await east.app.workspaces.create('Stays');
  const stays = cells.app('west').testKey;

  const over = new AbortController();
  const clients = Array.from({ length: CLIENTS }, (_, n) =>
    sendUntil(over.signal, router.url, key, n),
  );
  const progress = async () => {
    const seen = route.arrived.length;
    await until(() => route.arrived.length >= seen + 20);
  };
  for (const [from, to] of [
    ['east', 'west'],
    ['west', 'east'],
    ['east', 'west'],
  ] as const) {
    await progress();
    await move(cells, id, from, to);
    await progress();
    await purge(cells.database, from, id);
  }
  over.abort();
  const results = await Promise.all(clients);
  const sent = results.flatMap((one) => one.sent);
  // Nothing but "try again": 401 would make clients give up.
  const refused = new Set(results.flatMap((one) => [...one.refused]));
  expect([...refused].filter((status) => status < 500)).toEqual([]);

  await until(() => route.arrived.length >= sent.length);
  const arrived = route.arrived.map(({ content }) => content.subject);
  expect(arrived.sort()).toEqual(sent.map(({ subject }) => subject).sort());
  expect(new Set(sent.map((one) => one.id)).size).toBe(sent.length);
  for (const { id: message } of sent.slice(0, 5)) {
    const response = await get(router.url, `/api/v1/messages/${message}`, bearer(key));
    expect(response.status).toBe(200);
  }
  expect((await get(router.url, '/api/v1/events', bearer(stays))).status).toBe(200);
}, 240_000);

test('requests find their cell by key, link or host name', async () => {
  await using cells = await startCells(['east', 'west', 'north']);
  const { router, route } = cells;
  const west = cells.app('west');
  await west.app.domains.trust(west.workspaceId, { name: 'example.org' });
  const digest = { key: 'digest', name: 'Digest', purpose: 'subscription' };
  await west.call('POST', '/streams', { body: digest });

  // Keys, of every API that is offered.
  const basic = Buffer.from(`api:${west.liveKey}`).toString('base64');
  for (const [path, headers] of [
    ['/api/v1/events', bearer(west.testKey)],
    ['/v3/domains', { authorization: `Basic ${basic}` }],
    ['/compat/postmark/message-streams', { 'x-postmark-server-token': west.liveKey }],
  ] as const) {
    const direct = await get(west.url, path, headers);
    const routed = await get(router.url, path, headers);
    expect([path, routed.status]).toEqual([path, 200]);
    expect(await routed.text()).toBe(await direct.text());
    expect(routed.headers.get('postrider-misdirected')).toBeNull();
  }
  const unknown = changeLast(west.testKey);
  for (const headers of [{}, bearer(unknown), bearer('nonsense')]) {
    const response = await get(router.url, '/api/v1/events', headers);
    expect(response.status).toBe(401);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(response.headers.get('postrider-misdirected')).toBeNull();
  }
  const operator = await withPool(cells.database, 'west', (pool) =>
    new OperatorKeys({ pool, clock: systemClock }).create({ name: 'Platform' }),
  );
  const listed = await get(router.url, '/api/v1/operator/workspaces', bearer(operator.token));
  expect(((await listed.json()) as { data: { id: string }[] }).data[0]?.id).toBe(
    encodeId('wsp', west.workspaceId),
  );

  // A body of unknown length, and one that is too large to be kept.
  for (const text of ['short', 'x'.repeat(400_000)]) {
    const body = JSON.stringify(validMessage({ html: `<p>${text}</p>` }));
    for (const init of [{ body }, { body: new Blob([body]).stream(), duplex: 'half' }]) {
      const response = await fetch(`${router.url}/api/v1/transactional/send`, {
        method: 'POST',
        headers: { ...bearer(west.testKey), 'content-type': 'application/json' },
        ...init,
      } as RequestInit);
      expect(response.status).toBe(202);
    }
  }

  // Links in mail name the workspace, whatever the host is.
  const { json } = await west.call('POST', '/transactional/send', {
    key: west.liveKey,
    body: validMessage({
      to: { email: 'reader@example.com' },
      html: '<p><a href="https://shop.example/">Shop</a> {{ unsubscribe_url }}</p>',
      stream: 'digest',
      tracking: { opens: true, clicks: true },
    }),
  });
  const { html = '' } = await route.next('reader@example.com');
  const linkTo = (path: string) =>
    new RegExp(`http://postrider.test(${path}[^"<]+)`).exec(html)?.[1] ?? '';
  const shop = await get(router.url, linkTo('/t/c/'));
  expect(shop.headers.get('location')).toBe('https://shop.example/');
  const leave = linkTo('/u/');
  const oneClick = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
  const left = await fetch(`${router.url}${leave}`, { method: 'POST', body: oneClick });
  expect(left.status).toBe(200);
  const wanted = ['message.clicked', 'message.unsubscribed'];
  await until(async () => {
    const events = await west.call('GET', `/events?message_id=${json.id}`, { key: west.liveKey });
    const types = events.json.data.map(({ type }: { type: string }) => type);
    return wanted.every((type) => types.includes(type));
  });

  // Without any of them the host name decides, and the first cell is the default.
  const answerOf = (host: string, path: string) =>
    new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(router.url);
      http
        .get({ hostname, port, path, headers: { host } }, (answer) => {
          let text = '';
          answer.on('data', (chunk) => {
            text += chunk;
          });
          answer.on('end', () => resolve(text));
        })
        .on('error', reject);
    });
  for (const [host, name] of [
    ['north.mail.example', 'north'],
    ['mail.example', 'east'],
  ] as const) {
    await cells.stop(name);
    expect(JSON.parse(await answerOf(host, '/api/v1/limits')).code).toBe('storage_unavailable');
    await cells.start(name);
    expect(JSON.parse(await answerOf(host, '/api/v1/limits')).code).toBe('missing_api_key');
  }

  // Only the router may ask where a key is.
  const lookup = `/cell-lookup?kind=workspace&value=${west.workspaceId}`;
  expect((await get(west.url, lookup)).status).toBe(401);
  expect((await get(west.url, lookup, bearer(ROUTER_TOKEN))).status).toBe(200);
  expect((await get(router.url, lookup, bearer(ROUTER_TOKEN))).status).toBe(404);
}, 120_000);

test('requests follow a workspace that has moved, though its first cell is up', async () => {
  await using cells = await startCells(['east', 'west']);
  const { router } = cells;
  const { workspaceId: id, liveKey, testKey } = cells.app('east');
  // The router knows both keys.
  for (const key of [liveKey, testKey]) {
    expect((await get(router.url, '/api/v1/events', bearer(key))).status).toBe(200);
  }
  await move(cells, id, 'east', 'west');
  const east = cells.app('east');
  expect((await get(east.url, '/api/v1/events', bearer(liveKey))).status).toBe(403);
  expect((await get(router.url, '/api/v1/events', bearer(liveKey))).status).toBe(200);
  const metrics = await (await get(router.url, '/metrics')).text();
  expect(metrics).toContain('postrider_router_repeated_requests_total 1');
  // A body that is not kept cannot be sent again.
  const sendLarge = () =>
    fetch(`${router.url}/api/v1/transactional/send`, {
      method: 'POST',
      headers: { ...bearer(testKey), 'content-type': 'application/json' },
      body: JSON.stringify(validMessage({ html: `<p>${'x'.repeat(400_000)}</p>` })),
    });
  expect((await sendLarge()).status).toBe(503);
  expect((await sendLarge()).status).toBe(202);

  // On its way, and not at its target yet.
  await withPool(cells.database, 'west', (pool) => markMoving(pool, id, Date.now()));
  for (const url of [router.url, cells.app('west').url]) {
    await until(async () => {
      const { status } = await get(url, '/api/v1/events', bearer(liveKey));
      return status === 503;
    });
  }
}, 120_000);

test('mail submitted over SMTP reaches the cell of its key, also in a session from before a move', async () => {
  await using cells = await startCells(['east', 'west']);
  const port = cells.router.submissionPort as number;
  const { workspaceId: id, testKey, liveKey } = cells.app('east');
  const stays = cells.app('west').testKey;
  const data = [
    'From: hello@example.org',
    'To: jane@example.com',
    'Subject: Submitted',
    'X-Postrider-Tag: smtp',
    '',
    'Hello!',
  ].join('\r\n');
  const mail = { to: ['jane@example.com', 'hidden@example.com'], data };
  using moving = await SubmissionClient.connectAndLogIn(port, testKey);
  using other = await SubmissionClient.connectAndLogIn(port, stays);
  const accepted = async (client: SubmissionClient): Promise<string> => {
    const { code, text } = await client.send(mail);
    expect([code, text]).toEqual([250, expect.stringMatching(/^2\.0\.0 Accepted as msg_/)]);
    return text.split(' ').at(-1) as string;
  };
  const readBy = async (name: string, key: string, message: string) => {
    const response = await get(cells.app(name).url, `/api/v1/messages/${message}`, bearer(key));
    return response.status === 200 ? await response.json() : response.status;
  };
  const first = await accepted(moving);
  expect(await readBy('east', testKey, first)).toMatchObject({ subject: 'Submitted' });
  expect(await readBy('west', stays, await accepted(other))).toMatchObject({
    subject: 'Submitted',
  });

  // Refusals are those of the cell: this live key has no verified domain.
  using live = await SubmissionClient.connectAndLogIn(port, liveKey);
  expect((await live.send(mail)).text).toContain('not a sending domain of this workspace');
  using stranger = await SubmissionClient.connect(port);
  await stranger.reply();
  expect((await stranger.command('EHLO client.example')).lines).toContain('AUTH PLAIN LOGIN');
  for (const key of ['nonsense', changeLast(testKey)]) {
    expect((await stranger.login(key)).code).toBe(535);
  }

  await move(cells, id, 'east', 'west');
  const second = await accepted(moving);
  expect(await readBy('west', testKey, first)).toMatchObject({ subject: 'Submitted' });
  expect(await readBy('west', testKey, second)).toMatchObject({ subject: 'Submitted' });

  // A cell that is down is a temporary error, before and after AUTH.
  const unseen = cells.app('west').liveKey;
  await cells.stop('west');
  expect((await moving.send(mail)).code).toBe(451);
  using late = await SubmissionClient.connect(port);
  await late.reply();
  await late.command('EHLO client.example');
  expect((await late.login(unseen)).code).toBe(454);
}, 120_000);

test('a cell that is down costs its own workspaces only', async () => {
  await using cells = await startCells(['east', 'west']);
  const { router } = cells;
  const [east, west] = [cells.app('east'), cells.app('west')];
  const listening = (await get(router.url, '/readyz')).status;
  expect(listening).toBe(200);
  await cells.stop('west');
  // Never seen before: whether it exists cannot be known, so it is not a 401.
  const down = await get(router.url, '/api/v1/events', bearer(west.testKey));
  expect(down.status).toBe(503);
  expect(down.headers.get('retry-after')).toBe('2');
  expect(((await down.json()) as { code: string }).code).toBe('storage_unavailable');
  expect((await get(router.url, '/api/v1/events', bearer(east.testKey))).status).toBe(200);
  await cells.start('west');
  expect((await get(router.url, '/api/v1/events', bearer(west.testKey))).status).toBe(200);
  const metrics = await (await get(router.url, '/metrics')).text();
  expect(metrics).toContain('postrider_router_responses_total{cell="west",status="200"} 1');
}, 120_000);

test('requests that cannot be forwarded as they are get a problem', async () => {
  await using cells = await startCells(['east']);
  const { url } = cells.router;
  const gzip = 'POST /app HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n';
  for (const [request, status] of [
    ['GET /app HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['GET /app HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n', 417],
    [gzip, 501],
  ] as const) {
    const response = await sendRaw(url, request);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(JSON.parse(response.body)).toMatchObject({ status, request_id: expect.any(String) });
  }
});

test('a response that breaks off breaks off at the client', async () => {
  const cell = http.createServer((request, response) => {
    if (request.url?.startsWith('/cell-lookup')) {
      response.end('{"state":"here"}');
    } else if (request.url === '/dies') {
      request.socket.destroy();
    } else {
      response.writeHead(200, { 'content-length': 1000 }).write('some', () => {
        request.socket.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => cell.listen(0, '127.0.0.1', resolve));
  const router = await openRouter(
    readConfig({
      PORT: '0',
      ROUTER_CELLS: `only=http://127.0.0.1:${(cell.address() as AddressInfo).port}`,
      ROUTER_TOKEN,
    }),
    silentLog,
  );
  try {
    await expect(get(router.url, '/half').then((response) => response.text())).rejects.toThrow();
    const response = await get(router.url, '/dies');
    expect(response.status).toBe(500);
    const { detail } = (await response.json()) as { detail: string };
    expect(detail).toContain('may have taken effect');
  } finally {
    await router.stop();
    cell.closeAllConnections();
    await new Promise((resolve) => cell.close(resolve));
  }
});
