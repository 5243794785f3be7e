import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { runPostrider } from '../../harness/cli-process.ts';
import { freePort } from '../../harness/free-port.ts';
import { createServerProcess, removeDataDir } from '../../harness/server-process.ts';
import { letter, RECEIVING } from '../../harness/smtp/inbound-setup.ts';
import { connectAndGreet } from '../../harness/smtp/return-path-setup.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * A real process with its embedded database is killed while mail arrives. Senders without a reply transmit
 * again: every mail is stored once, with one event, and none that was answered is missing.
 */

const SENDERS = 8;

test('mail that arrives while the server is killed is stored once each', {
  timeout: 240_000,
}, async () => {
  await using folder = await createTempDir();
  const port = await freePort();
  const env = { DATA_DIR: folder.path, RETURN_PATH_PORT: String(port) };
  const server = await createServerProcess({ dataDir: folder.path, env });
  try {
    await server.start();
    const key = await receivingKey(env, server.url);
    const over = new AbortController();
    const accepted: string[] = [];
    const senders = Array.from({ length: SENDERS }, async (_, sender) => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        const subject = `${sender}-${n}`;
        // Some are verified and parsed in threads.
        const body = n % 5 === 0 ? randomBytes(60_000).toString('base64') : 'Hello';
        const data = letter({ subject, body: body.replaceAll(/.{76}/g, '$&\n') });
        while ((await transmit(port, data)) !== 250);
        accepted.push(subject);
      }
    });
    for (let kills = 0; kills < 2; kills += 1) {
      const before = accepted.length;
      await until(() => accepted.length > before + 40, { timeoutMs: 60_000 });
      await server.kill();
      await server.start();
    }
    const before = accepted.length;
    await until(() => accepted.length > before + 20, { timeoutMs: 60_000 });
    over.abort();
    await Promise.all(senders);
    const stored = await allOf(`${server.url}/api/v1/inbound-messages`, key);
    expect(stored.map(({ subject }) => subject).sort()).toEqual(accepted.sort());
    const events = await allOf(`${server.url}/api/v1/events?type=inbound_message.*`, key);
    expect(events.map(({ data }) => data.id).sort()).toEqual(stored.map(({ id }) => id).sort());
  } finally {
    await server.kill();
    await server.killPostgres();
    await removeDataDir(folder.path);
  }
});

async function receivingKey(env: Record<string, string>, url: string): Promise<string> {
  await runPostrider(['domains', 'add', RECEIVING, '--trust'], { env });
  const made = await runPostrider(
    ['keys', 'create', '--mode', 'live', '--scopes', 'all', '--json'],
    { env },
  );
  const { token } = JSON.parse(made.stdout);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const { data } = (await (await fetch(`${url}/api/v1/domains`, { headers })).json()) as {
    data: { id: string; name: string }[];
  };
  const id = data.find(({ name }) => name === RECEIVING)?.id;
  const body = JSON.stringify({ receiving: true });
  const changed = await fetch(`${url}/api/v1/domains/${id}`, { method: 'PATCH', headers, body });
  expect(changed.status).toBe(200);
  return token;
}

/** The code of the last reply; 0 if the connection broke. */
async function transmit(port: number, data: string): Promise<number> {
  try {
    using client = await connectAndGreet(port);
    return (await client.send({ from: 'jane@example.net', to: [`a@${RECEIVING}`], data })).code;
  } catch {
    return 0;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary response fields.
async function allOf(url: string, key: string): Promise<any[]> {
  const found = [];
  for (let cursor = ''; ; ) {
    const page = new URL(url);
    page.searchParams.set('limit', '100');
    if (cursor) page.searchParams.set('cursor', cursor);
    const response = await fetch(page, { headers: { authorization: `Bearer ${key}` } });
    // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary response fields.
    const { data, next_cursor: next } = (await response.json()) as any;
    found.push(...data);
    if (!next || data.length === 0) return found;
    cursor = next;
  }
}
