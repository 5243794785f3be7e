import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import net from 'node:net';
import { sampleHtml } from './sample-message.ts';
import { now } from './start-smtp-sink.ts';

/** Submits messages to another mail server by SMTP, for comparison. */

const SMTP_SOURCE = '/usr/sbin/smtp-source';

/** Postfix's load generator where installed: it has the least overhead. */
export async function submitMany(port: number, messages: number): Promise<void> {
  if (!existsSync(SMTP_SOURCE)) {
    const share = Math.ceil(messages / SESSIONS);
    await Promise.all(Array.from({ length: SESSIONS }, () => session(port, share)));
    return;
  }
  await finished(
    spawn(SMTP_SOURCE, [
      ...['-s', String(SESSIONS), '-l', '3000', '-m', String(messages)],
      ...['-f', 'shop@bench.example', '-t', 'jane@example.com', `127.0.0.1:${port}`],
    ]),
  );
}

/** Returns the time at which the server accepted responsibility. */
export async function submitOne(port: number): Promise<number> {
  const [acceptedAt] = await session(port, 1);
  return acceptedAt as number;
}

/** Postfix delivered 340 to 386 messages per second with these, and 319 to 355 with 8, 32, 64 or 100. */
const SESSIONS = 16;

const MESSAGE = [
  'From: shop@bench.example',
  'To: jane@example.com',
  'Subject: Your receipt',
  'Content-Type: text/html',
  '',
  sampleHtml().replaceAll('\n', '\r\n'),
  '.',
  '',
].join('\r\n');

/** One command at a time, like the simplest client. */
function session(port: number, messages: number): Promise<number[]> {
  const script = ['EHLO bench.example\r\n'];
  for (let n = 0; n < messages; n++) {
    script.push('MAIL FROM:<shop@bench.example>\r\n', 'RCPT TO:<jane@example.com>\r\n');
    script.push('DATA\r\n', MESSAGE);
  }
  script.push('QUIT\r\n');
  const accepted: number[] = [];
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    let step = 0;
    let heard = '';
    socket.setEncoding('latin1');
    socket.on('error', reject);
    socket.on('close', () =>
      accepted.length === messages ? resolve(accepted) : reject(new Error(`refused: ${heard}`)),
    );
    socket.on('data', (chunk: string) => {
      heard += chunk;
      const [last] = /^\d{3} .*\r\n$/m.exec(heard) ?? [];
      if (last === undefined) return;
      if (last >= '4') {
        socket.destroy();
        return;
      }
      heard = '';
      if (step > 0 && script[step - 1] === MESSAGE) accepted.push(now());
      const next = script[step++];
      if (next !== undefined) socket.write(next);
      else socket.end();
    });
  });
}

function finished(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`smtp-source ended with ${code}`)),
    );
  });
}
