import { createHash } from 'node:crypto';
import { headerReader, signatureOf } from '../../server/src/compat/ses/signature-v4.ts';
import { type LoadClient, openClient } from './http-load.ts';
import { databaseCpuMicros } from './process-usage.ts';
import type { Report } from './results.ts';
import { SENDER_DOMAIN, sampleHtml, sampleSend } from './sample-message.ts';
import { startTarget, type Target } from './start-target.ts';

/**
 * What accepting a message costs through the API of another provider, compared with our own and the
 * same content: the CPU time of the server's process, and that together with PostgreSQL. Each API has
 * a server and a database of its own, in which short slices of both alternate, so that neither finds
 * larger tables, more compiled code or a busier machine than the other.
 */

const CONNECTIONS = 64;
/** Each is a slice of either API. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 60);
const SLICE_MS = Number(process.env.BENCH_SECONDS ?? 0.3) * 1000;
/** For both together. V8 has compiled the whole path after about ten thousand requests. */
const WARM_UP_MS = Number(process.env.BENCH_WARM_UP_SECONDS ?? 20) * 1000;
const PARTS = new Set(
  (process.env.BENCH_PARTS ?? 'resend,postmark,sendgrid,mailgun,ses').split(','),
);

const FROM = `shop@${SENDER_DOMAIN}`;
const TO = 'jane@example.com';
const SUBJECT = 'Your receipt';
const HTML = sampleHtml();
const JSON_TYPE = 'application/json';

export async function benchCompat(report: Report): Promise<void> {
  for (const name of PARTS) {
    // Nothing is delivered, so that no work remains after a slice.
    await using target = await startTarget('grouped', { env: { ROLES: 'api' } });
    await using client = await openClient(target.port, CONNECTIONS);
    const [native, other] = [[nativeRequest(target)], [await REQUESTS[name]?.(target)].flat()];
    if (!isComplete(other)) continue;
    for (const request of [native, other, native, other]) {
      await runSlice(target, client, request, WARM_UP_MS / 4);
    }
    const slices = { native: [] as Slice[], other: [] as Slice[] };
    for (let round = 0; round < ROUNDS; round++) {
      slices.native.push(await runSlice(target, client, native, SLICE_MS));
      slices.other.push(await runSlice(target, client, other, SLICE_MS));
    }
    const [own, theirs] = [costOf(slices.native, 'nodeMicros'), costOf(slices.other, 'nodeMicros')];
    // All APIs store the same rows.
    const database = costOf([...slices.native, ...slices.other], 'databaseMicros');
    report(name, {
      'Node µs': theirs,
      'native µs': own,
      'times native': theirs / own,
      'PostgreSQL µs': database,
      'with PostgreSQL': (theirs + database) / (own + database),
    });
  }
}

interface Slice {
  requests: number;
  /** CPU time of the server's process. */
  nodeMicros: number;
  databaseMicros: number;
}

async function runSlice(
  target: Target,
  client: LoadClient,
  requests: readonly string[],
  durationMs: number,
): Promise<Slice> {
  await settled(target);
  const [node, database] = [await target.cpuMicros(), databaseCpuMicros(target.pid)];
  const request = (n: number): string => requests[n % requests.length] as string;
  const { sent, failures } = await client.run({ durationMs, warmUpMs: 0, request });
  if (Object.keys(failures).length > 0) throw new Error(`failures ${JSON.stringify(failures)}`);
  return {
    requests: sent,
    nodeMicros: (await target.cpuMicros()) - node,
    databaseMicros: databaseCpuMicros(target.pid) - database,
  };
}

/** Waits until the server is idle: it writes its request log after a slice. */
async function settled(target: Target): Promise<void> {
  for (let busy = true; busy; ) {
    const before = await target.cpuMicros();
    await new Promise((resolve) => setTimeout(resolve, 50));
    busy = (await target.cpuMicros()) - before > 5_000;
  }
}

/** The lower quartile: another process on the same core can only make a slice more expensive. */
function costOf(slices: readonly Slice[], key: 'nodeMicros' | 'databaseMicros'): number {
  const costs = slices.map((slice) => slice[key] / slice.requests);
  return costs.toSorted((a, b) => a - b)[Math.floor(costs.length / 4)] ?? Number.NaN;
}

