import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { httpLoad, postRequest } from './http-load.ts';
import { sampleSend } from './sample.ts';
import { startTarget } from './targets.ts';

/**
 * HTTP in to SMTP out: ours, with and without signatures, beside Postfix (SMTP in to SMTP out, when
 * it is installed), in one run into the same sink. Also the time from the 202 to the sink's final dot
 * at low load, and the machine's own rate of RSA signatures, which is the ceiling of signed mail.
 */

const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 8) * 1000;
const CONNECTIONS = 32;

export async function benchDeliver(): Promise<void> {
  const unsigned = await ours(true);
  const signed = await ours(false);
  const rsa = await rsaRate();
  print('ours, without DKIM', unsigned.perSecond);
  print('ours, with DKIM (RSA and Ed25519)', signed.perSecond);
  print('RSA-2048 signatures on all cores', rsa);
  console.log(`signed / RSA ceiling   ${(signed.perSecond / rsa).toFixed(2)}`);
  console.log(`202 to final dot, low load   p50 ${unsigned.lowLoadMs.toFixed(1)} ms`);
  const postfix = await postfixRate();
  if (postfix === undefined) {
    console.log('Postfix is not installed (Debian: apt-get install postfix): not compared');
    return;
  }
  print('Postfix, smtp-source in, same sink', postfix);
  console.log(`ours without DKIM / Postfix   ${(unsigned.perSecond / postfix).toFixed(1)}`);
}

function print(what: string, perSecond: number): void {
  console.log(`${what.padEnd(36)} ${perSecond.toFixed(0).padStart(6)} messages/s`);
}

interface Sink extends AsyncDisposable {
  port: number;
  count(): Promise<{ received: number; lastAt: number }>;
}

async function startSink(): Promise<Sink> {
  const child = fork(path.join(import.meta.dirname, 'smtp-sink.ts'));
  const answer = <T>(): Promise<T> =>
    new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
  const { port } = await answer<{ port: number }>();
  return {
    port,
    count() {
      const counted = answer<{ received: number; lastAt: number }>();
      child.send('count');
      return counted;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
    },
  };
}

/** From the first request until the sink has everything: what waits inside counts against us. */
async function ours(unsigned: boolean): Promise<{ perSecond: number; lowLoadMs: number }> {
  await using sink = await startSink();
  await using target = await startTarget('grouped', {
    env: {
      BENCH_MODE: 'live',
      DELIVERY_ROUTE: `smtp://127.0.0.1:${sink.port}`,
      ...(unsigned ? { BENCH_UNSIGNED: '1' } : {}),
    },
  });
  const body = JSON.stringify(sampleSend('jane@example.com'));
  const request = (): string => postRequest('/api/v1/transactional/send', target.key, body);
  const load = { port: target.port, request, warmUpMs: 0 };
  await httpLoad({ ...load, connections: CONNECTIONS, durationMs: 3_000 });
  await settled(sink);
  const lowLoadMs = await lowLoad(sink, target.port, request);
  const before = (await sink.count()).received;
  const startedAt = performance.timeOrigin + performance.now();
  await httpLoad({ ...load, connections: CONNECTIONS, durationMs: DURATION_MS });
  const { received, lastAt } = await settled(sink);
  return { perSecond: (received - before) / ((lastAt - startedAt) / 1000), lowLoadMs };
}

/** Waits until nothing more has come for a second. */
async function settled(sink: Sink): Promise<{ received: number; lastAt: number }> {
  for (let last = await sink.count(); ; ) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const now = await sink.count();
    if (now.received === last.received) return now;
    last = now;
  }
}

async function lowLoad(sink: Sink, port: number, request: () => string): Promise<number> {
  const delays: number[] = [];
  for (let i = 0; i < 20; i++) {
    const before = (await sink.count()).received;
    let answeredAt = 0;
    await httpLoadOnce(port, request(), () => {
      answeredAt = performance.timeOrigin + performance.now();
    });
    let seen = await sink.count();
    while (seen.received === before) seen = await sink.count();
    delays.push(seen.lastAt - answeredAt);
  }
  return delays.toSorted((a, b) => a - b)[10] as number;
}

async function httpLoadOnce(port: number, request: string, answered: () => void): Promise<void> {
  const net = await import('node:net');
  await new Promise<void>((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(request));
    socket.once('data', () => {
      answered();
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}

async function rsaRate(): Promise<number> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const data = Buffer.alloc(1_000, 'x');
  const endAt = performance.now() + 2_000;
  let count = 0;
  await Promise.all(
    Array.from({ length: availableParallelism() * 2 }, async () => {
      while (performance.now() < endAt) {
        await new Promise<void>((resolve, reject) => {
          sign('sha256', data, privateKey, (error) => (error ? reject(error) : resolve()));
        });
        count += 1;
      }
    }),
  );
  return count / 2;
}

/** A Postfix of our own in a temporary folder: SMTP in on one port, relayed to the sink. */
async function postfixRate(): Promise<number | undefined> {
  if (!existsSync('/usr/sbin/postfix') || process.getuid?.() !== 0) return undefined;
  await using sink = await startSink();
  const folder = mkdtempSync(path.join(tmpdir(), 'postrider-postfix-'));
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  writePostfix(folder, port, sink.port);
  const postfix = (command: string): void => {
    execFileSync('/usr/sbin/postfix', ['-c', path.join(folder, 'etc'), command], { stdio: 'pipe' });
  };
  postfix('start');
  try {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const messages = 1_500;
    const startedAt = performance.timeOrigin + performance.now();
    await finished(
      spawn('/usr/sbin/smtp-source', [
        ...['-s', '16', '-l', '3000', '-m', String(messages), '-f', 'shop@bench.example'],
        ...['-t', 'jane@example.com', `127.0.0.1:${port}`],
      ]),
    );
    const { received, lastAt } = await settled(sink);
    return received / ((lastAt - startedAt) / 1000);
  } finally {
    postfix('stop');
    rmSync(folder, { recursive: true, force: true });
  }
}

function writePostfix(folder: string, port: number, sinkPort: number): void {
  for (const inner of ['etc', 'spool', 'data']) mkdirSync(path.join(folder, inner));
  execFileSync('chmod', ['755', folder]);
  execFileSync('chown', ['postfix', path.join(folder, 'data')]);
  writeFileSync(
    path.join(folder, 'etc/main.cf'),
    [
      'compatibility_level = 3.6',
      `queue_directory = ${folder}/spool`,
      `data_directory = ${folder}/data`,
      'myhostname = postfix.bench.example',
      'mydestination =',
      'mynetworks = 127.0.0.0/8',
      'inet_interfaces = 127.0.0.1',
      `relayhost = [127.0.0.1]:${sinkPort}`,
      'default_process_limit = 200',
      'smtp_tls_security_level = none',
      'smtpd_tls_security_level = none',
      'alias_maps =',
      'alias_database =',
      `maillog_file = ${folder}/data/maillog`,
      'maillog_file_prefixes = /tmp, /var',
      '',
    ].join('\n'),
  );
  const stock = execFileSync('cat', ['/etc/postfix/master.cf']).toString();
  const master = stock
    .replace(/^smtp\s+inet.*$/m, `127.0.0.1:${port} inet n - n - - smtpd`)
    .replaceAll(/^(\S+\s+(?:unix|fifo|inet)\s+\S+\s+\S+\s+)y(\s)/gm, '$1n$2');
  writeFileSync(
    path.join(folder, 'etc/master.cf'),
    `${master}\npostlog unix-dgram n - n - 1 postlogd\n`,
  );
}

function finished(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`smtp-source ended with ${code}`)),
    );
  });
}
