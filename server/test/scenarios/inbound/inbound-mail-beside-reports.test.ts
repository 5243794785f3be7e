import { expect, test } from 'vitest';
import { returnPathKey } from '../../../src/bootstrap/build-engine.ts';
import { decodeId } from '../../../src/lib/ids.ts';
import { returnPathFor } from '../../../src/mail/return-path-address.ts';
import { validMessage } from '../../harness/app.ts';
import { mailboxRoute } from '../../harness/delivery/mailbox-route.ts';
import { letter, RECEIVING, startInboundServer } from '../../harness/smtp/inbound-setup.ts';
import { dsn } from '../../harness/smtp/return-path-setup.ts';
import { until } from '../../harness/until.ts';

/** Reports and inbound mail arrive at one listener, and one mail can be both. */

test('a mail to a return path and to a receiving domain is a report and an inbound message', async () => {
  await using server = await startInboundServer({
    liveRoute: mailboxRoute(),
    env: { BOUNCE_HOST: RECEIVING },
  });
  const { app } = server;
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  const key = app.liveKey;
  const status = async (id: string) =>
    (await app.call('GET', `/messages/${id}`, { key })).json.status;
  const send = async (email: string) => {
    const body = validMessage({ to: { email } });
    const sent = await app.call('POST', '/transactional/send', { key, body });
    await until(async () => (await status(sent.json.id)) === 'delivered');
    const messageId = decodeId('msg', sent.json.id) as string;
    const delivery = { workspaceId: app.workspaceId, messageId, ordinal: 0 };
    // The receiving domain is the host of return paths, too.
    const path = returnPathFor(delivery, RECEIVING, returnPathKey(app.app.storage.secretKey));
    return { id: sent.json.id as string, path };
  };
  const inbound = `a@${RECEIVING}`;

  const alone = await send('alone@example.com');
  expect(
    (await server.deliver(alone.path, dsn({ id: 'one', recipient: 'alone@example.com' }), '')).code,
  ).toBe(250);
  expect(await status(alone.id)).toBe('bounced');
  expect(await server.list()).toEqual([]);

  const both = await send('both@example.com');
  const long =
    `${dsn({ id: 'two', recipient: 'both@example.com' })}\r\n${'x'.repeat(70)}\r\n`.padEnd(
      400_000,
      'long lines\r\n',
    );
  expect((await server.deliver([both.path, inbound], long, '')).code).toBe(250);
  expect(await status(both.id)).toBe('bounced');
  const [stored, ...more] = await server.list();
  expect(more).toEqual([]);
  expect(stored.envelope).toEqual({ from: '', to: [inbound] });
  expect(stored.size_bytes).toBeGreaterThan(400_000);

  // A bounce to an ordinary address says nothing about a delivery.
  const other = await send('other@example.com');
  expect(
    (await server.deliver(inbound, dsn({ id: 'three', recipient: 'other@example.com' }), '')).code,
  ).toBe(250);
  expect(await status(other.id)).toBe('delivered');

  // Ordinary mail to a return path is refused, unless someone else has a copy.
  expect((await server.deliver(other.path, letter({ subject: 'Why' }))).code).toBe(550);
  const copy = await server.deliver([other.path, inbound], letter({ subject: 'Copy' }));
  expect(copy.code).toBe(250);
  const subjects = (await server.list()).map(({ subject }: { subject: string }) => subject);
  expect(subjects[0]).toBe('Copy');
  expect(subjects).toHaveLength(3);
  // A forged return path is an ordinary address.
  expect((await server.deliver(`bounce+AAAA@${RECEIVING}`, letter())).code).toBe(250);
});
