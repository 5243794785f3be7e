import { once } from 'node:events';
import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '../../../src/lib/time/clock.ts';
import {
  openSmtp,
  type SmtpOpenOptions,
  type SmtpOpenResult,
  type SmtpTarget,
} from '../../../src/mail/smtp-client/open-connection.ts';
import type { SmtpConnection } from '../../../src/mail/smtp-client/smtp-connection.ts';
import type { SmtpMessage } from '../../../src/mail/smtp-client/smtp-message.ts';
import type { SmtpReceiver } from './smtp-receiver.ts';

/** Connects our SMTP client to a scripted receiver. */
export function openTo(
  receiver: SmtpReceiver,
  target: Partial<SmtpTarget> = {},
  options: Partial<SmtpOpenOptions> = {},
): Promise<SmtpOpenResult> {
  const { host: ip, port } = receiver;
  return openSmtp(
    { host: 'mx.example.test', ip, port, tls: { kind: 'opportunistic' }, ...target },
    { heloName: 'sender.example.test', clock: systemClock, ...options },
  );
}

/** Like openTo, for tests that are not about the connection setup. */
export async function connectionTo(
  receiver: SmtpReceiver,
  target: Partial<SmtpTarget> = {},
  options: Partial<SmtpOpenOptions> = {},
): Promise<SmtpConnection> {
  const opened = await openTo(receiver, target, options);
  if (!opened.ok) throw new Error(`connection failed: ${JSON.stringify(opened.failure)}`);
  return opened.connection;
}

export function smtpMessage(changes: Partial<SmtpMessage> = {}): SmtpMessage {
  return {
    mailFrom: 'bounce@sender.example.test',
    recipients: ['jane@example.test'],
    data: Buffer.from('Subject: hello\r\n\r\nHello, Jane.\r\n'),
    smtpUtf8: false,
    ...changes,
  };
}

/**
 * Waits until bytes that are already on the loopback have reached their reader, by sending other bytes
 * through it several times.
 */
export async function settleLoopback(): Promise<void> {
  const echo = net.createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const socket = net.connect((echo.address() as net.AddressInfo).port, '127.0.0.1');
  for (let i = 0; i < 5; i++) {
    socket.write('.');
    await once(socket, 'data');
    await turn();
  }
  socket.destroy();
  echo.close();
}
