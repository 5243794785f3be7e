import { describe, expect, test } from 'vitest';
import {
  HANG_UP,
  type ReceiverScript,
  SILENCE,
  startSmtpReceiver,
} from '../../../test/harness/smtp-receiver.ts';
import {
  connectionTo,
  openTo,
  settleLoopback,
  smtpMessage,
} from '../../../test/harness/smtp-sender.ts';
import { tlsFixtures } from '../../../test/harness/tls-fixtures.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import type { TlsPolicy } from './start-tls.ts';

/** Goal: each TLS policy against each kind of receiver, with real certificates and handshakes. */

const { good, wrongName, expired, forged, selfSigned, authority } = tlsFixtures;
const verified: TlsPolicy = { kind: 'verified', names: ['mx.example.test'], ca: authority };

test('a session is encrypted before anything is said but EHLO, and EHLO is said again', async () => {
  await using receiver = await startSmtpReceiver({ tls: good });
  const connection = await connectionTo(receiver, { tls: verified });
  const result = await connection.send(smtpMessage());
  expect(result.session.tls).toEqual({
    version: 'TLSv1.3',
    cipher: expect.stringMatching(/^TLS_/),
    verified: 'pkix',
  });
  expect(receiver.messages[0]?.tls).toEqual({ version: 'TLSv1.3', servername: 'mx.example.test' });
  expect(receiver.commands.slice(0, 4)).toEqual([
    'EHLO sender.example.test',
    'STARTTLS',
    'EHLO sender.example.test',
    expect.stringMatching(/^MAIL/),
  ]);
  expect(result.transcript.lines.map((line) => line.text)).toContainEqual(
    expect.stringMatching(/^\(TLSv1\.3, TLS_\w+, certificate pkix\)$/),
  );
});

test('what was offered before TLS is forgotten', async () => {
  await using receiver = await startSmtpReceiver({
    tls: good,
    onEhlo: (_name, session) => (session.tls ? '250 mx' : '250-mx\n250-SMTPUTF8\n250 STARTTLS'),
  });
  const connection = await connectionTo(receiver, { tls: { kind: 'required' } });
  expect(connection.capabilities).toMatchObject({ smtpUtf8: false, startTls: false });
});

describe('a certificate', () => {
  test.each<[string, ReceiverScript, TlsPolicy, boolean]>([
    ['that is good passes', { tls: good }, verified, true],
    [
      'for one of several names passes',
      { tls: good },
      { ...verified, names: ['mx.elsewhere.test', 'mx2.example.test'] },
      true,
    ],
    ['for another name does not', { tls: wrongName }, verified, false],
    ['that has expired does not', { tls: expired }, verified, false],
    ['that is forged does not', { tls: forged }, verified, false],
    ['that signed itself does not', { tls: selfSigned }, verified, false],
    [
      'of an authority we do not know does not',
      { tls: good },
      { kind: 'verified', names: ['mx.example.test'] },
      false,
    ],
    [
      'of any kind passes where only encryption is required',
      { tls: expired },
      { kind: 'required' },
      true,
    ],
    [
      'of any kind passes where TLS is optional',
      { tls: selfSigned },
      { kind: 'opportunistic' },
      true,
    ],
  ])('%s', async (_what, script, tls, passes) => {
    await using receiver = await startSmtpReceiver(script);
    const opened = await openTo(receiver, { tls });
    expect(opened.ok).toBe(passes);
    if (!opened.ok) {
      expect(opened.failure).toMatchObject({ kind: 'certificate_rejected', stage: 'starttls' });
      // The receiver we do not trust learns nothing more, least of all in plaintext.
      await receiver.until(() => receiver.sessions.every((session) => session.closed));
      expect(receiver.commands).toEqual(['EHLO sender.example.test', 'STARTTLS']);
    } else opened.connection.destroy();
  });
});

