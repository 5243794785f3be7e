import { describe, expect, test } from 'vitest';
import {
  type ReceiverScript,
  startSmtpReceiver,
} from '../../../test/harness/smtp/smtp-receiver.ts';
import {
  connectionTo,
  settleLoopback,
  smtpMessage,
} from '../../../test/harness/smtp/smtp-sender.ts';
import type { SmtpSendResult } from './smtp-results.ts';

/**
 * Goal: messages arrive byte for byte, each recipient gets its own result, and pipelining follows
 * RFC 2920. Method: a scripted receiver that records every protocol violation; held replies show
 * what is sent without waiting.
 */

const LOCKSTEP = ['SIZE 26214400', '8BITMIME', 'SMTPUTF8'];
const kinds: [string, ReceiverScript][] = [
  ['with PIPELINING', {}],
  ['without PIPELINING', { keywords: LOCKSTEP }],
];

describe.each(kinds)('%s', (_name, offers) => {
  test('a message arrives unchanged', async () => {
    await using receiver = await startSmtpReceiver(offers);
    const connection = await connectionTo(receiver);
    const data = Buffer.from('Subject: dots\r\n\r\n.\r\n..\r\n.a\r\nlast line without end');
    const result = await connection.send(
      smtpMessage({ recipients: ['jane@example.test', '"odd > one"@example.test'], data }),
    );
    expect(result.recipients.map((recipient) => recipient.accepted)).toEqual([true, true]);
    expect(receiver.messages).toHaveLength(1);
    expect(receiver.messages[0]).toMatchObject({
      mailFrom: 'bounce@sender.example.test',
      mailParameters: [`SIZE=${data.length + 2}`],
      accepted: true,
    });
    expect(receiver.messages[0]?.raw.toString()).toBe(`${data}\r\n`);
    expect(receiver.violations).toEqual([]);
  });

  test('hundreds of messages on one connection each get their own result, in order', async () => {
    await using receiver = await startSmtpReceiver({
      ...offers,
      onMessage: (message) => `250 2.0.0 ${message.raw.toString().trim()}`,
    });
    const connection = await connectionTo(receiver);
    const results = await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        connection.send(smtpMessage({ data: Buffer.from(`n${i}\r\n`) })),
      ),
    );
    expect(results.map(finalText)).toEqual(results.map((_, i) => `n${i}`));
    expect(results.map((result) => result.messageNumber)).toEqual(results.map((_, i) => i + 1));
    expect(connection.messagesSent).toBe(300);
    expect(receiver.sessions).toHaveLength(1);
    expect(receiver.violations).toEqual([]);
  });

  test('one of three recipients is rejected, and the others get the message', async () => {
    await using receiver = await startSmtpReceiver({
      ...offers,
      onRcpt: (to) => (to.startsWith('b') ? '550 5.1.1 no such user' : undefined),
    });
    const connection = await connectionTo(receiver);
    const recipients = ['a@example.test', 'b@example.test', 'c@example.test'];
    const result = await connection.send(smtpMessage({ recipients }));
    expect(result.recipients).toMatchObject([
      { recipient: 'a@example.test', accepted: true, reply: { code: 250 } },
      {
        recipient: 'b@example.test',
        accepted: false,
        failure: { kind: 'refused', stage: 'rcpt', reply: { code: 550, enhanced: '5.1.1' } },
      },
      { recipient: 'c@example.test', accepted: true },
    ]);
    expect(receiver.messages[0]?.recipients).toEqual(['a@example.test', 'c@example.test']);
  });

  test.each<[string, ReceiverScript, string, number]>([
    ['MAIL', { onMail: () => '451 4.7.1 greylisted' }, 'mail', 451],
    ['every RCPT', { onRcpt: () => '550 5.1.1 no' }, 'rcpt', 550],
    ['DATA', { onData: () => '452 4.3.1 no room' }, 'data', 452],
    ['the message', { onMessage: () => '554 5.7.1 spam' }, 'body', 554],
  ])('one rejected %s does not affect the next message', async (_what, script, stage, code) => {
    await using receiver = await startSmtpReceiver({ ...offers, ...script });
    const connection = await connectionTo(receiver);
    const refused = await connection.send(smtpMessage());
    expect(refused.recipients[0]).toMatchObject({
      accepted: false,
      failure: { kind: 'refused', stage, reply: { code }, staleConnection: false },
    });
    receiver.script = offers;
    const [second, third] = await Promise.all([
      connection.send(smtpMessage({ data: Buffer.from('second\r\n') })),
      connection.send(smtpMessage({ data: Buffer.from('third\r\n') })),
    ]);
    expect(second.recipients[0]?.accepted).toBe(true);
    expect(third.recipients[0]?.accepted).toBe(true);
    const accepted = receiver.messages.filter((message) => message.accepted);
    expect(accepted.map((message) => message.raw.toString())).toEqual(['second\r\n', 'third\r\n']);
    // An open transaction would have caused "nested MAIL".
    expect(receiver.violations).toEqual([]);
  });

  test('a message of several megabytes arrives complete, followed by others', async () => {
    await using receiver = await startSmtpReceiver(offers);
    const connection = await connectionTo(receiver);
    const line = Buffer.from(`.${'x'.repeat(76)}\r\n`);
    const block = Buffer.concat(Array.from({ length: 20_000 }, () => line));
    const [large, small] = await Promise.all([
      connection.send(smtpMessage({ data: [block, block] })),
      connection.send(smtpMessage()),
    ]);
    expect(large.recipients[0]?.accepted).toBe(true);
    expect(small.recipients[0]?.accepted).toBe(true);
    expect(receiver.messages[0]?.raw.equals(Buffer.concat([block, block]))).toBe(true);
    expect(receiver.messages).toHaveLength(2);
    expect(receiver.violations).toEqual([]);
  });
});

