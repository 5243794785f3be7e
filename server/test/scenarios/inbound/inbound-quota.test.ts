import { expect, test } from 'vitest';
import { OperatorKeys } from '../../../src/accounts/operator-keys.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import {
  letter,
  OTHER_RECEIVING,
  RECEIVING,
  startInboundServer,
} from '../../harness/smtp/inbound-setup.ts';

/** What anyone sends to a workspace, and what it sends to itself, counts for its quota of content. */

test('mail beyond the quota of content is refused temporarily, and other workspaces receive theirs', async () => {
  await using server = await startInboundServer();
  const { app } = server;
  const operatorKeys = new OperatorKeys({ pool: app.database.pool, clock: systemClock });
  const { token: key } = await operatorKeys.create({ name: 'Platform' });
  const path = `/operator/workspaces/${encodeId('wsp', app.workspaceId)}`;
  const used = async () =>
    (await app.call('GET', `${path}/usage`, { key })).json.content_bytes.used as number;

  expect((await server.deliver(`a@${RECEIVING}`, letter({ subject: 'First' }))).code).toBe(250);
  const [first] = await server.list();
  expect(await used()).toBe(first.size_bytes);

  const quotas = { content_bytes: first.size_bytes + 5_000 };
  expect((await app.call('PUT', `${path}/quotas`, { key, body: quotas })).status).toBe(200);
  const large = letter({ subject: 'Large', body: 'x'.repeat(10_000) });
  const to = [`a@${RECEIVING}`, `a@${OTHER_RECEIVING}`];
  expect(await server.deliver(to, large)).toMatchObject({
    code: 452,
    text: expect.stringContaining('4.2.2'),
  });
  expect((await server.deliver(`a@${OTHER_RECEIVING}`, large)).code).toBe(250);

  const simulate = (text: string) =>
    app.call('POST', '/inbound-messages/simulate', {
      body: { from: { email: 'a@b.example' }, to: { email: `a@${RECEIVING}` }, subject: 'S', text },
    });
  expect(await simulate('x'.repeat(10_000))).toMatchObject({
    status: 429,
    json: { code: 'quota_exceeded', quota: { name: 'content_bytes', resets_at: null } },
  });
  const small = await simulate('x');
  expect(small.status).toBe(201);
  expect(await used()).toBe(first.size_bytes + small.json.size_bytes);
  expect((await server.list()).map(({ subject }: { subject: string }) => subject)).toEqual([
    'First',
  ]);
});
