import { expect } from 'vitest';
import { startApp, type TestApp, type TestAppOptions, validMessage } from '../app.ts';
import { createTestDatabase, type TestDatabase } from '../database/database.ts';
import { until } from '../until.ts';
import { startDnsServer } from './dns-server.ts';
import { type ReceiverScript, type SmtpReceiver, startSmtpReceiver } from './smtp-receiver.ts';
import { type Reply, SubmissionClient } from './submission-client.ts';

/**
 * A complete server that delivers to a scripted receiver and accepts bounces on its return path port.
 * `send` delivers a message and returns the return path that the receiver saw.
 */
export interface ReturnPathServer extends AsyncDisposable {
  app: TestApp;
  receiver: SmtpReceiver;
  database: TestDatabase;
  port: number;
  send(more?: Record<string, unknown>): Promise<{ id: string; returnPath: string; raw: string }>;
  message(id: string): Promise<Found>;
  events(id: string): Promise<Found[]>;
  /** Returns the reply to the final dot, or the first negative reply. */
  report(to: string | string[], data: string | Buffer, from?: string): Promise<Reply>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary response fields.
type Found = any;

export const BOUNCE_HOST = 'bounces.house.test';

export async function startReturnPathServer(
  options: Omit<TestAppOptions, 'database'> & {
    script?: ReceiverScript;
    around?: (url: string) => Promise<string>;
  } = {},
): Promise<ReturnPathServer> {
  const receiver = await startSmtpReceiver(options.script ?? {});
  const dns = await startDnsServer({
    'example.com': { MX: ['10 mx1.example.test'] },
    'mx1.example.test': { A: ['127.0.0.1'] },
  });
  const database = await createTestDatabase();
  const url = options.around ? await options.around(database.url) : database.url;
  const app = await startApp({
    ...options,
    database: { ...database, url },
    env: {
      DNS_SERVERS: dns.address,
      MX_PORT: String(receiver.port),
      HELO_NAME: 'mail.house.test',
      BOUNCE_HOST,
      RETURN_PATH_PORT: '0',
      ...options.env,
    },
  });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  const look = async (id: string) =>
    (await app.call('GET', `/messages/${id}`, { key: app.liveKey })).json;
  const port = app.app.returnPath.address?.port ?? 0;
  return {
    app,
    receiver,
    database,
    port,
    message: look,
    async send(more = {}) {
      const before = receiver.messages.length;
      const sent = await app.call('POST', '/transactional/send', {
        key: app.liveKey,
        body: validMessage(more),
      });
      expect(sent.status).toBe(202);
      const { id } = sent.json;
      await until(async () => (await look(id)).status === 'delivered', {
        timeoutMs: 30_000,
        what: `${id} is delivered`,
      });
      const mail = receiver.messages[before];
      return { id, returnPath: mail?.mailFrom ?? '', raw: mail?.raw.toString() ?? '' };
    },
    async events(id) {
      const answer = await app.call('GET', `/events?message_id=${id}`, { key: app.liveKey });
      return answer.json.data;
    },
    async report(to, data, from = '') {
      using client = await connectAndGreet(port);
      return await client.send({ from, to: [to].flat(), data });
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
      await receiver.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

export async function connectAndGreet(port: number): Promise<SubmissionClient> {
  const client = await SubmissionClient.connect(port);
  await client.reply();
  await client.command('EHLO mx1.example.test');
  return client;
}

export interface DsnOptions {
  id?: string;
  action?: string;
  status?: string;
  recipient?: string;
  diagnostic?: string;
  /** Additional recipient groups. */
  more?: string;
}

/** A delivery status notification as written by Postfix. */
export function dsn(options: DsnOptions = {}): string {
  const {
    id = 'dsn-1',
    action = 'failed',
    status = '5.1.1',
    recipient = 'jane@example.com',
  } = options;
  const diagnostic = options.diagnostic ?? `550 ${status} <${recipient}>: User unknown`;
  return crlf(`From: MAILER-DAEMON@mx1.example.test (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
Message-ID: <${id}@mx1.example.test>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
	boundary="4B2.1763"

This is a MIME-encapsulated message.

--4B2.1763
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

I'm sorry to have to inform you that your message could not be delivered.

--4B2.1763
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; mx1.example.test
Arrival-Date: Sun, 15 Nov 2026 10:00:00 +0000 (UTC)

Final-Recipient: rfc822; ${recipient}
Action: ${action}
Status: ${status}
Remote-MTA: dns; mailbox7.example.test
Diagnostic-Code: smtp; ${diagnostic}
${options.more ?? ''}
--4B2.1763
Content-Description: Undelivered Message
Content-Type: message/rfc822

From: hello@example.org
To: jane@example.com

Hello
--4B2.1763--`);
}

export interface ComplaintOptions {
  id?: string;
  type?: string;
  /** Additional report fields, such as `Original-Rcpt-To`. */
  fields?: string;
  /** The header of the reported message. */
  returned?: string;
}

export function complaint(options: ComplaintOptions = {}): string {
  const { id = 'arf-1', type = 'abuse', fields = '', returned = 'Subject: Hello' } = options;
  return crlf(`From: feedback@provider.test
Message-ID: <${id}@provider.test>
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="arf"

--arf
Content-Type: text/plain

This is an email abuse report.
--arf
Content-Type: message/feedback-report

Feedback-Type: ${type}
User-Agent: Provider-Feedback/1.0
Version: 1
${fields}
--arf
Content-Type: message/rfc822

${returned}

Hello
--arf--`);
}

export function crlf(text: string): string {
  return text.replaceAll(/\r?\n/g, '\r\n');
}
