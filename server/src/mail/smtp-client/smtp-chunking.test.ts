import { expect, test } from 'vitest';
import { HANG_UP, startSmtpReceiver } from '../../../test/harness/smtp/smtp-receiver.ts';
import { connectionTo, smtpMessage } from '../../../test/harness/smtp/smtp-sender.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';

/**
 * Goal: where the receiver offers CHUNKING (RFC 3030), messages are sent with BDAT, several in one write,
 * and neither a rejected message nor a lost connection confuses their results. Method: a scripted receiver
 * that keeps a transaction open after a rejected BDAT, as RFC 3030 allows, and records "nested MAIL".
 */

const keywords = ['PIPELINING', 'CHUNKING', '8BITMIME'];

test('messages arrive unchanged, each with its own result', async () => {
  await using receiver = await startSmtpReceiver({
    keywords,
    onMessage: (message) => `250 2.0.0 ${message.raw.toString().trim()}`,
  });
  const connection = await connectionTo(receiver);
  const results = await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      connection.send(smtpMessage({ data: Buffer.from(`n${n} ü\r\n`) })),
    ),
  );
  expect(results.map(({ recipients: [one] }) => one?.accepted && one.reply.text)).toEqual(
    results.map((_, n) => `n${n} ü`),
  );
  expect(receiver.messages[0]).toMatchObject({
    mailFrom: 'bounce@sender.example.test',
    mailParameters: ['BODY=8BITMIME'],
    recipients: ['jane@example.test'],
  });
  expect(receiver.commands).not.toContain('DATA');
  expect(receiver.violations).toEqual([]);
});

test('messages that are sent together share a write', async () => {
  const answer = Promise.withResolvers<string>();
  await using receiver = await startSmtpReceiver({ keywords, onMail: () => answer.promise });
  const connection = await connectionTo(receiver);
  const sent = [1, 2, 3, 4].map((n) =>
    connection.send(smtpMessage({ data: Buffer.from(`message ${n}\r\n`) })),
  );
  expect(connection.hasCapacity).toBe(false);
  await receiver.until(() => receiver.sessions[0]?.unread.includes('message 4') ?? false);
  expect(receiver.sessions[0]?.unread).toBe(
    [1, 2, 3, 4]
      .map(
        (n) =>
          (n === 1 ? '' : 'RSET\r\nMAIL FROM:<bounce@sender.example.test>\r\n') +
          `RCPT TO:<jane@example.test>\r\nBDAT 11 LAST\r\nmessage ${n}\r\n`,
      )
      .join(''),
  );
  answer.resolve('250 2.1.0 ok');
  const results = await Promise.all(sent);
  expect(results.map(({ recipients }) => recipients[0]?.accepted)).toEqual(Array(4).fill(true));
});

test.each([
  ['MAIL', 'mail', { onMail: (from: string) => (from === 'a@x.test' ? '550 no' : undefined) }],
  ['RCPT', 'rcpt', { onRcpt: (to: string) => (to === 'a@x.test' ? '550 no' : undefined) }],
  [
    'the message',
    'body',
    {
      onMessage: ({ mailFrom }: { mailFrom: string }) =>
        mailFrom === 'a@x.test' ? '550 no' : undefined,
    },
  ],
])('a rejection of %s does not affect the messages behind it', async (_what, stage, script) => {
  await using receiver = await startSmtpReceiver({ keywords, ...script });
  const connection = await connectionTo(receiver);
  const [rejected, ...others] = await Promise.all(
    ['a', 'b', 'c', 'a', 'd'].map((name) => {
      const mailFrom = `${name}@x.test`;
      return connection.send(smtpMessage({ mailFrom, recipients: [mailFrom] }));
    }),
  );
  const failure = { kind: 'refused', stage, reply: { code: 550 } };
  expect(rejected?.recipients[0]).toMatchObject({ accepted: false, failure });
  expect(others.map(({ recipients }) => recipients[0]?.accepted)).toEqual([
    true,
    true,
    false,
    true,
  ]);
  // A rejected message with nothing behind it leaves its transaction open, too.
  await connection.send(smtpMessage({ mailFrom: 'a@x.test', recipients: ['a@x.test'] }));
  const later = await connection.send(smtpMessage());
  expect(later.recipients[0]?.accepted).toBe(true);
  const commands = receiver.commands.map((command) => command.slice(0, 4));
  expect(commands.slice(-5)).toEqual(['BDAT', 'RSET', 'MAIL', 'RCPT', 'BDAT']);
  expect(receiver.violations).toEqual([]);
});

test('one of two recipients is rejected, and the other gets the message', async () => {
  await using receiver = await startSmtpReceiver({
    keywords,
    onRcpt: (to) => (to.startsWith('a') ? '550 5.1.1 no such user' : undefined),
  });
  const connection = await connectionTo(receiver);
  const recipients = ['a@example.test', 'b@example.test'];
  const result = await connection.send(smtpMessage({ recipients }));
  expect(result.recipients).toMatchObject([
    { accepted: false, failure: { stage: 'rcpt', reply: { enhanced: '5.1.1' } } },
    { accepted: true },
  ]);
  expect(receiver.messages[0]?.recipients).toEqual(['b@example.test']);
});

