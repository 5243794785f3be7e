import { fork } from 'node:child_process';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { generateRsaKey } from '../../server/src/lib/crypto/rsa-key.ts';
import { alternate, type Contestant } from './alternate.ts';
import { httpLoad, postRequest } from './http-load.ts';
import { type Peer, startHaraka, startPostfix, startSigningPostfix } from './peers.ts';
import { databaseCpuMicros, usageOf } from './process-usage.ts';
import type { Report } from './results.ts';
import { sampleSend } from './sample-message.ts';
import { submitMany, submitOne } from './smtp-submit.ts';
import { lowLoadMs, now, rateOf, type Sink, settled, startSink } from './start-smtp-sink.ts';
import { startTarget, type Target } from './start-target.ts';

/**
 * HTTP in, SMTP out: Postrider with and without signatures, next to Postfix, Postfix with OpenDKIM,
 * and Haraka (SMTP in, SMTP out, where installed), in alternating slices with the same kind of sink. Also the
 * time from acceptance to the sink's final dot at low load, the machine's rate of RSA signatures, and
 * the rate over one connection to a distant receiver. Signed mail is compared with the signatures of
 * ordinary keys, which other servers use, and with those of keys that Postrider generates here
 * (lib/crypto/rsa-key.ts). history.ts measures the cost of a million queued deliveries.
 */

const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 8) * 1000;
/**
 * Warm-up before measuring: Node compiles during the first 40,000 messages, and a mail server runs
 * for months.
 */
const WARM_UP_MS = Number(process.env.BENCH_WARM_UP_SECONDS ?? 20) * 1000;
/**
 * Before each slice: V8 drops compiled code of a server that was idle while others were measured, and
 * needs it to be as fast as a server under continuous load.
 */
