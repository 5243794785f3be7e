import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signatureOf } from '../../../src/compat/ses/signature-v4.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { fillPath, operationsOf } from '../../harness/http/openapi-operations.ts';
import { until } from '../../harness/until.ts';

/**
 * Through the API of another provider, a tenant reaches nothing of another one either. Every operation of each
 * document is called with everything that names a resource of the owner, by keys of another workspace: what the
 * owner stored is in no response, and none of the owner's rows changes.
 */

/** In everything that the owner stores, and in nothing that names it. */
const CONTENT = 'zebra';
const DOMAIN = 'tenant.example';
const ADDRESS = 'gone@example.com';
/** Values of path parameters. Any other one gets each of the owner's names. */
const FIXED: Record<string, string> = { attachment: '1', tag: 'initial' };
const PROVIDERS = ['resend', 'postmark', 'mailgun', 'sendgrid', 'ses'] as const;
type Provider = (typeof PROVIDERS)[number];

interface Credentials {
  key: string;
  accessKeyId: string;
  secret: string;
}

interface Request {
  provider: Provider;
  method: string;
  path: string;
  body?: unknown;
}

let app: TestApp;
let owner: Credentials;
let others: Credentials[];
let requests: Request[];

beforeAll(async () => {
  app = await startApp();
  const names = await makeOneOfEach();
  const { id: workspaceId } = await app.app.workspaces.create('Neighbor');
  owner = await credentials(app.testKey);
  others = [
    await credentials(await app.newKey({ workspaceId })),
    await credentials(await app.newKey({ workspaceId, mode: 'live' })),
  ];
  requests = [...(await documentedRequests(names)), ...requestsWithNamesInBodies(names)];
});
afterAll(() => app[Symbol.asyncDispose]());

async function credentials(key: string): Promise<Credentials> {
  const { json: current } = await app.call('GET', '/api-keys/current', { key });
  const { json } = await app.call('POST', `/api-keys/${current.id}/ses-credentials`, { key });
  return { key, accessKeyId: json.access_key_id, secret: json.secret_access_key };
}

interface Names {
  all: string[];
  batch: string;
  message: string;
}

async function makeOneOfEach(): Promise<Names> {
  const make = async (path: string, body: object, key = app.testKey) => {
    const made = await app.call('POST', path, { body, key });
    expect([path, made.status], made.text).toEqual([path, expect.toBeOneOf([200, 201, 202])]);
    return made.json;
  };
  const file = { filename: `${CONTENT}.txt`, content: Buffer.from(CONTENT).toString('base64') };
  const batch = (
    await call(
      { provider: 'sendgrid', method: 'POST', path: '/v3/mail/batch' },
      { key: app.testKey },
    )
  ).json.batch_id;
  const scheduled = await call(
    {
      provider: 'sendgrid',
      method: 'POST',
      path: '/v3/mail/send',
      body: {
        personalizations: [{ to: [{ email: 'later@example.com' }] }],
        from: { email: `hello@${DOMAIN}` },
        subject: CONTENT,
        content: [{ type: 'text/plain', value: CONTENT }],
        send_at: Math.floor(Date.now() / 1000) + 3_600,
        batch_id: batch,
      },
    },
    { key: app.testKey },
  );
  expect(scheduled.status).toBe(202);
  const message = await make(
    '/transactional/send',
    validMessage({
      from: { email: `hello@${DOMAIN}`, name: CONTENT },
      to: { email: 'hard@bounce.simulator' },
      subject: CONTENT,
      attachments: [file],
    }),
  );
  const domain = await make('/domains', { name: DOMAIN }, app.liveKey);
  const contact = await make('/contacts', { email: 'jane@example.com', first_name: CONTENT });
  const suppression = await make('/suppressions', { email: ADDRESS, note: CONTENT });
  const key = await make('/api-keys', { name: CONTENT });
  await make('/streams', { key: 'mine', purpose: 'subscription', name: CONTENT }, app.liveKey);
  const template = { key: 'own', name: CONTENT, subject: CONTENT, html: `<p>${CONTENT}</p>` };
  await make('/templates', template, app.liveKey);
  await make('/templates/own/publish', {}, app.liveKey);
  const inbound = await make('/inbound-messages/simulate', {
    from: { email: 'jane@example.com', name: CONTENT },
    to: { email: `in@${DOMAIN}` },
    subject: CONTENT,
    text: CONTENT,
    attachments: [file],
  });
  await until(async () => {
    const { json } = await app.call('GET', `/messages/${message.id}`);
    return json.status !== 'queued';
  });
  const { json: bounces } = await call(
    { provider: 'postmark', method: 'GET', path: '/bounces?count=10&offset=0' },
    { key: app.testKey },
  );
  const ids = [message, domain, contact, suppression, key, inbound].map(({ id }) => String(id));
  const bounceIds = bounces.Bounces.map(({ ID }: { ID: number }) => String(ID));
  const all = [...ids, ...bounceIds, batch, DOMAIN, ADDRESS, 'jane@example.com', 'own', 'mine'];
  return { all, batch, message: message.id };
}

