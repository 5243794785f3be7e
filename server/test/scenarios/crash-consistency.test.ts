import { randomInt } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import {
  createServerProcess,
  removeDataDir,
  type ServerProcess,
} from '../harness/server-process.ts';
import { until } from '../harness/until.ts';

/**
 * A message that was accepted with 202 is never lost, whatever crashes. Clients with their own log send
 * messages with and without Idempotency-Key while the server, or PostgreSQL, is killed with SIGKILL at
 * random moments. In the end messages are counted by sequence number: an accepted message exists exactly
 * once and is delivered; a retried idempotent send exists exactly once; a send without a response exists
 * at most once. The statistics, which usage is read from, equal that count. KILLS=300 runs the long form.
 */

const KILLS = Number(process.env.KILLS ?? 12);
const CLIENTS = 8;

interface Sent {
  idempotent: boolean;
  accepted: boolean;
}

/** A server may be killed again before it responds; one that never responds is an error. */
const PATIENCE_MS = 60_000 + KILLS * 20_000;

test(`${KILLS} kills lose nothing and duplicate nothing`, {
  timeout: 2 * PATIENCE_MS,
  retry: 0,
}, async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'postrider-crash-'));
  const server = await createServerProcess({ dataDir, env: { LEASE_SECONDS: '10' } });
  const over = new AbortController();
  try {
    await server.start();
    const key = await server.printedKey();
    const log = new Map<string, Sent>();
    const clients = Promise.all(
      Array.from({ length: CLIENTS }, (_, client) =>
        sendUntil(over.signal, server, key, client, log),
      ),
    );
    // The error is reported below, where it is awaited.
    clients.catch(() => {});
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((resolve) => setTimeout(resolve, randomInt(50, 600)));
      if (kill % 3 === 2) {
        await server.killPostgres();
        await server.waitUntilReady();
      } else {
        await server.kill();
        await server.start();
      }
    }
    over.abort();
    await clients;

    const found = await countBySequence(server, key);
    const lost: string[] = [];
    for (const [sequence, { idempotent, accepted }] of log) {
      const count = found.get(sequence)?.count ?? 0;
      const right = accepted || idempotent ? count === 1 : count <= 1;
      if (!right)
        lost.push(`${sequence}: ${count} (accepted ${accepted}, idempotent ${idempotent})`);
    }
    expect(lost).toEqual([]);
    const accepted = [...log.values()].filter((sent) => sent.accepted).length;
    expect(accepted).toBeGreaterThan(KILLS);
    await everythingDelivered(server, key);
    await statisticsEqual(server, key, found.size);
    console.log(
      `${KILLS} kills, ${log.size} sends, ${accepted} answered 202, ${found.size} stored, 0 lost, 0 doubled`,
    );
    expect(await server.stop()).toBe(0);
  } finally {
    over.abort();
    await server.kill();
    await server.killPostgres();
    await removeDataDir(dataDir);
  }
});

async function sendUntil(
  over: AbortSignal,
  server: ServerProcess,
  key: string,
  client: number,
  log: Map<string, Sent>,
): Promise<void> {
  for (let n = 0; !over.aborted; n++) {
    const sequence = `${client}-${n}`;
    const idempotent = n % 2 === 0;
    const sent: Sent = { idempotent, accepted: false };
    log.set(sequence, sent);
    sent.accepted = await trySend(server, key, sequence, idempotent);
    if (sent.accepted || !idempotent) continue;
    // Without a response the outcome is unknown: the same key is sent again until there is one.
    await until(
      async () => {
        sent.accepted = await trySend(server, key, sequence, idempotent);
        return sent.accepted;
      },
      { timeoutMs: PATIENCE_MS, what: `${sequence} is accepted` },
    );
  }
}

async function trySend(
  server: ServerProcess,
  key: string,
  sequence: string,
  idempotent: boolean,
): Promise<boolean> {
  try {
    const answer = await fetch(`${server.url}/api/v1/transactional/send`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(idempotent ? { 'idempotency-key': sequence } : {}),
      },
      body: JSON.stringify({
        to: { email: 'jane@example.com' },
        from: { email: 'a@example.org' },
        subject: sequence,
        html: '<p>Hello</p>',
        metadata: { sequence },
      }),
      signal: AbortSignal.timeout(20_000),
    });
    await answer.text();
    if (answer.status !== 202 && answer.status !== 503 && answer.status !== 409) {
      throw new TypeError(`unexpected response ${answer.status}`);
    }
    return answer.status === 202;
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith('unexpected')) throw error;
    return false;
  }
}

async function* allMessages(server: ServerProcess, key: string) {
  let cursor: string | null = '';
  while (cursor !== null) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const answer = await found(`${server.url}/api/v1/messages?limit=100${query}`, key);
    const page = (await answer.json()) as {
      data: { id: string; status: string; metadata: { sequence: string } }[];
      next_cursor: string | null;
    };
    yield* page.data;
    cursor = page.next_cursor;
  }
}

/** The database may have been killed a moment ago, with connections that have not noticed yet. */
async function found(url: string, key: string): Promise<Response> {
  let answer: Response | undefined;
  await until(
    async () => {
      answer = await fetch(url, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(20_000),
      });
      return answer.ok;
    },
    { timeoutMs: 120_000, what: () => `messages are listed: ${answer?.status}` },
  );
  return answer as Response;
}

async function countBySequence(server: ServerProcess, key: string) {
  const found = new Map<string, { count: number }>();
  for await (const { metadata } of allMessages(server, key)) {
    const entry = found.get(metadata.sequence) ?? { count: 0 };
    entry.count += 1;
    found.set(metadata.sequence, entry);
  }
  return found;
}

/** Leases of crashed nodes have to expire first. */
async function everythingDelivered(server: ServerProcess, key: string): Promise<void> {
  let waiting = new Map<string, string>();
  await until(
    async () => {
      waiting = new Map();
      for await (const { id, status } of allMessages(server, key)) {
        if (status !== 'delivered') waiting.set(id, status);
      }
      return waiting.size === 0;
    },
    { timeoutMs: 120_000, what: () => `all are delivered: ${JSON.stringify([...waiting])}` },
  );
}

/** Counting follows the event log, so it may lag a little, but misses nothing and counts nothing twice. */
async function statisticsEqual(
  server: ServerProcess,
  key: string,
  messages: number,
): Promise<void> {
  const counted = async () => {
    const answer = await found(`${server.url}/api/v1/stats?interval=day`, key);
    const { data } = (await answer.json()) as {
      data: { totals: { messages: number; delivered: number } }[];
    };
    return data[0]?.totals;
  };
  const isComplete = async () => (await counted())?.delivered === messages;
  await until(isComplete, { timeoutMs: 120_000, what: 'all deliveries are counted' });
  expect(await counted()).toMatchObject({ messages, delivered: messages });
}