describe('pipelining', () => {
  test('sends the next MAIL, RCPT and DATA before the reply to the final dot', async () => {
    const answer = Promise.withResolvers<string>();
    await using receiver = await startSmtpReceiver({ onMessage: () => answer.promise });
    const connection = await connectionTo(receiver);
    const first = connection.send(smtpMessage({ mailFrom: 'first@sender.example.test' }));
    const second = connection.send(smtpMessage({ mailFrom: 'second@sender.example.test' }));
    expect(connection.hasCapacity).toBe(false);
    await receiver.untilMessages(1);
    await receiver.until(() => receiver.sessions[0]?.unread.endsWith('DATA\r\n') ?? false);
    expect(receiver.sessions[0]?.unread).toBe(
      'MAIL FROM:<second@sender.example.test> SIZE=32\r\nRCPT TO:<jane@example.test>\r\nDATA\r\n',
    );
    answer.resolve('250 2.0.0 ok');
    const results = await Promise.all([first, second]);
    expect(results.map((result) => result.recipients[0]?.accepted)).toEqual([true, true]);
    expect(receiver.violations).toEqual([]);
  });

  test('also when the next message is added while waiting for that reply', async () => {
    const answer = Promise.withResolvers<string>();
    await using receiver = await startSmtpReceiver({
      onMessage: (_message, session) => (session.messageCount === 1 ? answer.promise : undefined),
    });
    const connection = await connectionTo(receiver);
    const first = connection.send(smtpMessage());
    await receiver.untilMessages(1);
    expect(connection.hasCapacity).toBe(true);
    const second = connection.send(smtpMessage());
    await receiver.until(() => receiver.sessions[0]?.unread.endsWith('DATA\r\n') ?? false);
    answer.resolve('451 4.0.0 not this one');
    expect((await first).recipients[0]).toMatchObject({ failure: { stage: 'body' } });
    expect((await second).recipients[0]).toMatchObject({ accepted: true });
    expect(receiver.messages).toHaveLength(2);
  });

  test('sends a lone dot when DATA is accepted although every recipient was rejected', async () => {
    await using receiver = await startSmtpReceiver({
      onRcpt: () => '550 5.1.1 no',
      onData: () => '354 go',
      onMessage: () => '554 5.5.1 no valid recipients',
    });
    const connection = await connectionTo(receiver);
    const refused = await connection.send(smtpMessage());
    expect(refused.recipients[0]).toMatchObject({
      failure: { stage: 'rcpt', reply: { code: 550 } },
    });
    expect(receiver.messages[0]?.raw.toString()).toBe('');
    receiver.script = {};
    const next = await connection.send(smtpMessage());
    expect(next.recipients[0]?.accepted).toBe(true);
    expect(receiver.messages[1]?.raw.toString()).toContain('Hello, Jane.');
  });

  test('an accepted lone dot delivers nothing', async () => {
    await using receiver = await startSmtpReceiver({
      onRcpt: () => '550 5.1.1 no',
      onData: () => '354 go',
    });
    const connection = await connectionTo(receiver);
    const refused = await connection.send(smtpMessage());
    expect(refused.recipients[0]).toMatchObject({ accepted: false, failure: { stage: 'rcpt' } });
  });

  test('sends no dot to a receiver that rejected MAIL but accepted the recipients', async () => {
    await using receiver = await startSmtpReceiver({
      onMail: (_from, session) => {
        session.lenient = true;
        return '550 5.7.1 not you';
      },
    });
    const connection = await connectionTo(receiver);
    const refused = await connection.send(smtpMessage());
    expect(refused.recipients[0]).toMatchObject({
      failure: { stage: 'mail', reply: { code: 550 } },
    });
    expect(connection.usable).toBe(false);
    await receiver.until(() => receiver.sessions[0]?.closed ?? false);
    expect(receiver.messages).toEqual([]);
  });

  test('resets an open transaction together with the next MAIL', async () => {
    await using receiver = await startSmtpReceiver({ onRcpt: () => '450 4.2.1 busy' });
    const connection = await connectionTo(receiver);
    await connection.send(smtpMessage());
    receiver.script = {};
    const { transcript } = await connection.send(smtpMessage());
    expect(transcript.lines.map((line) => line.text)).toEqual([
      '(connection reused, message 2)',
      'RSET',
      'MAIL FROM:<bounce@sender.example.test> SIZE=32',
      'RCPT TO:<jane@example.test>',
      'DATA',
      '250 2.0.0 reset',
      '250 2.1.0 ok',
      '250 2.1.5 ok',
      '354 go ahead',
      '(32 bytes of message)',
      '250 2.0.0 queued',
    ]);
  });
});

