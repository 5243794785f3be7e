import net, { type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import {
  HANG_UP,
  type ReceiverScript,
  SILENCE,
  startSmtpReceiver,
} from '../../../test/harness/smtp/smtp-receiver.ts';
import {
  connectionTo,
  openTo,
  settleLoopback,
  smtpMessage,
} from '../../../test/harness/smtp/smtp-sender.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { openSmtp } from './open-connection.ts';
import { RFC_TIMEOUTS } from './timeouts.ts';

/** Goal: every way a session can open or fail, against a real socket with a test clock. */

describe('a session', () => {
  test("opens with EHLO and learns the extensions and the receiver's name", async () => {
    await using receiver = await startSmtpReceiver();
    const connection = await connectionTo(receiver);
    expect(receiver.sessions[0]?.heloName).toBe('sender.example.test');
    expect(connection.capabilities).toMatchObject({ pipelining: true, sizeMaxBytes: 26214400 });
    expect(connection.session).toMatchObject({
      host: 'mx.example.test',
      ip: '127.0.0.1',
      tls: null,
      receiverName: 'mx.example.test',
    });
    await connection.quit();
    expect(receiver.commands).toEqual(['EHLO sender.example.test', 'QUIT']);
  });

  test('falls back to HELO when EHLO is rejected, and assumes no extension', async () => {
    await using receiver = await startSmtpReceiver({
      onEhlo: () => '502 5.5.1 what?',
      keywords: [],
    });
    const connection = await connectionTo(receiver);
    expect(connection.capabilities).toMatchObject({ pipelining: false, size: false });
    const result = await connection.send(smtpMessage());
    expect(result.recipients[0]).toMatchObject({ accepted: true });
    expect(receiver.commands).toContain('MAIL FROM:<bounce@sender.example.test>');
    expect(receiver.violations).toEqual([]);
  });

  test('opens over IPv6', async () => {
    await using receiver = await startSmtpReceiver({ host: '::1' });
    const connection = await connectionTo(receiver);
    expect((await connection.send(smtpMessage())).session.ip).toBe('::1');
  });

  test('understands a receiver that sends every byte separately', async () => {
    await using receiver = await startSmtpReceiver({ oneByteAtATime: true });
    const connection = await connectionTo(receiver);
    const result = await connection.send(smtpMessage());
    expect(result.recipients[0]).toMatchObject({ accepted: true, reply: { code: 250 } });
  });
});

describe('failures', () => {
  test.each<[string, ReceiverScript, object]>([
    [
      'a rejection at the greeting',
      { onConnect: () => '554 5.7.1 go away' },
      { kind: 'refused', stage: 'greeting', reply: { code: 554, enhanced: '5.7.1' } },
    ],
    [
      'a receiver that closes at the greeting with 421',
      { onConnect: () => '421 4.3.2 too many' },
      { kind: 'refused', stage: 'greeting', reply: { code: 421 } },
    ],
    [
      'a temporary rejection of EHLO, without trying HELO',
      { onEhlo: () => '451 4.3.0 later' },
      { kind: 'refused', stage: 'ehlo', reply: { code: 451 } },
    ],
    [
      'a rejection of EHLO and HELO',
      { onEhlo: () => '500 no', onHelo: () => '550 still no' },
      { kind: 'refused', stage: 'ehlo', reply: { code: 550 } },
    ],
    ['a hang-up before the greeting', { onConnect: () => HANG_UP }, lost('greeting')],
    ['a hang-up after EHLO', { onEhlo: () => HANG_UP }, lost('ehlo')],
    ['a greeting that is not a reply', { onConnect: () => 'HTTP/1.1 400 Bad' }, broken('greeting')],
    [
      'a greeting with an unexpected success code',
      { onConnect: () => '354 go' },
      broken('greeting'),
    ],
    [
      'a greeting followed by more data',
      { onConnect: () => Buffer.from('220 mx\r\n250 ok\r\n') },
      { kind: 'protocol_error' },
    ],
    ['an endless greeting', { onConnect: () => Buffer.alloc(100_000, '220-') }, broken('greeting')],
  ])('%s', async (_what, script, failure) => {
    await using receiver = await startSmtpReceiver(script);
    const opened = await openTo(receiver);
    expect(opened).toMatchObject({ ok: false, failure });
  });

  test.each<[string, ReceiverScript]>([
    ['the greeting', { onConnect: () => '554 5.7.1 go away' }],
    ['EHLO', { onEhlo: () => '451 4.3.0 later' }],
    ['a missing STARTTLS', {}],
  ])('end with QUIT after %s', async (_what, script) => {
    await using receiver = await startSmtpReceiver(script);
    const opened = await openTo(receiver, { tls: { kind: 'required' } });
    expect(opened.ok).toBe(false);
    await receiver.until(() => receiver.sessions[0]?.closed === true);
    expect(receiver.commands.at(-1)).toBe('QUIT');
  });

  test('a receiver that ignores QUIT is cut off', async () => {
    await using receiver = await startSmtpReceiver({
      onConnect: () => '554 no',
      onQuit: () => SILENCE,
    });
    const clock = new ManualClock(0);
    expect((await openTo(receiver, {}, { clock })).ok).toBe(false);
    await receiver.untilCommand('QUIT');
    expect(receiver.sessions[0]?.closed).toBe(false);
    clock.advance(RFC_TIMEOUTS.quitMs);
    await receiver.until(() => receiver.sessions[0]?.closed === true);
  });

  test('a port without a listener', async () => {
    const closed = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const opened = await openSmtp(
      { host: 'mx.example.test', ip: '127.0.0.1', port, tls: { kind: 'none' } },
      { heloName: 'me.test', clock: systemClock },
    );
    expect(opened).toMatchObject({
      ok: false,
      failure: { kind: 'connection_refused', stage: 'connect', afterFinalDot: false },
    });
  });

  test('a local address that is not available', async () => {
    await using receiver = await startSmtpReceiver();
    const opened = await openTo(receiver, { localAddress: '192.0.2.1' });
    expect(opened).toMatchObject({ ok: false, failure: { kind: 'network_unreachable' } });
  });

  test.each<[string, ReceiverScript, string, keyof typeof RFC_TIMEOUTS]>([
    ['no greeting', { onConnect: () => SILENCE }, 'greeting', 'greetingMs'],
    ['no reply to EHLO', { onEhlo: () => SILENCE }, 'ehlo', 'ehloMs'],
  ])('%s within the RFC timeout', async (_what, script, stage, timeout) => {
    await using receiver = await startSmtpReceiver(script);
    const clock = new ManualClock(0);
    const opening = openTo(receiver, {}, { clock });
    if (stage === 'ehlo') await receiver.untilCommand('EHLO');
    else await receiver.until(() => receiver.sessions.length === 1);
    await settleLoopback();
    clock.advance(RFC_TIMEOUTS[timeout] - 1);
    await settleLoopback();
    expect(receiver.sessions[0]?.closed).toBe(false);
    clock.advance(1);
    expect(await opening).toMatchObject({ ok: false, failure: { kind: 'timed_out', stage } });
  });

  test('an abort at any stage', async () => {
    await using receiver = await startSmtpReceiver({ onEhlo: () => SILENCE });
    const abort = new AbortController();
    const opening = openTo(receiver, {}, { signal: abort.signal });
    await receiver.untilCommand('EHLO');
    abort.abort();
    expect(await opening).toMatchObject({ ok: false, failure: { kind: 'aborted' } });
    const never = await openTo(receiver, {}, { signal: abort.signal });
    expect(never).toMatchObject({ ok: false, failure: { kind: 'aborted', stage: 'connect' } });
  });
});

test('the transcript of a failed opening is kept', async () => {
  await using receiver = await startSmtpReceiver({
    onConnect: () => '554-5.7.1 no\n554 5.7.1 never',
  });
  const opened = await openTo(receiver);
  expect(opened.ok).toBe(false);
  if (opened.ok) return;
  expect(opened.transcript.lines.map(({ by, text }) => `${by}: ${text}`)).toEqual([
    `note: (connecting to mx.example.test [127.0.0.1]:${receiver.port})`,
    'server: 554-5.7.1 no',
    'server: 554 5.7.1 never',
    'client: QUIT',
  ]);
});

function lost(stage: string): object {
  return { kind: 'connection_lost', stage, afterFinalDot: false, staleConnection: false };
}

function broken(stage: string): object {
  return { kind: 'protocol_error', stage };
}
