import { expect, test } from 'vitest';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { type DeliverySetup, setUpDelivery } from '../../harness/delivery/delivery-setup.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';

/**
 * Providers such as Microsoft 365 have a server name for each customer, all at the same addresses. Mail
 * to their customers shares connections, as far as the TLS policies of the customers allow.
 */

const PROVIDER = { name: 'Provider', mx: ['*.provider.test'], idleSeconds: 200 };
/** The clock advances while a test waits, and must not reach the idle time meanwhile. */
const STEP_MS = 10;

test('customers of a provider share connections, and see only the name of their own server', async () => {
  await using setup = await setUpDelivery({
    receivers: [{ tls: tlsFixtures.selfSigned }],
    shaping: { receivers: [PROVIDER] },
  });
  addCustomers(setup, ['a', 'b']);
  const neighbor = await newWorkspace(setup.database.pool, setup.clock.now());
  const one = await setup.send({ recipients: ['jane@a.test'], workspaceId: neighbor });
  await setup.waitForStatus(one, 'delivered', STEP_MS);
  const two = await setup.send({ recipients: ['jane@b.test'] });
  await setup.waitForStatus(two, 'delivered', STEP_MS);
  expect(setup.receiver.sessions).toHaveLength(1);
  expect((await setup.attempts(one))[0]).toMatchObject({
    smtp: { mx: 'a.provider.test', tls: 'TLSv1.3' },
    transcript: expect.stringContaining('connecting to a.provider.test'),
  });
  const [attempt] = await setup.attempts(two);
  expect(attempt?.smtp?.mx).toBe('b.provider.test');
  expect(attempt?.transcript).toContain('connection reused');
  expect(attempt?.transcript).not.toContain('a.provider.test');
});

test('a failed connection is reported to each customer under the name of its own server', async () => {
  await using setup = await setUpDelivery({
    receivers: [{ onConnect: () => '421 4.3.2 not now' }],
    shaping: { receivers: [PROVIDER] },
  });
  addCustomers(setup, ['a', 'b']);
  const one = await setup.send({ recipients: ['jane@a.test'] });
  await setup.waitForStatus(one, 'deferred', STEP_MS);
  const two = await setup.send({ recipients: ['jane@b.test'] });
  await setup.waitForStatus(two, 'deferred', STEP_MS);
  expect((await setup.attempts(one))[0]?.smtp?.mx).toBe('a.provider.test');
  const [attempt] = await setup.attempts(two);
  expect(attempt?.smtp?.mx).toBe('b.provider.test');
  expect(attempt?.transcript).not.toContain('a.provider.test');
});

test('a customer with an MTA-STS policy never uses a connection whose certificate was not checked', async () => {
  await using setup = await setUpDelivery({
    receivers: [{ tls: tlsFixtures.selfSigned }],
    shaping: { receivers: [PROVIDER] },
    stsPolicy: 'version: STSv1\r\nmode: enforce\r\nmx: b.provider.test\r\nmax_age: 86400\r\n',
  });
  addCustomers(setup, ['a', 'b']);
  setup.dns.setName('_mta-sts.b.test', { TXT: ['v=STSv1; id=1'] });
  const one = await setup.send({ recipients: ['jane@a.test'] });
  await setup.waitForStatus(one, 'delivered', STEP_MS);
  const two = await setup.send({ recipients: ['jane@b.test'] });
  await setup.waitForStatus(two, 'deferred', STEP_MS);
  expect((await setup.attempts(two))[0]?.bounce?.reason).toBe('tls_failed');
  expect(setup.receiver.messages).toHaveLength(1);
});

test('servers without a rule share nothing, even at one address', async () => {
  await using setup = await setUpDelivery();
  addCustomers(setup, ['a', 'b']);
  for (const name of ['a', 'b']) {
    const id = await setup.send({ recipients: [`jane@${name}.test`] });
    await setup.waitForStatus(id, 'delivered', STEP_MS);
  }
  expect(setup.receiver.sessions).toHaveLength(2);
});

function addCustomers({ dns, receiver }: DeliverySetup, names: string[]): void {
  for (const name of names) {
    dns.setName(`${name}.test`, { MX: [`10 ${name}.provider.test`] });
    dns.setName(`${name}.provider.test`, { A: [receiver.host] });
  }
}