function nativeRequest({ key }: Target): string {
  const body = JSON.stringify(sampleSend(TO));
  return post('/api/v1/transactional/send', bearer(key), JSON_TYPE, body);
}

function bearer(key: string): { Authorization: string } {
  return { Authorization: `Bearer ${key}` };
}

function isComplete(requests: readonly (string | undefined)[]): requests is string[] {
  return requests.every((request) => request !== undefined);
}

/** The complete request of each API, or several that are sent in turn. */
const REQUESTS: Record<string, (target: Target) => string | string[] | Promise<string>> = {
  resend: ({ key }) =>
    post(
      '/compat/resend/emails',
      bearer(key),
      JSON_TYPE,
      JSON.stringify({ from: FROM, to: TO, subject: SUBJECT, html: HTML }),
    ),
  postmark: ({ key }) =>
    post(
      '/compat/postmark/email',
      { 'X-Postmark-Server-Token': key },
      JSON_TYPE,
      JSON.stringify({ From: FROM, To: TO, Subject: SUBJECT, HtmlBody: HTML }),
    ),
  sendgrid: ({ key }) =>
    post(
      '/compat/sendgrid/v3/mail/send',
      bearer(key),
      JSON_TYPE,
      JSON.stringify({
        personalizations: [{ to: [{ email: TO }] }],
        from: { email: FROM },
        subject: SUBJECT,
        content: [{ type: 'text/html', value: HTML }],
      }),
    ),
  // Clients choose a new boundary for each request.
  mailgun: ({ key }) =>
    Array.from({ length: 500 }, (_, index) => {
      const boundary = `----------------------------${(1e11 + index * 7919).toString(36)}`;
      return post(
        `/compat/mailgun/v3/${SENDER_DOMAIN}/messages`,
        { Authorization: `Basic ${Buffer.from(`api:${key}`).toString('base64')}` },
        `multipart/form-data; boundary=${boundary}`,
        multipart(boundary, { from: FROM, to: TO, subject: SUBJECT, html: HTML }),
      );
    }),
  ses: sesRequest,
};

function multipart(boundary: string, fields: Record<string, string>): string {
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join('')}--${boundary}--\r\n`;
}

/** Signed once: a signature is valid for 15 minutes. */
async function sesRequest(target: Target): Promise<string> {
  const { access_key_id: accessKeyId, secret_access_key: secret } = await createCredentials(target);
  const url = '/compat/ses/v2/email/outbound-emails';
  const body = JSON.stringify({
    FromEmailAddress: FROM,
    Destination: { ToAddresses: [TO] },
    Content: { Simple: { Subject: { Data: SUBJECT }, Body: { Html: { Data: HTML } } } },
  });
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const signedAt = new Date().toISOString().replaceAll(/[:-]|\.\d+/g, '');
  const scope = `${signedAt.slice(0, 8)}/us-east-1/ses/aws4_request`;
  const signedHeaders = 'content-type;host;x-amz-content-sha256;x-amz-date';
  const headers = { 'x-amz-content-sha256': bodyHash, 'x-amz-date': signedAt };
  const all = { 'content-type': JSON_TYPE, host: 'localhost', ...headers };
  const signature = signatureOf(
    { method: 'POST', url, header: headerReader(Object.entries(all).flat()) },
    { scope, signedAt, signedHeaders },
    bodyHash,
    secret,
  );
  const Authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`;
  return post(url, { ...headers, Authorization }, JSON_TYPE, body);
}

async function createCredentials(target: Target): Promise<Credentials> {
  const call = async <T>(method: string, path: string): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${target.port}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${target.key}` },
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  const { data } = await call<{ data: { id: string }[] }>('GET', '/api-keys');
  return call('POST', `/api-keys/${data[0]?.id}/ses-credentials`);
}

interface Credentials {
  access_key_id: string;
  secret_access_key: string;
}

function post(path: string, headers: object, contentType: string, body: string): string {
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${own.join('')}` +
    `Content-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}