/** Each path with each name of the owner. */
async function documentedRequests({ all }: Names): Promise<Request[]> {
  const found = await Promise.all(
    PROVIDERS.map(async (provider) => {
      const prefix = `/compat/${provider}`;
      const document = await (await fetch(`${app.url}${prefix}/openapi.json`)).json();
      return operationsOf(document).flatMap(({ method, path, takesBody }) =>
        all.map((name) => {
          const filled = fillPath(path.slice(prefix.length), (parameter) =>
            parameter === 'domain' && path.split('{').length > 2
              ? DOMAIN
              : (FIXED[parameter] ?? name),
          );
          return { provider, method, path: filled, ...(takesBody ? { body: {} } : {}) };
        }),
      );
    }),
  );
  const unique = new Map(found.flat().map((one) => [JSON.stringify(one), one]));
  return [...unique.values()];
}

function requestsWithNamesInBodies({ batch, message }: Names): Request[] {
  const from = `hello@${DOMAIN}`;
  const to = 'x@example.com';
  const ses = (body: Record<string, string>): Request => ({
    provider: 'ses',
    method: 'POST',
    path: '/',
    body: new URLSearchParams({ Version: '2010-12-01', ...body }),
  });
  return [
    {
      provider: 'sendgrid',
      method: 'POST',
      path: '/v3/user/scheduled_sends',
      body: { batch_id: batch, status: 'cancel' },
    },
    ...['bounces', 'invalid_emails', 'spam_reports'].map((list) => ({
      provider: 'sendgrid' as const,
      method: 'DELETE',
      path: `/v3/suppression/${list}`,
      body: { emails: [ADDRESS] },
    })),
    {
      provider: 'sendgrid',
      method: 'POST',
      path: '/v3/mail/send',
      body: {
        personalizations: [{ to: [{ email: to }] }],
        from: { email: from },
        template_id: 'own',
      },
    },
    {
      provider: 'postmark',
      method: 'POST',
      path: '/email/withTemplate',
      body: { From: from, To: to, TemplateAlias: 'own', TemplateModel: {} },
    },
    ...['outbound', 'mine'].map((stream) => ({
      provider: 'postmark' as const,
      method: 'POST',
      path: `/message-streams/${stream}/suppressions/delete`,
      body: { Suppressions: [{ EmailAddress: ADDRESS }] },
    })),
    {
      provider: 'postmark',
      method: 'GET',
      path: `/bounces?count=10&offset=0&messageID=${message}`,
    },
    {
      provider: 'resend',
      method: 'POST',
      path: '/emails',
      body: { from, to, template: { id: 'own' } },
    },
    { provider: 'resend', method: 'GET', path: `/emails?after=${message}` },
    {
      provider: 'mailgun',
      method: 'POST',
      path: `/v3/${DOMAIN}/messages`,
      body: new URLSearchParams({ from, to, template: 'own' }),
    },
    {
      provider: 'mailgun',
      method: 'GET',
      path: `/v3/${DOMAIN}/events?message-id=${message}`,
    },
    {
      provider: 'ses',
      method: 'POST',
      path: '/v2/email/outbound-emails',
      body: {
        FromEmailAddress: from,
        Destination: { ToAddresses: [to] },
        Content: { Template: { TemplateName: 'own', TemplateData: '{}' } },
      },
    },
    ses({ Action: 'GetTemplate', TemplateName: 'own' }),
    ses({ Action: 'DeleteTemplate', TemplateName: 'own' }),
    ses({ Action: 'GetIdentityVerificationAttributes', 'Identities.member.1': DOMAIN }),
    ses({ Action: 'DeleteIdentity', Identity: DOMAIN }),
  ];
}