test('a server that is temporarily unavailable is disconnected, and not retried on the same connection', async () => {
  await using receiver = await startSmtpReceiver({
    onRcpt: () => '450 4.3.2 Service currently unavailable',
  });
  const connection = await connectionTo(receiver);
  const { recipients } = await connection.send(smtpMessage());
  expect(recipients[0]).toMatchObject({ failure: { reply: { code: 450 } } });
  expect(connection.usable).toBe(false);
  await receiver.until(() => receiver.sessions[0]?.closed ?? false);
  expect(receiver.sessions[0]?.commands.at(-1)).toBe('QUIT');
});

test('several recipients are named for the reports of forwarding servers', async () => {
  await using receiver = await startSmtpReceiver({ keywords: ['PIPELINING', 'DSN'] });
  const connection = await connectionTo(receiver);
  const rcptCommands = async (recipients: string[]) => {
    const { transcript } = await connection.send(smtpMessage({ recipients }));
    return transcript.lines.map(({ text }) => text).filter((text) => text.startsWith('RCPT'));
  };
  expect(await rcptCommands(['a@example.test', 'b+c@example.test'])).toEqual([
    'RCPT TO:<a@example.test> ORCPT=rfc822;a@example.test',
    'RCPT TO:<b+c@example.test>',
  ]);
  expect(await rcptCommands(['a@example.test'])).toEqual(['RCPT TO:<a@example.test>']);
  expect(receiver.messages[0]?.recipients).toEqual(['a@example.test', 'b+c@example.test']);
});

