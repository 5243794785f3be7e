import { expect, test } from 'vitest';
import { freePort } from '../../test/harness/free-port.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { SmtpConnectionPool } from './connection-pool.ts';
import { IdleConnections } from './idle-connections.ts';
import { createShaping } from './shaping.ts';

test('a failure is cached for a while, but not after the clock is set back', async () => {
  const clock = new ManualClock(10_000_000);
  const target = {
    host: 'mx.example',
    ip: '127.0.0.1',
    port: await freePort(),
    tls: { kind: 'none' } as const,
  };
  const pool = new SmtpConnectionPool(target, {
    clock,
    heloName: 'mail.example',
    shaping: createShaping()('mx.example'),
    idle: new IdleConnections(),
    isOwnServer: () => false,
    hasFallback: false,
  });
  const data = Buffer.from('Subject: Hello\r\n\r\n');
  await pool.send({ mailFrom: '', recipients: ['a@example.org'], data, smtpUtf8: false });
  expect(pool.recentFailure?.failure.kind).toBe('connection_refused');
  clock.setBack(3_600_000);
  expect(pool.recentFailure).toBeUndefined();
});