const tooOld: ReceiverScript = {
  tls: { ...good, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' },
};

const strict: [string, TlsPolicy][] = [
  ['required', { kind: 'required' }],
  ['verified', verified],
  ['dane', { kind: 'dane', names: ['mx.example.test'], records: [] }],
];

describe.each(strict)('under the policy %s', (_name, tls) => {
  test.each<[string, ReceiverScript, object]>([
    ['STARTTLS not offered', {}, { kind: 'tls_not_offered', stage: 'starttls' }],
    ['EHLO refused', { onEhlo: () => '502 no' }, { kind: 'tls_not_offered' }],
    [
      'STARTTLS refused',
      { brokenTls: 'nonsense', onStartTls: () => '454 4.7.0 not now' },
      { kind: 'refused', stage: 'starttls', reply: { code: 454 } },
    ],
    ['a broken handshake', { brokenTls: 'nonsense' }, { kind: 'tls_failed', stage: 'starttls' }],
    ['a hang-up in it', { brokenTls: 'hang_up' }, { kind: 'tls_failed', stage: 'starttls' }],
    ['a TLS too old', tooOld, { kind: 'tls_failed', stage: 'starttls' }],
  ])('%s ends the session, never in plaintext', async (_what, script, failure) => {
    await using receiver = await startSmtpReceiver(script);
    expect(await openTo(receiver, { tls })).toMatchObject({ ok: false, failure });
    expect(receiver.commands.filter((line) => line.startsWith('MAIL'))).toEqual([]);
  });
});

describe('where TLS is optional', () => {
  test('a receiver without STARTTLS is used in plaintext', async () => {
    await using receiver = await startSmtpReceiver();
    const connection = await connectionTo(receiver);
    expect((await connection.send(smtpMessage())).session.tls).toBeNull();
  });

  test('a receiver that refuses STARTTLS in words is used as it is', async () => {
    await using receiver = await startSmtpReceiver({
      tls: good,
      onStartTls: () => '454 4.7.0 not now',
    });
    const connection = await connectionTo(receiver);
    const result = await connection.send(smtpMessage());
    expect(result).toMatchObject({ session: { tls: null }, recipients: [{ accepted: true }] });
  });

  test('TLS below 1.2 is not taken for TLS', async () => {
    await using receiver = await startSmtpReceiver(tooOld);
    const opened = await openTo(receiver);
    expect(opened).toMatchObject({ ok: false, failure: { kind: 'tls_failed' } });
  });

  test('a broken handshake is told apart, so that the caller may come again without', async () => {
    await using receiver = await startSmtpReceiver({ brokenTls: 'nonsense' });
    const first = await openTo(receiver);
    expect(first).toMatchObject({ ok: false, failure: { kind: 'tls_failed', stage: 'starttls' } });
    const second = await connectionTo(receiver, { tls: { kind: 'none' } });
    expect((await second.send(smtpMessage())).recipients[0]?.accepted).toBe(true);
  });
});

describe('STARTTLS', () => {
  test.each(['250 injected\r\n', '2', '250-half a reply\r\n'])(
    'followed by %j in plaintext ends the session',
    async (injected) => {
      await using receiver = await startSmtpReceiver({
        tls: good,
        onStartTls: () => Buffer.from(`220 go\r\n${injected}`),
      });
      const opened = await openTo(receiver);
      expect(opened).toMatchObject({
        ok: false,
        failure: { kind: 'protocol_error', stage: 'starttls' },
      });
    },
  );

  test('answered by a hang-up is a lost connection', async () => {
    await using receiver = await startSmtpReceiver({ tls: good, onStartTls: () => HANG_UP });
    const opened = await openTo(receiver);
    expect(opened).toMatchObject({ failure: { kind: 'connection_lost', stage: 'starttls' } });
  });

  test('answered by 421 closes', async () => {
    await using receiver = await startSmtpReceiver({
      tls: good,
      onStartTls: () => '421 4.3.2 bye',
    });
    const opened = await openTo(receiver);
    expect(opened).toMatchObject({
      failure: { kind: 'refused', stage: 'starttls', reply: { code: 421 } },
    });
  });

  test.each<[string, ReceiverScript]>([
    ['without an answer', { tls: good, onStartTls: () => SILENCE }],
    ['without a handshake', { brokenTls: 'silence' }],
  ])('%s times out', async (_what, script) => {
    await using receiver = await startSmtpReceiver(script);
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const opening = openTo(receiver, {}, { clock });
    await receiver.untilCommand('STARTTLS');
    await settleLoopback();
    clock.advance(2 * 60_000);
    expect(await opening).toMatchObject({ failure: { kind: 'timed_out', stage: 'starttls' } });
  });
});

describe('TLS from the first byte', () => {
  test('works, and STARTTLS is not asked for', async () => {
    await using receiver = await startSmtpReceiver({ tls: good, implicitTls: true });
    const connection = await connectionTo(receiver, { tls: verified, implicitTls: true });
    const result = await connection.send(smtpMessage());
    expect(result.session.tls?.verified).toBe('pkix');
    expect(receiver.commands).not.toContain('STARTTLS');
  });

  test('is never given up for plaintext', async () => {
    await using receiver = await startSmtpReceiver();
    const opened = await openTo(receiver, { implicitTls: true, tls: { kind: 'none' } });
    expect(opened).toMatchObject({ ok: false, failure: { kind: 'tls_failed', stage: 'connect' } });
    expect(receiver.messages).toEqual([]);
  });
});
