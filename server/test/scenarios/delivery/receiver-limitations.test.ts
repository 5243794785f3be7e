import { expect, test } from 'vitest';
import { setUpDelivery } from '../../harness/delivery/delivery-setup.ts';

/**
 * A message that a receiver cannot accept is neither sent nor altered. Receivers omit an extension or
 * announce a limit.
 */

test('SMTPUTF8 missing: bounced with 5.6.7, nothing rewritten, the address not suppressed', async () => {
  await using setup = await setUpDelivery({
    receivers: [{ keywords: ['PIPELINING', '8BITMIME'] }],
  });
  const id = await setup.send({ recipients: ['jörg@example.org'] });
  expect((await setup.waitForStatus(id))[0]).toMatchObject({
    status: 'bounced',
    reason: 'smtputf8_unsupported',
  });
  expect((await setup.attempts(id))[0]?.smtp).toMatchObject({ enhanced: '5.6.7' });
  expect(setup.receiver.messages).toHaveLength(0);
  expect((await setup.database.pool.query('select from suppressions')).rowCount).toBe(0);
});

test('SMTPUTF8 missing, and only Reply-To needs it: the recipient is not blamed', async () => {
  await using setup = await setUpDelivery({ receivers: [{ keywords: ['PIPELINING'] }] });
  const explanation = async (mail: { recipients: string[]; replyTo?: string }) => {
    const id = await setup.send(mail);
    expect((await setup.waitForStatus(id))[0]?.reason).toBe('smtputf8_unsupported');
    return (await setup.attempts(id))[0]?.bounce?.explanation;
  };
  const replyTo = { recipients: ['jane@example.org'], replyTo: 'jörg@example.com' };
  expect(await explanation(replyTo)).toMatch(/^An address in From, Reply-To, To or Cc contains/);
  expect(await explanation({ recipients: ['jörg@example.org'] })).toMatch(/^The address contains/);
});

test('SMTPUTF8 offered: delivered to the unchanged address', async () => {
  await using setup = await setUpDelivery({
    receivers: [{ keywords: ['PIPELINING', '8BITMIME', 'SMTPUTF8'] }],
  });
  const id = await setup.send({ recipients: ['jörg@example.org'] });
  expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
  expect(setup.receiver.messages[0]?.recipients).toEqual(['jörg@example.org']);
  expect(setup.receiver.messages[0]?.mailParameters).toContain('SMTPUTF8');
});

test('SIZE exceeded: soft bounce before anything is sent', async () => {
  await using setup = await setUpDelivery({ receivers: [{ keywords: ['SIZE 1000'] }] });
  const id = await setup.send({ html: `<p>${'x'.repeat(5000)}</p>` });
  expect((await setup.waitForStatus(id))[0]).toMatchObject({
    status: 'bounced',
    reason: 'message_too_large',
  });
  const bounced = (await setup.events()).find((event) => event.type === 'message.bounced');
  expect(bounced?.data).toMatchObject({ bounce: { class: 'soft' } });
  expect(setup.receiver.commands.some((command) => command.startsWith('MAIL'))).toBe(false);
});

test('a full mailbox is a soft bounce: the next message is attempted again', async () => {
  let full = true;
  await using setup = await setUpDelivery({
    receivers: [{ onRcpt: () => (full ? '552 5.2.2 Mailbox full' : undefined) }],
  });
  const first = await setup.send();
  expect((await setup.waitForStatus(first))[0]).toMatchObject({
    status: 'bounced',
    reason: 'mailbox_full',
  });
  full = false;
  const second = await setup.send();
  expect((await setup.waitForStatus(second))[0]?.status).toBe('delivered');
});

test('each blind copy is sent in a transaction of its own', async () => {
  await using setup = await setUpDelivery();
  const id = await setup.send({
    recipients: ['a@example.org', 'b@example.org', 'c@example.org', 'd@example.org'],
    bcc: ['c@example.org', 'd@example.org'],
  });
  await setup.waitForStatus(id, 'delivered');
  const transactions = setup.receiver.messages.map(({ recipients }) => recipients.join(' '));
  expect(transactions.sort()).toEqual([
    'a@example.org b@example.org',
    'c@example.org',
    'd@example.org',
  ]);
});
