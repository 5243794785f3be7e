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
import { tlsFixtures } from '../../../test/harness/smtp/tls-fixtures.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import type { TlsPolicy } from './start-tls.ts';

/** Goal: each TLS policy against each kind of receiver, with real certificates and handshakes. */

const { good, wrongName, expired, forged, selfSigned, authority } = tlsFixtures;
const verified: TlsPolicy = { kind: 'verified', names: ['mx.example.test'], ca: authority };

test('a session is encrypted before anything but EHLO is sent, and EHLO is repeated', async () => {
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

test('extensions offered before TLS are discarded', async () => {
  await using receiver = await startSmtpReceiver({
    tls: good,
    onEhlo: (_name, session) => (session.tls ? '250 mx' : '250-mx\n250-SMTPUTF8\n250 STARTTLS'),
  });
  const connection = await connectionTo(receiver, { tls: { kind: 'required' } });
  expect(connection.capabilities).toMatchObject({ smtpUtf8: false, startTls: false });
});

describe('a certificate', () => {
  test.each<[string, ReceiverScript, TlsPolicy, boolean]>([
    ['that is valid is accepted', { tls: good }, verified, true],
    [
      'for one of several names is accepted',
      { tls: good },
      { ...verified, names: ['mx.elsewhere.test', 'mx2.example.test'] },
      true,
    ],
    ['for another name is rejected', { tls: wrongName }, verified, false],
    ['that has expired is rejected', { tls: expired }, verified, false],
    ['that is forged is rejected', { tls: forged }, verified, false],
    ['that is self-signed is rejected', { tls: selfSigned }, verified, false],
    [
      'of an unknown CA is rejected',
      { tls: good },
      { kind: 'verified', names: ['mx.example.test'] },
      false,
    ],
    [
      'of any kind is accepted when only encryption is required',
      { tls: expired },
      { kind: 'required' },
      true,
    ],
    [
      'of any kind is accepted when TLS is opportunistic',
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
      // An untrusted receiver gets nothing more, least of all in plaintext.
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
    ['a failed handshake', { brokenTls: 'nonsense' }, { kind: 'tls_failed', stage: 'starttls' }],
    [
      'a disconnect during the handshake',
      { brokenTls: 'hang_up' },
      { kind: 'tls_failed', stage: 'starttls' },
    ],
    ['an outdated TLS version', tooOld, { kind: 'tls_failed', stage: 'starttls' }],
  ])('%s closes the session without falling back to plaintext', async (_what, script, failure) => {
    await using receiver = await startSmtpReceiver(script);
    expect(await openTo(receiver, { tls })).toMatchObject({ ok: false, failure });
    expect(receiver.commands.filter((line) => line.startsWith('MAIL'))).toEqual([]);
  });
});

describe('when TLS is opportunistic', () => {
  test('a receiver without STARTTLS is used in plaintext', async () => {
    await using receiver = await startSmtpReceiver();
    const connection = await connectionTo(receiver);
    expect((await connection.send(smtpMessage())).session.tls).toBeNull();
  });

  test('a receiver that rejects STARTTLS is used in plaintext', async () => {
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

  test('a failed handshake is reported as such, so that the caller may retry without TLS', async () => {
    await using receiver = await startSmtpReceiver({ brokenTls: 'nonsense' });
    const first = await openTo(receiver);
    expect(first).toMatchObject({ ok: false, failure: { kind: 'tls_failed', stage: 'starttls' } });
    const second = await connectionTo(receiver, { tls: { kind: 'none' } });
    expect((await second.send(smtpMessage())).recipients[0]?.accepted).toBe(true);
  });
});

describe('STARTTLS', () => {
  test.each(['250 injected\r\n', '2', '250-half a reply\r\n'])(
    'followed by %j in plaintext closes the session',
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

  test('answered by a disconnect is a lost connection', async () => {
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
    ['without a reply', { tls: good, onStartTls: () => SILENCE }],
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
  test('works without STARTTLS', async () => {
    await using receiver = await startSmtpReceiver({ tls: good, implicitTls: true });
    const connection = await connectionTo(receiver, { tls: verified, implicitTls: true });
    const result = await connection.send(smtpMessage());
    expect(result.session.tls?.verified).toBe('pkix');
    expect(receiver.commands).not.toContain('STARTTLS');
  });

  test('never falls back to plaintext', async () => {
    await using receiver = await startSmtpReceiver();
    const opened = await openTo(receiver, { implicitTls: true, tls: { kind: 'none' } });
    expect(opened).toMatchObject({ ok: false, failure: { kind: 'tls_failed', stage: 'connect' } });
    expect(receiver.messages).toEqual([]);
  });
});