test('a connection that has been silent gets DATA, since the receiver may have closed it', async () => {
  const clock = new ManualClock(0);
  await using receiver = await startSmtpReceiver({ keywords });
  const connection = await connectionTo(receiver, {}, { clock });
  await connection.send(smtpMessage());
  clock.advance(1_000);
  await connection.send(smtpMessage());
  await connection.send(smtpMessage());
  const verbs = receiver.commands.map((command) => command.split(' ', 1)[0]);
  expect(verbs.filter((verb) => verb === 'BDAT' || verb === 'DATA')).toEqual([
    'BDAT',
    'DATA',
    'BDAT',
  ]);
  expect(receiver.violations).toEqual([]);
});

test('a large message, and one with dots at the start of lines, get DATA', async () => {
  await using receiver = await startSmtpReceiver({ keywords });
  const connection = await connectionTo(receiver);
  const large = Buffer.from(`${'x'.repeat(70)}\r\n`.repeat(1_000));
  const dots = Buffer.from('.\r\n..\r\n');
  const all = [large, smtpMessage().data as Buffer, dots, smtpMessage().data as Buffer];
  await Promise.all(all.map((data) => connection.send(smtpMessage({ data }))));
  expect(receiver.messages.map(({ raw }) => raw.equals(all.shift() as Buffer))).toEqual(
    Array(4).fill(true),
  );
  expect(receiver.commands.filter((command) => command === 'DATA')).toHaveLength(2);
  expect(receiver.violations).toEqual([]);
});

test('when the connection is lost, all that was written may have been accepted', async () => {
  await using receiver = await startSmtpReceiver({ keywords, onMessage: () => HANG_UP });
  const connection = await connectionTo(receiver);
  const results = await Promise.all([1, 2, 3, 4, 5].map(() => connection.send(smtpMessage())));
  const failures = results.map(({ recipients }) => recipients[0]);
  for (const one of failures.slice(0, 4)) {
    expect(one).toMatchObject({ failure: { kind: 'connection_lost', afterFinalDot: true } });
  }
  expect(failures[4]).toMatchObject({ failure: { afterFinalDot: false, staleConnection: true } });
  expect(connection.lostChunks).toBe(true);
});

test('messages behind a 421 were not read and may be sent again at once', async () => {
  await using receiver = await startSmtpReceiver({
    keywords,
    onMail: (_from, session) => (session.messageCount > 0 ? '421 4.7.0 one is enough' : undefined),
  });
  const connection = await connectionTo(receiver);
  const [first, ...others] = await Promise.all([1, 2, 3].map(() => connection.send(smtpMessage())));
  expect(first?.recipients[0]?.accepted).toBe(true);
  expect(others.map(({ recipients }) => recipients[0])).toMatchObject([
    { failure: { kind: 'refused', reply: { code: 421 }, afterFinalDot: false } },
    { failure: { kind: 'connection_lost', afterFinalDot: false, staleConnection: true } },
  ]);
  expect(connection.lostChunks).toBe(false);
});

test('a receiver that offers CHUNKING but does not know BDAT has rejected nothing', async () => {
  await using receiver = await startSmtpReceiver({ keywords, onBdat: () => '500 5.5.1 unknown' });
  const connection = await connectionTo(receiver);
  const { recipients } = await connection.send(smtpMessage());
  expect(recipients[0]).toMatchObject({ failure: { kind: 'protocol_error' } });
  expect(connection.usable).toBe(false);
  expect(connection.lostChunks).toBe(true);
});

test('where a rejected chunk is read as commands, no other message is rejected', async () => {
  await using receiver = await startSmtpReceiver({
    keywords,
    onMail: (from) => (from === 'a@x.test' ? '550 5.7.1 not from you' : undefined),
    onBdat: ({ mailFrom }) => (mailFrom === undefined ? '503 5.5.1 MAIL first' : undefined),
  });
  const connection = await connectionTo(receiver);
  const [rejected, other] = await Promise.all([
    connection.send(smtpMessage({ mailFrom: 'a@x.test' })),
    connection.send(smtpMessage()),
  ]);
  expect(rejected.recipients[0]).toMatchObject({ failure: { kind: 'refused', stage: 'mail' } });
  expect(other.recipients[0]).toMatchObject({ failure: { kind: 'protocol_error' } });
  expect(connection.usable).toBe(false);
});

test('nothing is sent once transmitting is no longer allowed', async () => {
  await using receiver = await startSmtpReceiver({ keywords });
  const connection = await connectionTo(receiver);
  const { recipients } = await connection.send(smtpMessage({ mayTransmit: () => false }));
  expect(recipients[0]).toMatchObject({ failure: { kind: 'aborted', afterFinalDot: false } });
  await connection.quit();
  expect(receiver.commands).toEqual([expect.stringContaining('EHLO'), 'QUIT']);
});

test('messages in flight get their replies when the next one may not be sent', async () => {
  const answer = Promise.withResolvers<string>();
  await using receiver = await startSmtpReceiver({ keywords, onMessage: () => answer.promise });
  const connection = await connectionTo(receiver);
  const first = connection.send(smtpMessage());
  await receiver.until(() => receiver.messages.length === 1);
  const { recipients } = await connection.send(smtpMessage({ mayTransmit: () => false }));
  expect(recipients[0]).toMatchObject({ failure: { kind: 'aborted', afterFinalDot: false } });
  const quit = connection.quit();
  answer.resolve('250 2.0.0 ok');
  expect((await first).recipients[0]).toMatchObject({ accepted: true });
  await quit;
  expect(receiver.messages).toHaveLength(1);
});
