import { expect, test } from 'vitest';
import { setUpDelivery } from '../../harness/delivery/delivery-setup.ts';

/**
 * Permanent DNS answers end a delivery immediately, temporary failures are retried. The scripted name server is
 * queried over the network, so CNAMEs and IDNs are resolved for real.
 */

test('null MX: bounced immediately and permanently, and suppressed', async () => {
  await using setup = await setUpDelivery({ dns: { 'never.example': { MX: ['0 .'] } } });
  const id = await setup.send({ recipients: ['jane@never.example'] });
  expect((await setup.waitForStatus(id))[0]).toMatchObject({
    status: 'bounced',
    reason: 'unknown_domain',
    attempts: 1,
  });
  const bounced = (await setup.events()).find((event) => event.type === 'message.bounced');
  expect(bounced?.data).toMatchObject({ bounce: { class: 'hard' }, smtp: { enhanced: '5.1.10' } });
  expect((await setup.database.pool.query('select from suppressions')).rowCount).toBe(1);
});

test('NXDOMAIN: bounced immediately', async () => {
  await using setup = await setUpDelivery();
  const id = await setup.send({ recipients: ['jane@exampel.org'] });
  expect((await setup.waitForStatus(id))[0]).toMatchObject({
    status: 'bounced',
    reason: 'unknown_domain',
  });
  const [attempt] = await setup.attempts(id);
  expect(attempt?.bounce?.explanation).toContain('does not exist');
});

test('SERVFAIL: deferred, and delivered when the name server has recovered', async () => {
  await using setup = await setUpDelivery({ dns: { 'ill.example': 'SERVFAIL' } });
  const id = await setup.send({ recipients: ['jane@ill.example'] });
  await setup.waitForStatus(id, 'deferred');
  expect((await setup.attempts(id))[0]?.bounce).toMatchObject({ reason: 'network_unreachable' });
  setup.dns.setName('ill.example', { MX: ['10 mx1.example.test'] });
  expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
});

test('a domain without MX gets mail at its address record, also through a CNAME and as an IDN', async () => {
  await using setup = await setUpDelivery({
    dns: {
      'plain.example': { A: ['127.0.0.1'] },
      'alias.example': { MX: ['10 mail.alias.example'] },
      'mail.alias.example': { CNAME: 'mx1.example.test' },
      'xn--bcher-kva.example': { MX: ['10 mx1.example.test'] },
    },
  });
  for (const domain of ['plain.example', 'alias.example', 'xn--bcher-kva.example']) {
    const id = await setup.send({ recipients: [`jane@${domain}`] });
    expect((await setup.waitForStatus(id))[0]?.status, domain).toBe('delivered');
  }
  expect(setup.receiver.messages).toHaveLength(3);
});

test('servers without an address: bounced, but the address is not suppressed', async () => {
  await using setup = await setUpDelivery({
    dns: { 'broken.example': { MX: ['10 gone.example'] } },
  });
  const id = await setup.send({ recipients: ['jane@broken.example'] });
  expect((await setup.waitForStatus(id))[0]).toMatchObject({
    status: 'bounced',
    reason: 'unknown_domain',
  });
  expect((await setup.database.pool.query('select from suppressions')).rowCount).toBe(0);
});
