import { createHash, randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runPostrider } from '../harness/cli-process.ts';
import { startDnsServer } from '../harness/dns-server.ts';
import { createServerProcess, type ServerProcess } from '../harness/server-process.ts';
import { startSmtpReceiver } from '../harness/smtp-receiver.ts';
import { createTempDir } from '../harness/temp-dir.ts';

/**
 * From the 202 to the final dot at the receiver no message is lost, whatever crashes, and none is
 * duplicated except those that a kill interrupted between the final dot and the commit.
 * The real server with its embedded database sends live mail to a receiver with its own log, which
 * rejects some messages permanently and some temporarily. The server, PostgreSQL and single PostgreSQL
 * backends are killed at random moments. Arrivals are read from the receiver's log only; the event feed
 * is used for outcomes that leave no trace there, and for commit times.
 * KILLS=60 runs the long form.
 */

const KILLS = Number(process.env.KILLS ?? 10);
const CLIENTS = 6;
const SENDER = 'sender.example';
/** Longer than a lease plus the longest retry delay. */
const STILL_MS = 180_000;

interface Arrival {
  atMs: number;
  messageId: string;
  digest: string;
}

/** From the decision to kill until everything has recovered: the kill happens in between. */
interface Kill {
  fromMs: number;
  toMs: number;
  what: 'server' | 'postmaster' | 'backend';
}

test(`${KILLS} kills: every accepted message arrives or has a recorded outcome`, {
  timeout: 3_600_000,
}, async () => {
  await using dns = await startDnsServer({
    'one.example': { MX: ['10 mx.example.test'], ttlSeconds: 60 },
    'two.example': { MX: ['10 mx.example.test'], ttlSeconds: 60 },
    'mx.example.test': { A: ['127.0.0.1'], ttlSeconds: 60 },
  });
  const log = new Map<string, Arrival[]>();
  const seen = new Set<string>();
  await using receiver = await startSmtpReceiver({
    onRcpt: (to) => {
      if (to.startsWith('no-')) return '550 5.1.1 No such user';
      const known = seen.has(to);
      seen.add(to);
      return to.startsWith('later-') && !known ? '451 4.7.1 Greylisted' : undefined;
    },
    onMessage: async ({ raw, recipients }) => {
      const [, messageId = ''] = /^Message-ID: (\S+)/im.exec(raw.toString('latin1')) ?? [];
      const digest = createHash('sha256').update(raw).digest('hex');
      for (const to of recipients) {
        log.set(to, [...(log.get(to) ?? []), { atMs: Date.now(), messageId, digest }]);
      }
      receiver.messages.length = 0;
      // Extend the window between the final dot and its reply, which is the critical moment.
      await sleep(randomInt(0, 20));
      return undefined;
    },
  });
  await using folder = await createTempDir();
  const server = await createServerProcess({
    dataDir: folder.path,
    env: {
      LEASE_SECONDS: '10',
      RETRY_FIRST_SECONDS: '1',
      RETRY_LONGEST_MINUTES: '1',
      DNS_SERVERS: dns.address,
      MX_PORT: String(receiver.port),
      HELO_NAME: 'mail.sender.test',
    },
  });
  try {
    await server.start();
    const key = await liveKey(folder.path);
    const over = new AbortController();
    const clients = Array.from({ length: CLIENTS }, (_, n) =>
      sendUntil(over.signal, server, key, n),
    );
    const kills = await killAtRandom(server);
    over.abort();
    const accepted = new Map((await Promise.all(clients)).flatMap((some) => [...some]));
    const ends = await allEnds(server, key, accepted);

    const errors = [...accepted.keys()].flatMap((to) =>
      errorsOf(to, log.get(to) ?? [], ends.get(to) as End[], kills),
    );
    expect(errors).toEqual([]);
    expect(accepted.size).toBeGreaterThan(KILLS * 3);
    const doubled = [...log.values()].filter((arrivals) => arrivals.length > 1).length;
    console.log(
      `${kills.length} kills (${count(kills)}), ${accepted.size} recipients accepted with 202: ${
        log.size
      } arrived, ${doubled} of them twice with the same bytes, 0 lost`,
    );
    expect(await server.stop()).toBe(0);
  } finally {
    await server.kill();
    await server.killPostgres();
  }
});

function errorsOf(to: string, arrivals: Arrival[], ends: End[], kills: Kill[]): string[] {
  const errors: string[] = [];
  const [end] = ends;
  const wanted = to.startsWith('no-') ? 'message.bounced' : 'message.delivered';
  if (ends.length !== 1 || end?.type !== wanted) {
    errors.push(`${to}: ended as ${ends.map(({ type }) => type).join(', ') || 'nothing'}`);
  }
  if (wanted === 'message.delivered' && arrivals.length === 0) errors.push(`${to}: never arrived`);
  for (const [n, arrival] of arrivals.entries()) {
    const next = arrivals[n + 1];
    if (!next) {
      // A message that arrives after its outcome was committed is an unjustified duplicate.
      if (end && arrival.atMs > end.atMs)
        errors.push(`${to}: arrived after its outcome was recorded`);
      continue;
    }
    if (arrival.messageId !== next.messageId) errors.push(`${to}: different Message-ID`);
    if (arrival.digest !== next.digest) errors.push(`${to}: different bytes`);
    const excused = kills.some(({ fromMs, toMs }) => toMs >= arrival.atMs && fromMs <= next.atMs);
    if (!excused) errors.push(`${to}: arrived twice without a kill in between`);
  }
  return errors;
}

