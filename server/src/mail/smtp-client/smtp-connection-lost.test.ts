import { describe, expect, test } from 'vitest';
import {
  HANG_UP,
  type ReceiverScript,
  SILENCE,
  startSmtpReceiver,
} from '../../../test/harness/smtp/smtp-receiver.ts';
import {
  connectionTo,
  settleLoopback,
  smtpMessage,
} from '../../../test/harness/smtp/smtp-sender.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { RFC_TIMEOUTS } from './timeouts.ts';

/**
 * Goal: however a session ends, every message in it completes once, with the stage it reached and
 * whether it may have been accepted. Method: a receiver that disconnects, stops responding, sends
 * 421 or violates the protocol at each stage; a test clock.
 */

const LOCKSTEP = ['SIZE 26214400', '8BITMIME'];
const LAST_COMMAND: Record<string, RegExp> = {
  mail: /^MAIL/,
  rcpt: /^RCPT TO:<a@/,
  data: /^DATA/,
  body: /^DATA/,
};
const kinds: [string, ReceiverScript][] = [
  ['with PIPELINING', {}],
  ['without PIPELINING', { keywords: LOCKSTEP }],
];

describe.each(kinds)('%s', (_name, offers) => {
  test.each<[string, ReceiverScript, boolean]>([
    ['mail', { onMail: () => HANG_UP }, false],
    ['rcpt', { onRcpt: () => HANG_UP }, false],
    ['data', { onData: () => HANG_UP }, false],
    ['body', { onMessage: () => HANG_UP }, true],
  ])('a connection lost at %s is reported with its stage', async (stage, script, afterFinalDot) => {
    await using receiver = await startSmtpReceiver({ ...offers, ...script });
    const connection = await connectionTo(receiver);
    const result = await connection.send(smtpMessage());
    expect(result.recipients[0]).toMatchObject({
      accepted: false,
      failure: { kind: 'connection_lost', stage, afterFinalDot, staleConnection: false },
    });
    expect(connection.usable).toBe(false);
    expect(connection.inFlight).toBe(0);
  });

  test.each<[string, ReceiverScript, keyof typeof RFC_TIMEOUTS]>([
    ['mail', { onMail: () => SILENCE }, 'mailMs'],
    ['rcpt', { onRcpt: () => SILENCE }, 'rcptMs'],
    ['data', { onData: () => SILENCE }, 'dataMs'],
    ['body', { onMessage: () => SILENCE }, 'finalDotMs'],
  ])('no reply at %s fails after the RFC timeout, not before', async (stage, script, timeout) => {
    await using receiver = await startSmtpReceiver({ ...offers, ...script });
    const clock = new ManualClock(0);
    const connection = await connectionTo(receiver, {}, { clock });
    const sent = connection.send(smtpMessage());
    if (stage === 'body') await receiver.untilMessages(1);
    else await receiver.untilCommand(stage.toUpperCase());
    await settleLoopback();
    clock.advance(RFC_TIMEOUTS[timeout] - 1);
    expect(connection.usable).toBe(true);
    clock.advance(1);
    expect(connection.usable).toBe(false);
    expect((await sent).recipients[0]).toMatchObject({
      failure: { kind: 'timed_out', stage, afterFinalDot: stage === 'body' },
    });
  });

  test.each<[string, ReceiverScript]>([
    ['mail', { onMail: () => '421 4.3.2 closing' }],
    ['rcpt', { onRcpt: () => '421 4.3.2 closing' }],
    ['data', { onData: () => '421 4.3.2 closing' }],
    ['body', { onMessage: () => '421 4.3.2 closing' }],
  ])('421 at %s is the answer for all recipients and ends the session', async (stage, script) => {
    await using receiver = await startSmtpReceiver({ ...offers, ...script });
    const connection = await connectionTo(receiver);
    const recipients = ['a@example.test', 'b@example.test'];
    const result = await connection.send(smtpMessage({ recipients }));
    const failure = { kind: 'refused', stage, reply: { code: 421 }, staleConnection: false };
    expect(result.recipients).toMatchObject([{ failure }, { failure }]);
    expect(connection.usable).toBe(false);
    await receiver.until(() => receiver.sessions[0]?.closed ?? false);
    // Nothing more is sent to a receiver that closes.
    if (offers.keywords) expect(receiver.commands.at(-1)).toMatch(LAST_COMMAND[stage] as RegExp);
  });

  test.each<[string, ReceiverScript]>([
    ['MAIL answered 354', { onMail: () => '354 go' }],
    ['RCPT answered 334', { onRcpt: () => '334 what' }],
    ['DATA answered 250', { onData: () => '250 fine' }],
    ['the message answered 354', { onMessage: () => '354 more' }],
    ['something that is not a reply', { onRcpt: () => 'lorem ipsum' }],
    ['a reply with two codes', { onMessage: () => '250-a\n550 b' }],
    ['an endless line', { onMessage: () => Buffer.alloc(70_000, '250-') }],
    ['an endless reply', { onMessage: () => '250-x\n'.repeat(20_000) }],
  ])('%s is a protocol error', async (_what, script) => {
    await using receiver = await startSmtpReceiver({ ...offers, ...script });
    const connection = await connectionTo(receiver);
    const result = await connection.send(smtpMessage());
    expect(result.recipients[0]).toMatchObject({ failure: { kind: 'protocol_error' } });
    expect(connection.usable).toBe(false);
  });

  test('recipients keep the replies received before the connection was lost', async () => {
    await using receiver = await startSmtpReceiver({
      ...offers,
      onRcpt: (to) => (to.startsWith('a') ? '550 5.1.1 no' : undefined),
      onMessage: () => HANG_UP,
    });
    const connection = await connectionTo(receiver);
    const recipients = ['a@example.test', 'b@example.test'];
    const result = await connection.send(smtpMessage({ recipients }));
    expect(result.recipients).toMatchObject([
      { failure: { kind: 'refused', stage: 'rcpt' } },
      { failure: { kind: 'connection_lost', stage: 'body', afterFinalDot: true } },
    ]);
  });
});

