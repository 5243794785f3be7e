import { expect, test } from 'vitest';
import { listen } from '../../../src/db/connections/listen.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { startApp, validMessage } from '../../harness/app.ts';

/**
 * Goal: mail accepted by a node that does not deliver is not left until the next poll of one that does.
 * Method: a listener like that of a delivery node, which counts notifications of due mail.
 */
test('a node without the role delivery notifies the others of due mail', async () => {
  await using app = await startApp({ env: { ROLES: 'api' } });
  let notifications = 0;
  const notified = Promise.withResolvers<void>();
  const listener = listen({ hosts: app.app.storage.hosts, log: silentLog });
  listener.on('deliveries', () => {
    notifications += 1;
    notified.resolve();
  });
  await listener.ready;
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = { ...validMessage(), scheduled_at: later };
  await app.call('POST', '/transactional/send', { body: scheduled });
  expect((await app.call('POST', '/transactional/send', { body: validMessage() })).status).toBe(
    202,
  );
  await notified.promise;
  expect(notifications).toBe(1);
  await listener.stop();
});