function count(kills: Kill[]): string {
  const what = ['server', 'postmaster', 'backend'] as const;
  return what.map((one) => `${kills.filter((kill) => kill.what === one).length} ${one}`).join(', ');
}

async function liveKey(dataDir: string): Promise<string> {
  const env = { DATA_DIR: dataDir };
  const added = await runPostrider(['domains', 'add', SENDER, '--trust', '--json'], { env });
  expect(added).toMatchObject({ code: 0 });
  const scopes = 'send:transactional,read:messages,read:events';
  const made = await runPostrider(
    ['keys', 'create', '--mode', 'live', '--scopes', scopes, '--json'],
    {
      env,
    },
  );
  expect(made).toMatchObject({ code: 0 });
  return JSON.parse(made.stdout).token;
}

async function killAtRandom(server: ServerProcess): Promise<Kill[]> {
  const kills: Kill[] = [];
  for (let n = 0; n < KILLS; n++) {
    await sleep(randomInt(50, 1_000));
    const what = (['server', 'postmaster', 'server', 'backend'] as const)[n % 4] ?? 'server';
    const fromMs = Date.now();
    if (what === 'server') {
      await server.kill();
      await server.start();
    } else {
      await (what === 'postmaster' ? server.killPostgres() : server.killBackend());
      await server.waitUntilReady();
    }
    kills.push({ fromMs, toMs: Date.now(), what });
  }
  return kills;
}

/** Sends one message after another; returns the recipients that were accepted with 202. */
async function sendUntil(
  over: AbortSignal,
  server: ServerProcess,
  key: string,
  client: number,
): Promise<Map<string, string>> {
  const accepted = new Map<string, string>();
  for (let n = 0; !over.aborted; n++) {
    const kind = n % 8 === 3 ? 'no' : n % 8 === 6 ? 'later' : 'yes';
    const first = `${kind}-${client}-${n}@one.example`;
    const second = n % 4 === 0 ? [`yes-${client}-${n}@two.example`] : [];
    const id = await trySend(server, key, [first, ...second]);
    if (id === undefined) await sleep(20);
    else for (const to of [first, ...second]) accepted.set(to, id);
  }
  return accepted;
}

async function trySend(
  server: ServerProcess,
  key: string,
  [to, ...bcc]: string[],
): Promise<string | undefined> {
  const answer = await call(server, key, 'POST', '/transactional/send', {
    to: { email: to },
    bcc: bcc.map((email) => ({ email })),
    from: { email: `hello@${SENDER}` },
    subject: 'Hello',
    html: `<p>Hello ${to}</p>`,
  });
  if (answer && answer.status !== 202 && answer.status !== 503) {
    throw new Error(`unexpected response ${answer.status}: ${JSON.stringify(answer.json)}`);
  }
  return answer?.status === 202 ? (answer.json as { id: string }).id : undefined;
}

interface End {
  type: string;
  atMs: number;
}

const FINAL = /^message\.(delivered|bounced|failed|expired|suppressed|cancelled)$/;

/** Reads the event feed until every accepted message has an outcome. Leases have to expire first. */
async function allEnds(
  server: ServerProcess,
  key: string,
  accepted: Map<string, string>,
): Promise<Map<string, End[]>> {
  const ends = new Map<string, End[]>();
  let cursor = '';
  let lastAtMs = Date.now();
  for (;;) {
    const query = cursor === '' ? '' : `&cursor=${cursor}`;
    const answer = await call(server, key, 'GET', `/events?limit=100${query}`);
    const page: EventPage =
      answer?.status === 200
        ? (answer.json as EventPage)
        : { data: [], next_cursor: cursor, has_more: false };
    if (page.data.length > 0) lastAtMs = Date.now();
    for (const { type, created_at, data } of page.data) {
      if (!FINAL.test(type)) continue;
      const end = { type, atMs: Date.parse(created_at) };
      ends.set(data.recipient, [...(ends.get(data.recipient) ?? []), end]);
    }
    cursor = page.next_cursor;
    if (page.has_more) continue;
    const missing = [...accepted.keys()].filter((to) => !ends.has(to));
    if (missing.length === 0) return ends;
    if (Date.now() - lastAtMs > STILL_MS) {
      throw new Error(`No progress, and ${missing.length} have no outcome: ${missing.slice(0, 5)}`);
    }
    await sleep(100);
  }
}

interface EventPage {
  data: { type: string; created_at: string; data: { recipient: string } }[];
  next_cursor: string;
  has_more: boolean;
}

/** Undefined if the connection broke: the outcome is unknown. */
async function call(
  server: ServerProcess,
  key: string,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; json: unknown } | undefined> {
  try {
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(20_000),
    });
    return { status: answer.status, json: await answer.json() };
  } catch {
    return undefined;
  }
}