test('a receiver that sends byte by byte gains no time', async () => {
  const clock = new ManualClock(0);
  await using receiver = await startSmtpReceiver({ onMail: () => SILENCE });
  const connection = await connectionTo(receiver, {}, { clock });
  const sent = connection.send(smtpMessage());
  await receiver.untilCommand('MAIL');
  for (const drop of '250 o') {
    receiver.sessions[0]?.send(drop);
    await settleLoopback();
    clock.advance(59_000);
    expect(connection.usable).toBe(true);
  }
  receiver.sessions[0]?.send('k');
  await settleLoopback();
  clock.advance(5_000);
  expect((await sent).recipients[0]).toMatchObject({
    failure: { kind: 'timed_out', stage: 'mail' },
  });
});

describe('a message behind another', () => {
  test('on a connection that closes is reported as not tried', async () => {
    await using receiver = await startSmtpReceiver({ onMessage: () => HANG_UP });
    const connection = await connectionTo(receiver);
    const [first, second, third] = await Promise.all([
      connection.send(smtpMessage()),
      connection.send(smtpMessage()),
      connection.send(smtpMessage()),
    ]);
    expect(first.recipients[0]).toMatchObject({
      failure: { stage: 'body', afterFinalDot: true, staleConnection: false },
    });
    for (const untried of [second, third]) {
      expect(untried.recipients[0]).toMatchObject({
        failure: {
          kind: 'connection_lost',
          stage: 'mail',
          afterFinalDot: false,
          staleConnection: true,
        },
      });
    }
  });

  test('rejected with 421 at MAIL is reported as not tried', async () => {
    await using receiver = await startSmtpReceiver({
      onMail: (_from, session) =>
        session.messageCount > 0 ? '421 4.7.0 one is enough' : undefined,
    });
    const connection = await connectionTo(receiver);
    await connection.send(smtpMessage());
    const second = await connection.send(smtpMessage());
    expect(second.recipients[0]).toMatchObject({
      failure: { kind: 'refused', stage: 'mail', reply: { code: 421 }, staleConnection: true },
    });
  });

  test('that the receiver has replied to at all was tried', async () => {
    await using receiver = await startSmtpReceiver({
      onRcpt: (_to, session) => (session.messageCount > 0 ? HANG_UP : undefined),
    });
    const connection = await connectionTo(receiver);
    await connection.send(smtpMessage());
    const second = await connection.send(smtpMessage());
    expect(second.recipients[0]).toMatchObject({
      failure: { kind: 'connection_lost', stage: 'rcpt', staleConnection: false },
    });
  });
});