async function call(
  { provider, method, path, body }: Request,
  by: Pick<Credentials, 'key'> & Partial<Credentials>,
) {
  const isForm = body instanceof URLSearchParams;
  const text = body === undefined ? '' : isForm ? body.toString() : JSON.stringify(body);
  const url = `/compat/${provider}${path}`;
  const response = await fetch(app.url + url, {
    method,
    headers: {
      ...(text === ''
        ? {}
        : {
            'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
          }),
      ...authorization(provider, by, { method, url, text }),
    },
    ...(text === '' ? {} : { body: text }),
  });
  const received = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return {
    status: response.status,
    text: received,
    json: isJson && received !== '' ? JSON.parse(received) : undefined,
  };
}

function authorization(
  provider: Provider,
  { key, accessKeyId = '', secret = '' }: Pick<Credentials, 'key'> & Partial<Credentials>,
  { method, url, text }: { method: string; url: string; text: string },
): Record<string, string> {
  switch (provider) {
    case 'resend':
    case 'sendgrid':
      return { authorization: `Bearer ${key}` };
    case 'postmark':
      return { 'x-postmark-server-token': key };
    case 'mailgun':
      return { authorization: `Basic ${Buffer.from(`api:${key}`).toString('base64')}` };
    case 'ses': {
      const signedAt = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
      const scope = `${signedAt.slice(0, 8)}/eu-central-1/ses/aws4_request`;
      const signedHeaders = 'host;x-amz-date';
      const signed: Record<string, string> = {
        host: new URL(app.url).host,
        'x-amz-date': signedAt,
      };
      const signature = signatureOf(
        { method, url, header: (name) => signed[name] },
        { scope, signedAt, signedHeaders },
        createHash('sha256').update(text).digest('hex'),
        secret,
      );
      const credential = `Credential=${accessKeyId}/${scope}`;
      return {
        'x-amz-date': signedAt,
        authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${signedHeaders}, Signature=${signature}`,
      };
    }
  }
}

/** Written in the background. */
const IN_BACKGROUND = /^(statistics_|request_log|alarms|event_)/;

async function ownRows(): Promise<Record<string, string>> {
  const { pool } = app.database;
  const { rows: tables } = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns c join information_schema.tables t
       using (table_schema, table_name)
     where column_name = 'workspace_id' and table_schema = current_schema()
       and table_type = 'BASE TABLE' order by 1`,
  );
  const found: Record<string, string> = {};
  for (const { name } of tables) {
    if (IN_BACKGROUND.test(name)) continue;
    const { rows } = await pool.query(
      `select coalesce(string_agg(own.text, E'\\n' order by own.text), '') as rows
         from ${name} t, lateral (select (to_jsonb(t) - 'last_used_at')::text) own(text)
        where workspace_id = $1`,
      [app.workspaceId],
    );
    found[name] = rows[0].rows;
  }
  return found;
}

test('another tenant reads and changes nothing of the owner', async () => {
  const before = await ownRows();
  expect(Object.values(before).join('')).toContain(CONTENT);
  for (const request of requests) {
    for (const by of others) {
      const { status, text } = await call(request, by);
      const { provider, method, path } = request;
      expect([provider, method, path, status, text]).toEqual([
        ...[provider, method, path],
        ...[expect.toSatisfy((code: number) => code < 500), expect.not.stringContaining(CONTENT)],
      ]);
    }
  }
  expect(await ownRows()).toEqual(before);
});

test('the owner reads it with the same requests', async () => {
  const found = new Set<Provider>();
  for (const request of requests.filter(({ method }) => method === 'GET')) {
    const { text } = await call(request, owner);
    if (text.includes(CONTENT)) found.add(request.provider);
  }
  // Nothing that SendGrid's API returns contains content.
  expect([...found].sort()).toEqual(['mailgun', 'postmark', 'resend', 'ses']);
});
