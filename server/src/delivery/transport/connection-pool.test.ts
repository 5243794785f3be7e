import { expect, test } from 'vitest';
import { freePort } from '../../../test/harness/free-port.ts';
import { HANG_UP, startSmtpReceiver } from '../../../test/harness/smtp/smtp-receiver.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import { createShaping } from '../receivers/shaping.ts';
import { SmtpConnectionPool } from './connection-pool.ts';
import { IdleConnections } from './idle-connections.ts';

test('a failure is cached for a while, but not after the clock is set back', async () => {
  const clock = new ManualClock(10_000_000);
  const pool = newPool(clock, await freePort());
  await send(pool);
  expect(pool.recentFailure?.failure.kind).toBe('connection_refused');
  clock.setBack(3_600_000);
  expect(pool.recentFailure).toBeUndefined();
});

test('after messages in chunks got no reply, the next ones are sent with DATA for an hour', async () => {
  await using receiver = await startSmtpReceiver({
    keywords: ['PIPELINING', 'CHUNKING'],
    onBdat: () => HANG_UP,
  });
  const clock = new ManualClock(10_000_000);
  const pool = newPool(clock, receiver.port);
  const first = await send(pool);
  expect(first).toMatchObject({ result: { recipients: [{ accepted: false }] } });
  expect(await send(pool)).toMatchObject({ result: { recipients: [{ accepted: true }] } });
  expect(receiver.commands.at(-1)).toBe('DATA');
  expect(pool.isDisposable(clock.now())).toBe(false);

  receiver.script = { keywords: ['PIPELINING', 'CHUNKING'] };
  clock.advance(3_600_000);
  pool.sweep(clock.now());
  await send(pool);
  expect(receiver.commands.at(-1)).toMatch(/^BDAT/);
  await pool.close();
});

function newPool(clock: ManualClock, port: number): SmtpConnectionPool {
  const target = { host: 'mx.example', ip: '127.0.0.1', port, tls: { kind: 'none' } as const };
  return new SmtpConnectionPool(target, {
    clock,
    heloName: 'mail.example',
    shaping: createShaping()('mx.example'),
    idle: new IdleConnections(),
    isOwnServer: () => false,
    onConnected: () => {},
    hasFallback: false,
  });
}

function send(pool: SmtpConnectionPool) {
  const data = Buffer.from('Subject: Hello\r\n\r\n');
  return pool.send({ mailFrom: '', recipients: ['a@example.org'], data, smtpUtf8: false });
}
