import { expect, test } from 'vitest';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';
import { setUpWebhooks } from '../../harness/webhooks/webhook-setup.ts';

/**
 * A tenant cannot make the server connect to its own network, by any name. The tenant's name server answers
 * differently when the endpoint is created and when events are sent. target-url.test.ts and target-guard.test.ts test
 * notations and ranges.
 */

test('a name that resolves to a private address later is not connected to', async () => {
  await using dns = await startDnsServer({ 'hooks.tenant.example': { A: ['93.184.216.34'] } });
  await using inside = await startWebhookReceiver();
  await using setup = await setUpWebhooks({ dns: dns.address, allowPrivate: false });
  const { id } = await setup.createEndpoint(`http://hooks.tenant.example:${inside.port}/`);
  dns.set('hooks.tenant.example', 'A', ['127.0.0.1']);
  await setup.appendEvents(1);
  await until(async () => (await setup.deliveries())[0]?.tries === 1);
  const [delivery] = await setup.deliveries();
  expect(delivery).toMatchObject({ status: 'pending', last_status: null });
  expect(delivery?.last_error).toContain('webhooks may not reach');
  expect(inside.connections).toBe(0);
  expect((await setup.node.webhooks.get(setup.scope, id)).enabled).toBe(true);
});

test('one private address among public ones rejects the endpoint', async () => {
  await using dns = await startDnsServer({
    'mixed.tenant.example': { A: ['93.184.216.34'], AAAA: ['fd00::1'] },
    'alias.tenant.example': { CNAME: 'metadata.tenant.example' },
    'metadata.tenant.example': { A: ['169.254.169.254'] },
  });
  await using setup = await setUpWebhooks({ dns: dns.address, allowPrivate: false });
  for (const host of ['mixed.tenant.example', 'alias.tenant.example']) {
    await expect(setup.createEndpoint(`https://${host}/`)).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/url', code: 'private_target' }],
    });
  }
});

test('a changed URL is validated like a new one', async () => {
  await using dns = await startDnsServer({ 'inside.tenant.example': { A: ['10.0.0.7'] } });
  await using setup = await setUpWebhooks({ dns: dns.address, allowPrivate: false });
  const { id } = await setup.createEndpoint('https://93.184.216.34/');
  for (const url of ['https://inside.tenant.example/', 'https://10.0.0.7/']) {
    await expect(setup.node.webhooks.change(setup.scope, id, { url })).rejects.toMatchObject({
      errors: [{ pointer: '/url', code: 'private_target' }],
    });
  }
});

test('existing endpoints are blocked after the operator disallows private targets', async () => {
  await using inside = await startWebhookReceiver();
  await using setup = await setUpWebhooks({ allowPrivate: false, dns: '127.0.0.1:1' });
  const { id } = await setup.createEndpoint('https://93.184.216.34/');
  await setup.pool.query('update webhooks set url = $1, revision = revision + 1 where id = $2', [
    inside.url,
    id,
  ]);
  await setup.appendEvents(1);
  await until(async () => (await setup.deliveries())[0]?.tries === 1);
  expect(inside.connections).toBe(0);
});

test('existing endpoints are blocked after the operator disallows their port', async () => {
  await using receiver = await startWebhookReceiver();
  let closed = false;
  await using setup = await setUpWebhooks({ portAllowed: () => !closed });
  const { id } = await setup.createEndpoint(receiver.url);
  closed = true;
  await setup.appendEvents(1);
  await until(async () => (await setup.deliveries())[0]?.tries === 1);
  const [delivery] = await setup.deliveries();
  const why = `Port ${receiver.port} is not allowed by the operator.`;
  expect(delivery).toMatchObject({ status: 'pending', last_status: null, last_error: why });
  const sample = { type: 'template.published', data: {} } as const;
  expect(await setup.node.tester.test(setup.scope, id, sample)).toMatchObject({
    succeeded: false,
    error: why,
  });
  expect(receiver.connections).toBe(0);
});
