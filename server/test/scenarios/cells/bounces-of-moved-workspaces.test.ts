import { expect, test } from 'vitest';
import { markActive, markMoving, readProfile } from '../../../src/accounts/workspace-move-store.ts';
import { returnPathKey } from '../../../src/bootstrap/build-engine.ts';
import { decodeId } from '../../../src/lib/ids.ts';
import { returnPathFor, unsubscribeAddressFor } from '../../../src/mail/return-path-address.ts';
import { insertPurge } from '../../../src/privacy/workspace-purge-store.ts';
import { validMessage } from '../../harness/app.ts';
import {
  type Cells,
  move,
  ROUTER_TOKEN,
  startCells,
  withPool,
} from '../../harness/database/cells.ts';
import { complaint, connectAndGreet, dsn } from '../../harness/smtp/return-path-setup.ts';
import { until } from '../../harness/until.ts';

/**
 * The router receives bounces, complaints and requests to unsubscribe, and passes each to the cell that has
 * the message: also those about mail that another cell sent before the workspace moved. Nothing is confirmed
 * that is not recorded, and nothing is accepted that no cell has asked for.
 */

interface Sent {
  id: string;
  path: string;
  unsubscribe: string;
}

const bounceHostOf = (cell: string): string => `bounces.${cell}.test`;

/** Delivers a message from the first cell, and returns the addresses to which others write about it. */
async function deliver(cells: Cells, email: string, more = {}): Promise<Sent> {
  const { app, call, liveKey: key, workspaceId } = cells.app('east');
  const { status, json } = await call('POST', '/transactional/send', {
    key,
    body: validMessage({ to: { email }, ...more }),
  });
  expect(status).toBe(202);
  await until(async () => {
    const found = await call('GET', `/messages/${json.id}`, { key });
    return found.json.status === 'delivered';
  });
  const messageId = decodeId('msg', json.id) as string;
  const delivery = { workspaceId, messageId, ordinal: 0 };
  const signed = [bounceHostOf('east'), returnPathKey(app.storage.secretKey)] as const;
  return {
    id: json.id as string,
    path: returnPathFor(delivery, ...signed),
    unsubscribe: unsubscribeAddressFor(delivery, ...signed),
  };
}

test('bounces, complaints and requests to unsubscribe reach the cell that has the message', async () => {
  await using cells = await startCells(['east', 'west'], (cell) => ({
    BOUNCE_HOST: bounceHostOf(cell),
  }));
  const { database, router } = cells;
  const { workspaceId: id, liveKey: key, app } = cells.app('east');
  await app.domains.trust(id, { name: 'example.org' });
  const sent: Sent[] = [];
  for (let n = 0; n < 4; n += 1) sent.push(await deliver(cells, `jane-${n}@example.com`));
  const [first, second, third, fourth] = sent as [Sent, Sent, Sent, Sent];
  const digest = { key: 'digest', name: 'Digest', purpose: 'subscription' };
  await cells.app('east').call('POST', '/streams', { key, body: digest });
  const subscribed = await deliver(cells, 'reader@example.com', { stream: 'digest' });
  const report = async (to: string, data: string, from = '') => {
    using client = await connectAndGreet(router.returnPathPort as number);
    const { code, text } = await client.send({ from, to: [to], data });
    return `${code} ${text.split(' ')[0]}`;
  };
  const bounce = (n: number) => dsn({ id: `dsn-${n}`, recipient: `jane-${n}@example.com` });
  const eventsOf = async (cell: string, message: string) => {
    const { json } = await cells.app(cell).call('GET', `/events?message_id=${message}`, { key });
    return json.data.map(({ type }: { type: string }) => type).slice(2);
  };
  const ACCEPTED = '250 2.0.0';
  const LATER = '451 4.3.0';
  const UNKNOWN = '550 5.1.1';

  // As long as the workspace is where the mail came from.
  expect(await report(first.path, bounce(0))).toBe(ACCEPTED);
  expect(await eventsOf('east', first.id)).toEqual(['message.bounced']);

  // On its way.
  await withPool(database, 'east', async (pool) => {
    await markMoving(pool, id, Date.now());
    expect(await report(second.path, bounce(1))).toBe(LATER);
    await markActive(pool, id, await readProfile(pool, id));
  });

  await move(cells, id, 'east', 'west');
  // With a returned mail that is larger than what is read. Repeated, as if the reply had been lost.
  const large = bounce(1).replace('\r\nHello\r\n', `\r\n${`${'x'.repeat(98)}\r\n`.repeat(5_000)}`);
  expect(await report(second.path, large)).toBe(ACCEPTED);
  expect(await report(second.path.toUpperCase(), large)).toBe(ACCEPTED);
  expect(await eventsOf('west', second.id)).toEqual(['message.bounced']);
  const aboutThird = complaint({ returned: `Return-Path: <${third.path}>\r\nSubject: Hello` });
  const complaints = `complaints@${bounceHostOf('east')}`;
  expect(await report(complaints, aboutThird, 'feedback@provider.test')).toBe(ACCEPTED);
  expect(await eventsOf('west', third.id)).toEqual(['message.complained']);

  const goodbye = 'From: reader@example.com\r\nSubject: unsubscribe\r\n\r\nBye\r\n';
  expect(await report(subscribed.unsubscribe, goodbye, 'reader@example.com')).toBe(ACCEPTED);
  expect(await eventsOf('west', subscribed.id)).toEqual(['message.unsubscribed']);

  // What no cell has signed or asked for.
  const [local = '', host = ''] = fourth.path.split('@');
  const forged = `${local.slice(0, -1)}${local.endsWith('a') ? 'b' : 'a'}@${host}`;
  for (const to of [forged, 'jane@example.com', 'postmaster', 'complaints@example.com']) {
    expect([to, await report(to, bounce(3))]).toEqual([to, UNKNOWN]);
  }
  // Nor is other mail accepted.
  const letter = 'From: a@example.com\r\nSubject: Hi\r\n\r\nHello\r\n';
  expect(await report(fourth.path, letter, 'a@example.com')).toBe('550 5.7.1');
  const direct = `/cell-reports?to=${encodeURIComponent(fourth.path)}`;
  const post = (url: string, token: string) =>
    fetch(`${url}${direct}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'message/rfc822' },
      body: bounce(3),
    });
  expect((await post(cells.app('west').url, key)).status).toBe(401);
  expect((await post(router.url, ROUTER_TOKEN)).status).toBe(404);

  // Not confirmed while its cell is down.
  await cells.stop('west');
  expect(await report(fourth.path, bounce(3))).toBe(LATER);
  expect(await report(complaints, aboutThird, 'feedback@provider.test')).toBe(LATER);
  await cells.start('west');
  expect(await report(fourth.path, bounce(3))).toBe(ACCEPTED);
  expect(await eventsOf('west', fourth.id)).toEqual(['message.bounced']);

  // Rows of a workspace that is being purged are not recorded any more.
  await withPool(database, 'west', async (pool) => {
    await insertPurge(pool, { id, requestedAtMs: Date.now() }, Date.now());
    await markMoving(pool, id, Date.now());
  });
  expect(await report(fourth.path, bounce(3))).toBe(UNKNOWN);
}, 120_000);
