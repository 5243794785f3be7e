import { expect, test } from 'vitest';
import { validMessage } from '../../harness/app.ts';
import { runPostrider } from '../../harness/cli-process.ts';
import { freePort } from '../../harness/free-port.ts';
import { createServerProcess, removeDataDir } from '../../harness/server-process.ts';
import { connectAndGreet, dsn } from '../../harness/smtp/return-path-setup.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * A bounce report that was accepted with 250 takes effect even if the server is killed right after; a
 * report without a reply is sent again; each is counted once. A real process with its embedded
 * database gets many concurrent reports, is killed in between, and gets all of them again.
 */

const MESSAGES = 24;

test('reports that arrive while the server is killed are counted once each', {
  timeout: 240_000,
}, async () => {
  await using relay = await startSmtpReceiver();
  await using folder = await createTempDir();
  const port = await freePort();
  const env = {
    DATA_DIR: folder.path,
    RETURN_PATH_PORT: String(port),
    DELIVERY_ROUTE: `smtp://127.0.0.1:${relay.port}`,
    LEASE_SECONDS: '10',
  };
  const server = await createServerProcess({ dataDir: folder.path, env });
  try {
    await server.start();
    const key = await liveKey(env);
    const call = async (path: string, body?: object) => {
      const answer = await fetch(`${server.url}/api/v1${path}`, {
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      });
      // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary response fields.
      return (await answer.json()) as any;
    };
    const sent = await deliverAll(call, relay);

    let answered = 0;
    const first = sent.map(async ({ returnPath }) => {
      const code = await bring(port, returnPath);
      if (code === 250) answered += 1;
      return code;
    });
    await until(() => answered >= MESSAGES / 4);
    await server.kill();
    const codes = await Promise.all(first);
    await server.start();
    for (const [index, { id }] of sent.entries()) {
      if (codes[index] === 250) expect((await call(`/messages/${id}`)).status).toBe('bounced');
    }
    // Senders without a reply try again, and the others might.
    for (const { returnPath } of sent) expect(await bring(port, returnPath)).toBe(250);
    for (const { id } of sent) {
      const { data } = await call(`/events?message_id=${id}`);
      const types = data.map(({ type }: { type: string }) => type);
      expect(types).toEqual(['message.accepted', 'message.delivered', 'message.bounced']);
    }
    const { data } = await call('/suppressions?limit=100');
    expect(data).toHaveLength(MESSAGES);
  } finally {
    await server.kill();
    await server.killPostgres();
    await removeDataDir(folder.path);
  }
});

async function liveKey(env: Record<string, string>): Promise<string> {
  const added = await runPostrider(['domains', 'add', 'example.org', '--trust'], { env });
  expect(added.code).toBe(0);
  const scopes = 'send:transactional,read:messages,read:events,read:suppressions';
  const made = await runPostrider(
    ['keys', 'create', '--mode', 'live', '--scopes', scopes, '--json'],
    {
      env,
    },
  );
  return JSON.parse(made.stdout).token;
}

async function deliverAll(
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary response fields.
  call: (path: string, body?: object) => Promise<any>,
  relay: Awaited<ReturnType<typeof startSmtpReceiver>>,
): Promise<{ id: string; returnPath: string }[]> {
  const ids = new Map<string, string>();
  for (let n = 0; n < MESSAGES; n++) {
    const email = `u${n}@example.com`;
    ids.set(email, (await call('/transactional/send', validMessage({ to: { email } }))).id);
  }
  for (const id of ids.values()) {
    await until(async () => (await call(`/messages/${id}`)).status === 'delivered', {
      timeoutMs: 60_000,
    });
  }
  return relay.messages.map(({ recipients, mailFrom }) => ({
    id: ids.get(recipients[0] as string) as string,
    returnPath: mailFrom,
  }));
}

/** The code of the last reply; 0 if the connection broke. */
async function bring(port: number, returnPath: string): Promise<number> {
  try {
    using client = await connectAndGreet(port);
    return (await client.send({ from: '', to: [returnPath], data: dsn() })).code;
  } catch {
    return 0;
  }
}
