import { startApp, type TestApp, type TestAppOptions } from '../app.ts';
import { type Script, type ScriptedDnsServer, startDnsServer } from './dns-server.ts';
import { connectAndGreet, crlf } from './return-path-setup.ts';
import type { Reply } from './submission-client.ts';

/**
 * A server whose workspace receives mail for `reply.example.org`, and a second workspace that receives
 * for `desk.example.com`. `deliver` is another mail server.
 */
export interface InboundServer extends AsyncDisposable {
  app: TestApp;
  dns: ScriptedDnsServer;
  port: number;
  other: { workspaceId: string; key: string };
  /** Returns the reply to the final dot, or the first negative reply. */
  deliver(to: string | string[], data: string | Buffer, from?: string): Promise<Reply>;
  /** The stored messages of a workspace, newest first. */
  list(query?: string, key?: string): Promise<Found[]>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary response fields.
export type Found = any;

export const RECEIVING = 'reply.example.org';
export const OTHER_RECEIVING = 'desk.example.com';

export async function startInboundServer(
  options: TestAppOptions & { script?: Script } = {},
): Promise<InboundServer> {
  const dns = await startDnsServer(options.script ?? {});
  const app = await startApp({
    ...options,
    env: {
      DNS_SERVERS: dns.address,
      HELO_NAME: 'mail.postrider.test',
      RETURN_PATH_PORT: '0',
      ...options.env,
    },
  });
  const second = await app.app.workspaces.create('Second');
  const key = await app.newKey({ mode: 'live', workspaceId: second.id });
  await receive(app, app.workspaceId, app.liveKey, RECEIVING);
  await receive(app, second.id, key, OTHER_RECEIVING);
  const port = app.app.returnPath.address?.port ?? 0;
  return {
    app,
    dns,
    port,
    other: { workspaceId: second.id, key },
    async deliver(to, data, from = 'jane@example.net') {
      using client = await connectAndGreet(port);
      return await client.send({ from, to: [to].flat(), data });
    },
    async list(query = '', used = app.liveKey) {
      const { json } = await app.call('GET', `/inbound-messages${query}`, { key: used });
      return json.data;
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
    },
  };
}

/** Trusts the domain and switches on receiving. */
export async function receive(
  app: TestApp,
  workspaceId: string,
  key: string,
  name: string,
): Promise<string> {
  await app.app.domains.trust(workspaceId, { name });
  const { json } = await app.call('GET', '/domains', { key });
  const { id } = json.data.find((domain: { name: string }) => domain.name === name);
  const changed = await app.call('PATCH', `/domains/${id}`, { key, body: { receiving: true } });
  if (changed.status !== 200) throw new Error(changed.text);
  return id;
}

export function letter(changes: { subject?: string; header?: string; body?: string } = {}): string {
  const { subject = 'Hello', header = '', body = 'Hi there.' } = changes;
  return crlf(
    `From: "Jane Doe" <Jane@Example.net>\nTo: Support <support@${RECEIVING}>\nSubject: ${subject}\n` +
      `Message-ID: <${subject.replaceAll(/\W/g, '')}@mail.example.net>\n` +
      `Date: Sun, 15 Nov 2026 10:00:00 +0100\n${header}\n${body}`,
  );
}