describe('an idle connection', () => {
  test.each([
    ['closes with 421', '421 4.4.2 idle too long\r\n'],
    ['sends an unsolicited reply', '250 surprise\r\n'],
  ])('is no longer usable when the receiver %s', async (_what, bytes) => {
    await using receiver = await startSmtpReceiver();
    const connection = await connectionTo(receiver);
    await connection.send(smtpMessage());
    receiver.sessions[0]?.send(bytes);
    await receiver.until(() => receiver.sessions[0]?.closed ?? false);
    expect(connection.usable).toBe(false);
    const next = await connection.send(smtpMessage());
    expect(next.recipients[0]).toMatchObject({
      failure: { kind: 'connection_lost', staleConnection: true },
    });
  });

  test('has no timeout of its own', async () => {
    await using receiver = await startSmtpReceiver();
    const clock = new ManualClock(0);
    const connection = await connectionTo(receiver, {}, { clock });
    await connection.send(smtpMessage());
    clock.advance(24 * 3_600_000);
    expect((await connection.send(smtpMessage())).recipients[0]?.accepted).toBe(true);
  });
});

describe('a large message', () => {
  const data = Buffer.from(`${'x'.repeat(76)}\r\n`.repeat(100_000));

  test('that was interrupted was not accepted', async () => {
    await using receiver = await startSmtpReceiver({
      onDataBytes: (bytes) => (bytes > 100_000 ? HANG_UP : undefined),
    });
    const connection = await connectionTo(receiver);
    const result = await connection.send(smtpMessage({ data }));
    expect(result.recipients[0]).toMatchObject({
      failure: { kind: 'connection_lost', stage: 'body', afterFinalDot: false },
    });
  });

  test('that is rejected midway gets that reply, and the connection closes', async () => {
    let interrupted = false;
    await using receiver = await startSmtpReceiver({
      onDataBytes: () => {
        if (interrupted) return undefined;
        interrupted = true;
        return '552 5.3.4 too much';
      },
    });
    const connection = await connectionTo(receiver);
    const result = await connection.send(smtpMessage({ data }));
    expect(result.recipients[0]).toMatchObject({
      failure: { kind: 'refused', stage: 'body', reply: { code: 552 }, afterFinalDot: false },
    });
    expect(connection.usable).toBe(false);
  });

  test('that the receiver stops reading times out per block', async () => {
    await using receiver = await startSmtpReceiver();
    const clock = new ManualClock(0);
    // So long that the final-dot timeout cannot expire below.
    const timeouts = { finalDotMs: 2_000 * RFC_TIMEOUTS.blockMs };
    const connection = await connectionTo(receiver, {}, { clock, timeouts });
    receiver.script.onDataBytes = (_bytes, session) => {
      session.stopReading();
      return undefined;
    };
    const sent = connection.send(smtpMessage({ data: [data, data, data] }));
    await receiver.until(() => receiver.sessions[0]?.stopped ?? false);
    // Network buffers still accept some blocks, and each restarts the timeout.
    for (let i = 0; i < 1_000 && connection.usable; i++) {
      await settleLoopback();
      clock.advance(RFC_TIMEOUTS.blockMs);
    }
    expect((await sent).recipients[0]).toMatchObject({
      failure: { kind: 'timed_out', stage: 'body', afterFinalDot: false },
    });
  });
});

test('destroy fails everything in flight as aborted', async () => {
  await using receiver = await startSmtpReceiver({ onMessage: () => SILENCE });
  const connection = await connectionTo(receiver);
  const sent = [smtpMessage(), smtpMessage(), smtpMessage()].map((message) =>
    connection.send(message),
  );
  await receiver.untilMessages(1);
  connection.destroy();
  const failures = (await Promise.all(sent)).map((result) => result.recipients[0]);
  expect(failures).toMatchObject([
    { failure: { kind: 'aborted', afterFinalDot: true } },
    { failure: { kind: 'aborted', afterFinalDot: false } },
    { failure: { kind: 'aborted', afterFinalDot: false } },
  ]);
});
