import { createHash, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { type DeliverySetup, setUpDelivery } from '../../harness/delivery/delivery-setup.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';

/**
 * Mail is encrypted whenever the receiver supports it; if TLS is required, mail is never sent in the clear or
 * to a server that cannot prove its name. Receivers have real certificates, valid and invalid.
 */

const ENFORCED = 'version: STSv1\r\nmode: enforce\r\nmx: mx1.example.test\r\nmax_age: 86400\r\n';
const STS_DNS = { '_mta-sts.example.org': { TXT: ['v=STSv1; id=1'] } };

test('STARTTLS is used when offered, whatever the certificate, and recorded', async () => {
  await using setup = await setUpDelivery({ receivers: [{ tls: tlsFixtures.selfSigned }] });
  const id = await setup.send();
  expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
  expect(setup.receiver.messages[0]?.tls?.version).toBe('TLSv1.3');
  expect((await setup.attempts(id))[0]?.smtp?.tls).toBe('TLSv1.3');
});

test('broken STARTTLS without a TLS requirement: sent in the clear in the same attempt', async () => {
  await using setup = await setUpDelivery({
    receivers: [{ tls: tlsFixtures.selfSigned, brokenTls: 'nonsense' }],
  });
  const id = await setup.send();
  expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 1 });
  expect(setup.receiver.messages[0]?.tls).toBeNull();
  const [attempt] = await setup.attempts(id);
  expect(attempt?.transcript).toMatch(/client: STARTTLS[\s\S]*connecting to mx1/);
});

test('broken STARTTLS with a TLS requirement: deferred, nothing sent in the clear', async () => {
  await using setup = await setUpDelivery({
    tls: 'required',
    receivers: [{ tls: tlsFixtures.selfSigned, brokenTls: 'nonsense' }],
  });
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  expect((await setup.attempts(id))[0]?.bounce?.reason).toBe('tls_failed');
  expect(setup.receiver.commands.some((command) => command.startsWith('MAIL'))).toBe(false);
});

test('TLS required and not offered: deferred, then delivered once it is offered', async () => {
  await using setup = await setUpDelivery({ tls: 'required' });
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  expect((await setup.attempts(id))[0]?.bounce?.reason).toBe('tls_required');
  expect(setup.receiver.commands.some((command) => command.startsWith('MAIL'))).toBe(false);
  setup.receiver.script.tls = tlsFixtures.selfSigned;
  expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
  expect(setup.receiver.messages[0]?.tls).not.toBeNull();
});

test('MTA-STS enforce with an invalid certificate: deferred, no mail sent', async () => {
  await using setup = await setUpDelivery({
    stsPolicy: ENFORCED,
    dns: STS_DNS,
    receivers: [{ tls: tlsFixtures.wrongName }],
  });
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  const [attempt] = await setup.attempts(id);
  expect(attempt?.bounce?.reason).toBe('tls_failed');
  expect(attempt?.bounce?.explanation).toContain('certificate');
  expect(setup.receiver.commands.some((command) => command.startsWith('MAIL'))).toBe(false);
});

test('MTA-STS enforce without this MX: deferred without a connection', async () => {
  await using setup = await setUpDelivery({
    stsPolicy: ENFORCED.replace('mx1', 'mx9'),
    dns: STS_DNS,
    receivers: [{ tls: tlsFixtures.good }],
  });
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  expect(setup.receiver.sessions).toHaveLength(0);
});

/** A TLSA record (3 1 1) for the receiver's port, in signed zones. */
function daneFor(setup: DeliverySetup, cert: string): void {
  const key = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' });
  const data = createHash('sha256').update(key).digest();
  setup.dns.setName('example.org', { MX: ['10 mx1.example.test'], authenticated: true });
  setup.dns.setName('mx1.example.test', { A: ['127.0.0.1'], AAAA: [], authenticated: true });
  setup.dns.setName(`_${setup.receiver.port}._tcp.mx1.example.test`, {
    TLSA: [{ usage: 3, selector: 1, matchingType: 1, data }],
    authenticated: true,
  });
}

test('DANE: mail is sent only to a server whose key matches its TLSA record', async () => {
  await using setup = await setUpDelivery({ receivers: [{ tls: tlsFixtures.selfSigned }] });
  daneFor(setup, tlsFixtures.good.cert);
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  expect((await setup.attempts(id))[0]?.bounce?.reason).toBe('tls_failed');
  expect(setup.receiver.commands.some((command) => command.startsWith('MAIL'))).toBe(false);
  daneFor(setup, tlsFixtures.selfSigned.cert);
  expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
  expect(setup.receiver.messages[0]?.tls).not.toBeNull();
});

test('DANE: domains behind one server share its connections', async () => {
  await using setup = await setUpDelivery({ receivers: [{ tls: tlsFixtures.selfSigned }] });
  daneFor(setup, tlsFixtures.selfSigned.cert);
  setup.dns.setName('example.net', { MX: ['10 mx1.example.test'], authenticated: true });
  // In small steps: an idle connection is closed after ten seconds.
  await setup.waitForStatus(await setup.send(), 'delivered', 10);
  await setup.waitForStatus(await setup.send({ recipients: ['jim@example.net'] }), 'delivered', 10);
  expect(setup.receiver.sessions).toHaveLength(1);
});

test('DANE with missing or broken STARTTLS: deferred, never sent in the clear', async () => {
  await using setup = await setUpDelivery();
  daneFor(setup, tlsFixtures.good.cert);
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  expect((await setup.attempts(id))[0]?.bounce?.reason).toBe('tls_required');
  setup.receiver.script.brokenTls = 'nonsense';
  await setup.until(async () => (await setup.attempts(id)).length === 2, 5_000);
  expect((await setup.attempts(id))[1]?.bounce?.reason).toBe('tls_failed');
  expect(setup.receiver.commands.some((command) => command.startsWith('MAIL'))).toBe(false);
});
