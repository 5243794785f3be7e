import { createHash } from 'node:crypto';
import { headersOf, signatureOf } from '../../server/src/compat/ses/signature-v4.ts';
import { httpLoad } from './http-load.ts';
import { usageOf } from './process-usage.ts';
import type { Report } from './results.ts';
import { SENDER_DOMAIN, sampleHtml, sampleSend } from './sample-message.ts';
import { startTarget, type Target } from './start-target.ts';

/**
 * What accepting a message costs through the API of another provider, compared with our own, with the
 * same content, alternating against one server. Cost is the CPU time of the server, without
 * PostgreSQL. Only the ratios are meaningful.
 */

const CONNECTIONS = 64;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 3) * 1000;
/** Per API, before the first round. V8 has compiled the whole path after about ten thousand requests. */
const WARM_UP_MS = Number(process.env.BENCH_WARM_UP_SECONDS ?? 6) * 1000;

const FROM = `shop@${SENDER_DOMAIN}`;
const TO = 'jane@example.com';
const SUBJECT = 'Your receipt';
const HTML = sampleHtml();
const JSON_TYPE = 'application/json';

interface Cost {
  cpuMicros: number;
  perSecond: number;
}

export async function benchCompat(report: Report): Promise<void> {
  await using target = await startTarget('grouped', { env: { ROLES: 'api' } });
  const requests = await requestsTo(target);
  for (const request of requests.values()) await measure(target, request, WARM_UP_MS);
  const best = new Map<string, Cost>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, request] of requests) {
      const cost = await measure(target, request, DURATION_MS);
      const before = best.get(name)?.cpuMicros ?? Number.POSITIVE_INFINITY;
      if (cost.cpuMicros < before) best.set(name, cost);
    }
  }
  const native = best.get('native')?.cpuMicros ?? Number.NaN;
  for (const [name, { cpuMicros, perSecond }] of best) {
    report(name, {
      'CPU µs': cpuMicros,
      'requests/s': perSecond,
      'native times': cpuMicros / native,
    });
  }
}

async function measure(target: Target, request: string, durationMs: number): Promise<Cost> {
  const before = usageOf(target.pid)?.cpuMicros ?? Number.NaN;
  const { count, perSecond, failures } = await httpLoad({
    port: target.port,
    connections: CONNECTIONS,
    durationMs,
    warmUpMs: 0,
    request: () => request,
  });
  const after = usageOf(target.pid)?.cpuMicros ?? Number.NaN;
  if (Object.keys(failures).length > 0) throw new Error(`failures ${JSON.stringify(failures)}`);
  return { cpuMicros: (after - before) / count, perSecond };
}

/** The complete request of each API. */
async function requestsTo(target: Target): Promise<Map<string, string>> {
  const bearer = { Authorization: `Bearer ${target.key}` };
  const basic = Buffer.from(`api:${target.key}`).toString('base64');
  return new Map([
    [
      'native',
      post('/api/v1/transactional/send', bearer, JSON_TYPE, JSON.stringify(sampleSend(TO))),
    ],
    [
      'resend',
      post(
        '/compat/resend/emails',
        bearer,
        JSON_TYPE,
        JSON.stringify({ from: FROM, to: TO, subject: SUBJECT, html: HTML }),
      ),
    ],
    [
      'postmark',
      post(
        '/compat/postmark/email',
        { 'X-Postmark-Server-Token': target.key },
        JSON_TYPE,
        JSON.stringify({ From: FROM, To: TO, Subject: SUBJECT, HtmlBody: HTML }),
      ),
    ],
    [
      'sendgrid',
      post(
        '/compat/sendgrid/v3/mail/send',
        bearer,
        JSON_TYPE,
        JSON.stringify({
          personalizations: [{ to: [{ email: TO }] }],
          from: { email: FROM },
          subject: SUBJECT,
          content: [{ type: 'text/html', value: HTML }],
        }),
      ),
    ],
    [
      'mailgun',
      post(
        `/compat/mailgun/v3/${SENDER_DOMAIN}/messages`,
        { Authorization: `Basic ${basic}` },
        `multipart/form-data; boundary=${BOUNDARY}`,
        multipart({ from: FROM, to: TO, subject: SUBJECT, html: HTML }),
      ),
    ],
    ['ses', await sesRequest(target)],
  ]);
}

const BOUNDARY = 'bench-boundary';

function multipart(fields: Record<string, string>): string {
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join('')}--${BOUNDARY}--\r\n`;
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
  const signedHeaders = ['content-type', 'host', 'x-amz-content-sha256', 'x-amz-date'];
  const headers = { 'x-amz-content-sha256': bodyHash, 'x-amz-date': signedAt };
  const all = { 'content-type': JSON_TYPE, host: 'localhost', ...headers };
  const signature = signatureOf(
    { method: 'POST', url, headers: headersOf(Object.entries(all).flat()) },
    { scope, signedAt, signedHeaders },
    bodyHash,
    secret,
  );
  const Authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signedHeaders.join(';')}, Signature=${signature}`;
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