const SLICE_WARM_UP_MS = Math.min(WARM_UP_MS, 12_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const PEER_MESSAGES = Number(process.env.BENCH_PEER_MESSAGES ?? 1_500);
const FAR_MESSAGES = Number(process.env.BENCH_FAR_MESSAGES ?? 300);
const PARTS = (process.env.BENCH_PARTS ?? 'rate,size,far').split(',');
const ROUND_TRIP_MS = 50;
/**
 * Each server gets as many connections as it does best with. Postrider delivers a tenth more with 256
 * than with 64, and as much with 512; for the others see smtp-submit.ts.
 */
const CONNECTIONS = 256;
/** The size that KumoMTA publishes figures for. */
const LARGE_BYTES = 100_000;
const LARGE_CONNECTIONS = 16;
const BATCH_MESSAGES = 100;
const BATCH_CONNECTIONS = 4;

export async function benchDeliver(report: Report): Promise<void> {
  if (PARTS.includes('rate')) await rates(report);
  if (PARTS.includes('size')) await large(report);
  if (PARTS.includes('far')) await farAway(report);
}

async function rates(report: Report): Promise<void> {
  console.log('CPU time per message. Low load: the time from acceptance to the final dot.');
  await using servers = new AsyncDisposableStack();
  const { privateKey: ordinaryKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const own = [
    await ours(servers, SINGLE, { BENCH_UNSIGNED: '1' }),
    await ours(servers, BATCHES, { BENCH_UNSIGNED: '1' }, batches),
    await ours(servers, SIGNED, {}),
    signatures(RSA, ordinaryKey),
    signatures(OUR_RSA, await generateRsaKey()),
  ];
  const others: (Contestant & { beside: Readonly<Record<string, string>> })[] = [];
  for (const { start, missing, beside } of PEERS) {
    const contestant = await theirs(servers, start);
    if (contestant) others.push({ ...contestant, beside });
    else console.log(`${missing}: skipped`);
  }
  const contest = await alternate([...own, ...others], ROUNDS);
  for (const { name } of own) report(name, contest.slice(name));
  const ceiling = (name: string) => ({
    times: contest.ratio([SIGNED, 'messages/s'], [name, 'signatures/s']),
  });
  report('signed / RSA ceiling', ceiling(RSA));
  report('signed / ceiling of generated keys', ceiling(OUR_RSA));
  for (const { name, beside } of others) {
    report(`${name}, SMTP in`, contest.slice(name));
    const times = Object.entries(beside).map(([label, us]) => [
      `${label} times`,
      contest.ratio([us, 'messages/s'], [name, 'messages/s']),
    ]);
    report(`Postrider / ${name}`, Object.fromEntries(times));
  }
}

const SINGLE = 'Postrider, without DKIM';
const BATCHES = `the same, in batches of ${BATCH_MESSAGES}`;
const SIGNED = 'Postrider, with DKIM (RSA and Ed25519)';
const RSA = 'RSA-2048 signatures on all cores';
const OUR_RSA = 'RSA-2048 signatures, generated keys';

interface PeerKind {
  start: (sinkPort: number) => Promise<Peer | undefined>;
  missing: string;
  /** Our contestants that it is compared with. */
  beside: Readonly<Record<string, string>>;
}

const PEERS: readonly PeerKind[] = [
  {
    start: startPostfix,
    missing: 'Postfix is not installed (Debian: apt-get install postfix)',
    beside: { single: SINGLE, batches: BATCHES },
  },
  {
    start: startSigningPostfix,
    missing: 'OpenDKIM or Postfix is not installed (Debian: apt-get install opendkim)',
    beside: { signed: SIGNED },
  },
  {
    start: startHaraka,
    missing: 'Haraka is not installed (see bench/src/peers.ts)',
    beside: { single: SINGLE, batches: BATCHES },
  },
];

/** Large messages: their bytes are copied, compressed, encoded and sent, which is most of their cost. */
async function large(report: Report): Promise<void> {
  await using servers = new AsyncDisposableStack();
  const name = `messages of ${LARGE_BYTES / 1000} KB, without DKIM`;
  const server = await ours(servers, name, { BENCH_UNSIGNED: '1' }, (target) => ({
    connections: LARGE_CONNECTIONS,
    request: requestFor(target, LARGE_BYTES),
  }));
  report(name, await server.slice());
}

/** A slice lasts from the first request until the sink has everything, so that queued messages count. */
async function ours(
  servers: AsyncDisposableStack,
  name: string,
  env: Record<string, string>,
  handIn = singly,
): Promise<Contestant> {
  const sink = servers.use(await startSink());
  const target = servers.use(await startLive(sink.port, env));
  const load = { port: target.port, warmUpMs: 0, ...handIn(target) };
  const cpu = async (): Promise<[number, number, number]> => [
    await target.cpuMicros(),
    databaseCpuMicros(target.pid),
    cpuMicrosOf([sink.pid]),
  ];
  await httpLoad({ ...load, durationMs: WARM_UP_MS });
  return {
    name,
    async slice() {
      await httpLoad({ ...load, durationMs: SLICE_WARM_UP_MS });
      await settled(sink);
      const delay = await lowLoadMs(sink, () => sendOne(target));
      const { received } = await sink.count();
      const before = await cpu();
      const perSecond = await rateOf(sink, () => httpLoad({ ...load, durationMs: DURATION_MS }));
      const messages = (await sink.count()).received - received;
      const [node, database, sinkMicros] = (await cpu()).map(
        (micros, index) => (micros - (before[index] as number)) / messages,
      ) as [number, number, number];
      return {
        'messages/s': perSecond,
        'low-load ms': delay,
        'Node µs': node,
        'PostgreSQL µs': database,
        'sink µs': sinkMicros,
      };
    },
  };
}

/** Another server, which needs no warm-up of its own: its code is compiled, but its processes must start. */
async function theirs(
  servers: AsyncDisposableStack,
  start: PeerKind['start'],
): Promise<Contestant | undefined> {
  const sink = servers.use(await startSink());
  const peer = await start(sink.port);
  if (!peer) return undefined;
  servers.use(peer);
  return {
    name: peer.name,
    async slice() {
      await submitMany(peer.port, Math.ceil(PEER_MESSAGES / 5));
      await settled(sink);
      const delay = await lowLoadMs(sink, () => submitOne(peer.port));
      const { received } = await sink.count();
      const before = cpuMicrosOf(peer.pids);
      const perSecond = await rateOf(sink, () => submitMany(peer.port, PEER_MESSAGES));
      const messages = (await sink.count()).received - received;
      const micros = (cpuMicrosOf(peer.pids) - before) / messages;
      return { 'messages/s': perSecond, 'low-load ms': delay, 'CPU µs': micros };
    },
  };
}

interface HandIn {
  connections: number;
  request: () => Buffer;
}

function singly(target: Target): HandIn {
  return { connections: CONNECTIONS, request: requestFor(target) };
}

function batches({ key }: Target): HandIn {
  const message = sampleSend('jane@example.com');
  const body = JSON.stringify({ messages: Array(BATCH_MESSAGES).fill(message) });
  const request = Buffer.from(postRequest('/api/v1/transactional/batch', key, body));
  return { connections: BATCH_CONNECTIONS, request: () => request };
}

function startLive(port: number, env: Record<string, string>): Promise<Target> {
  const route = { BENCH_MODE: 'live', DELIVERY_ROUTE: `smtp://127.0.0.1:${port}` };
  return startTarget('grouped', { env: { ...route, ...env } });
}

function requestFor({ key }: Target, bytes?: number): () => Buffer {
  const body = JSON.stringify(sampleSend('jane@example.com', undefined, bytes));
  const request = Buffer.from(postRequest('/api/v1/transactional/send', key, body));
  return () => request;
}

/** Returns the time of the 202. */
function sendOne(target: Target): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = requestFor(target)();
    const socket = net.connect(target.port, '127.0.0.1', () => socket.write(request));
    socket.once('data', () => {
      resolve(now());
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

function signatures(name: string, privateKey: KeyObject): Contestant {
  const data = Buffer.alloc(1_000, 'x');
  return {
    name,
    async slice() {
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
      return { 'signatures/s': count / 2 };
    },
  };
}

/** With their children. */
function cpuMicrosOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (usageOf(pid)?.cpuMicros ?? Number.NaN), 0);
}

/** Limited to one connection, so that only the order of its commands matters. */
async function farAway(report: Report): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'postrider-far-'));
  const shaping = path.join(folder, 'shaping.json');
  writeFileSync(
    shaping,
    JSON.stringify({ default: { connectionsMax: 1, messagesPerConnectionMax: 1_000_000 } }),
  );
  await using sink = await startSink();
  const proxy = fork(path.join(import.meta.dirname, 'delay-proxy-main.ts'), [
    String(sink.port),
    String(ROUND_TRIP_MS),
  ]);
  try {
    const { port } = await new Promise<{ port: number }>((resolve) =>
      proxy.once('message', (message) => resolve(message as { port: number })),
    );
    await using target = await startLive(port, { BENCH_UNSIGNED: '1', SHAPING_FILE: shaping });
    await sendOne(target);
    await taken(sink, 1);
    const startedAt = now();
    for (let n = 0; n < FAR_MESSAGES; n++) await sendOne(target);
    const { lastAt } = await taken(sink, FAR_MESSAGES + 1);
    const perSecond = FAR_MESSAGES / ((lastAt - startedAt) / 1000);
    const roundTrips = 1000 / ROUND_TRIP_MS / perSecond;
    report(`one connection, ${ROUND_TRIP_MS} ms away`, {
      'messages/s': perSecond,
      'message round-trips': roundTrips,
    });
  } finally {
    proxy.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function taken(sink: Sink, count: number): Promise<{ lastAt: number }> {
  for (;;) {
    const seen = await sink.count();
    if (seen.received >= count) return seen;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