describe('before anything is sent, it is detected', () => {
  test.each<[string, string[], Parameters<typeof smtpMessage>[0], string]>([
    ['that UTF-8 headers need SMTPUTF8', ['8BITMIME'], { smtpUtf8: true }, 'smtputf8_unsupported'],
    [
      'that a UTF-8 address needs it',
      ['8BITMIME'],
      { recipients: ['jörg@example.test'] },
      'smtputf8_unsupported',
    ],
    ['that 8-bit bytes need 8BITMIME', [], { data: Buffer.from('ü\r\n') }, 'eightbit_unsupported'],
    ['that the message is too large', ['SIZE 10'], {}, 'message_too_large'],
    ['that a bare LF cannot be sent', [], { data: Buffer.from('a\nb\r\n') }, 'malformed_message'],
    [
      'that an address would break the command',
      [],
      { recipients: ['a@b.test>\r\nRSET'] },
      'malformed_message',
    ],
    [
      'that an address would add a parameter',
      [],
      { recipients: ['a@b.test> NOTIFY=NEVER'] },
      'malformed_message',
    ],
  ])('%s', async (_what, keywords, changes, kind) => {
    await using receiver = await startSmtpReceiver({ keywords });
    const connection = await connectionTo(receiver);
    const result = await connection.send(smtpMessage(changes));
    expect(result.recipients[0]).toMatchObject({
      accepted: false,
      failure: { kind, stage: 'mail', afterFinalDot: false, staleConnection: false },
    });
    expect(receiver.commands).toHaveLength(1);
    expect(connection.usable).toBe(true);
    expect(connection.messagesSent).toBe(0);
  });

  test('which parameters MAIL needs, and no others', async () => {
    await using receiver = await startSmtpReceiver();
    const connection = await connectionTo(receiver);
    await connection.send(smtpMessage({ mailFrom: '', data: Buffer.from('a\r\n') }));
    await connection.send(smtpMessage({ data: Buffer.from('ü\r\n') }));
    await connection.send(
      smtpMessage({ recipients: ['jörg@example.test'], data: Buffer.from('a\r\n') }),
    );
    expect(receiver.messages.map((message) => message.mailParameters)).toEqual([
      ['SIZE=3'],
      ['SIZE=4', 'BODY=8BITMIME'],
      ['SIZE=3', 'SMTPUTF8'],
    ]);
    expect(receiver.messages.map((message) => message.mailFrom)).toEqual([
      '',
      'bounce@sender.example.test',
      'bounce@sender.example.test',
    ]);
    expect(receiver.messages[2]?.recipients).toEqual(['jörg@example.test']);
  });
});

describe('the transcript', () => {
  test('of the first message includes opening the session; later ones mention the reuse', async () => {
    await using receiver = await startSmtpReceiver({ keywords: ['PIPELINING'] });
    const connection = await connectionTo(receiver);
    const [first, second] = await Promise.all([
      connection.send(smtpMessage()),
      connection.send(smtpMessage()),
    ]);
    expect(said(first)).toEqual([
      `note: (connecting to mx.example.test [127.0.0.1]:${receiver.port})`,
      'server: 220 mx.example.test ESMTP',
      'client: EHLO sender.example.test',
      'server: 250-mx.example.test',
      'server: 250 PIPELINING',
      'client: MAIL FROM:<bounce@sender.example.test>',
      'client: RCPT TO:<jane@example.test>',
      'client: DATA',
      'server: 250 2.1.0 ok',
      'server: 250 2.1.5 ok',
      'server: 354 go ahead',
      'note: (32 bytes of message)',
      'server: 250 2.0.0 queued',
    ]);
    expect(said(second)).toEqual(['note: (connection reused, message 2)', ...said(first).slice(5)]);
  });

  test('never contains the message', async () => {
    await using receiver = await startSmtpReceiver();
    const connection = await connectionTo(receiver);
    const result = await connection.send(
      smtpMessage({ data: Buffer.from('secret code 123456\r\n') }),
    );
    expect(JSON.stringify(result)).not.toContain('123456');
  });
});

describe('quit', () => {
  test('waits for messages in flight and then sends QUIT', async () => {
    const answer = Promise.withResolvers<string>();
    await using receiver = await startSmtpReceiver({ onMessage: () => answer.promise });
    const connection = await connectionTo(receiver);
    const sent = connection.send(smtpMessage());
    await receiver.untilMessages(1);
    const quit = connection.quit();
    expect(connection.usable).toBe(false);
    const late = await connection.send(smtpMessage());
    expect(late.recipients[0]).toMatchObject({ failure: { kind: 'connection_lost' } });
    await settleLoopback();
    expect(receiver.sessions[0]?.unread).toBe('');
    answer.resolve('250 2.0.0 ok');
    expect((await sent).recipients[0]?.accepted).toBe(true);
    await quit;
    expect(receiver.commands.at(-1)).toBe('QUIT');
    expect(receiver.violations).toEqual([]);
  });

  test('may be called twice, and after the connection has closed', async () => {
    await using receiver = await startSmtpReceiver();
    const connection = await connectionTo(receiver);
    await Promise.all([connection.quit(), connection.quit()]);
    await connection.quit();
    expect(receiver.commands.filter((line) => line === 'QUIT')).toHaveLength(1);
  });
});

function finalText(result: SmtpSendResult): string {
  const [first] = result.recipients;
  return first?.accepted ? first.reply.text : JSON.stringify(first);
}

function said(result: SmtpSendResult): string[] {
  return result.transcript.lines.map(({ by, text }) => `${by}: ${text}`);
}
