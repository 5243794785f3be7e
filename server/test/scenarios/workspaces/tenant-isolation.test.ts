import { afterAll, beforeAll, expect, test } from 'vitest';
import { OperatorKeys } from '../../../src/accounts/operator-keys.ts';
import { encodeId } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import {
  createPerson,
  member,
  type SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';
import {
  type DocumentedOperation,
  documentedOperations,
  fillPath,
} from '../../harness/http/openapi-operations.ts';
import { until } from '../../harness/until.ts';

/**
 * To another tenant, and in the other mode, a resource does not exist: the response is the same as for an unknown id.
 * Every operation of the served document with a path parameter is called by another tenant, with keys and with a
 * session, with a real id and with an unknown one.
 */

let app: TestApp;
let otherKey: string;
let otherLiveKey: string;
let otherSession: SessionClient;
const ids = new Map<string, string>();

/** Path values by the first segments after /api/v1. New resources must be added here. */
const NEVER: Record<string, string> = {
  messages: 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8',
  'inbound-messages': 'inm_01kc8x3f7ye6qvj2m4n5p6q7r8',
  'test/inbox': 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8',
  'api-keys': 'key_01kc8x3f7ye6qvj2m4n5p6q7r8',
  contacts: 'nobody@example.com',
  imports: 'imp_01kc8x3f7ye6qvj2m4n5p6q7r8',
  suppressions: 'sup_01kc8x3f7ye6qvj2m4n5p6q7r8',
  domains: 'dom_01kc8x3f7ye6qvj2m4n5p6q7r8',
  streams: 'never',
  templates: 'never',
  layouts: 'never',
  partials: 'never',
  webhooks: 'whk_01kc8x3f7ye6qvj2m4n5p6q7r8',
  'webhook-deliveries': 'whd_01kc8x3f7ye6qvj2m4n5p6q7r8',
  requests: 'req_01kc8x3f7ye6qvj2m4n5p6q7r8',
  workspaces: 'wsp_01kc8x3f7ye6qvj2m4n5p6q7r8',
  members: 'usr_01kc8x3f7ye6qvj2m4n5p6q7r8',
  invitations: 'inv_01kc8x3f7ye6qvj2m4n5p6q7r8',
  me: 'ses_01kc8x3f7ye6qvj2m4n5p6q7r8',
  'operator-keys': 'opk_01kc8x3f7ye6qvj2m4n5p6q7r8',
};

beforeAll(async () => {
  app = await startApp({
    env: { WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_PORTS: '9,443,1024-65535' },
  });
  const workspace = await app.app.workspaces.create('Neighbour');
  otherKey = await app.newKey({ workspaceId: workspace.id });
  otherLiveKey = await app.newKey({ workspaceId: workspace.id, mode: 'live' });
  const person = await createPerson(app, 'neighbour@people.example', 'owner', workspace.id);
  otherSession = await signInAs(app, person, workspace.id);
  await makeOneOfEach();
  await makePeople();
});
afterAll(() => app[Symbol.asyncDispose]());

async function makeOneOfEach(): Promise<void> {
  const sent = await app.call('POST', '/transactional/send', { body: validMessage() });
  ids.set('messages', sent.json.id);
  ids.set('requests', sent.headers.get('x-request-id') ?? '');
  await app.call('GET', '/test/inbox/wait');
  ids.set('test/inbox', sent.json.id);
  const key = await app.call('POST', '/api-keys', { body: { name: 'Mine' } });
  ids.set('api-keys', key.json.id);
  for (const [kind, path, body, field] of MAKE) {
    const made = await app.call('POST', path, { body, key: app.liveKey });
    expect(made.status, kind).toBe(201);
    ids.set(kind, String(made.json[field]));
  }
  const inbound = await app.call('POST', '/inbound-messages/simulate', {
    body: {
      from: { email: 'jane@example.com' },
      to: { email: 'in@tenant.example' },
      subject: 'S',
      text: 'T',
    },
  });
  ids.set('inbound-messages', inbound.json.id);
  // A delivery to the endpoint, caused by the requests above.
  await until(async () => {
    const { json } = await app.call('GET', '/webhook-deliveries', { key: app.liveKey });
    if (json.data.length > 0) ids.set('webhook-deliveries', json.data[0].id);
    return json.data.length > 0;
  });
}

async function makePeople(): Promise<void> {
  const { visitor, person } = await member(app, 'owner');
  const body = { email: 'joe@people.example', role: 'viewer' };
  ids.set('invitations', (await visitor.call('POST', '/invitations', { body })).json.id);
  ids.set('members', person.publicId);
  ids.set('workspaces', visitor.workspace as string);
  ids.set('me', (await visitor.call('GET', '/me')).json.session.id);
  const operatorKeys = new OperatorKeys({ pool: app.database.pool, clock: systemClock });
  const operatorKey = await operatorKeys.create({ name: 'Platform' });
  ids.set('operator-keys', encodeId('opk', operatorKey.key.id));
}

const MAKE: [string, string, object, string][] = [
  ['webhooks', '/webhooks', { url: 'http://127.0.0.1:9/hook' }, 'id'],
  ['contacts', '/contacts', { email: 'jane@example.com', first_name: 'Jane' }, 'email'],
  ['suppressions', '/suppressions', { email: 'gone@example.com' }, 'id'],
  ['streams', '/streams', { key: 'mine', purpose: 'subscription' }, 'key'],
  ['domains', '/domains', { name: 'tenant.example' }, 'id'],
  ['templates', '/templates', { key: 'mine', subject: 'S', html: '<p>H</p>' }, 'key'],
  ['layouts', '/layouts', { key: 'mine', html: '<div>{{ content }}</div>' }, 'key'],
  ['partials', '/partials', { key: 'mine', html: '<p>P</p>' }, 'key'],
];

function kindOf(operation: DocumentedOperation): string {
  const path = operation.path.replace('/api/v1/', '');
  return path.startsWith('test/inbox') ? 'test/inbox' : (path.split('/')[0] ?? '');
}

/** Upserts by name create the other tenant's own resource: there is nothing to find or hide. */
const MAKES_ITS_OWN = new Set(['upsertContact', 'upsertTemplate', 'upsertLayout', 'upsertPartial']);

test('another tenant gets the response for an unknown id', async () => {
  const operations = (await documentedOperations(app)).filter(
    (one) => one.path.includes('{') && !MAKES_ITS_OWN.has(one.id) && one.scope !== 'operator',
  );
  expect(operations.length).toBeGreaterThan(10);
  for (const operation of operations) {
    const kind = kindOf(operation);
    const never = NEVER[kind];
    expect(never, `add ${kind} to tenant-isolation.test.ts`).toBeDefined();
    const real = ids.get(kind);
    if (real === undefined) continue;
    const body = operation.exampleBody === undefined ? {} : { body: operation.exampleBody };
    for (const [by, call] of [
      [app, { ...body, key: otherKey }],
      [app, { ...body, key: otherLiveKey }],
      [otherSession, body],
      [otherSession, { ...body, headers: { 'postrider-mode': 'live' } }],
    ] as const) {
      const [theirs, none] = [real, never as string].map((id) =>
        by.call(operation.method, fillPath(operation.path, id), call),
      );
      const [a, b] = [await theirs, await none];
      expect([operation.id, a?.status]).toEqual([operation.id, b?.status]);
      expect(a?.status, operation.id).toBeGreaterThanOrEqual(403);
      const { request_id: _a, ...rest } = a?.json ?? {};
      const { request_id: _b, ...others } = b?.json ?? {};
      expect(rest).toEqual(others);
    }
  }
});

test('the owner still has everything', async () => {
  for (const kind of ['messages', 'inbound-messages', 'api-keys', 'test/inbox']) {
    expect((await app.call('GET', `/${kind}/${ids.get(kind)}`)).status).toBe(200);
  }
});

test('the lists of another tenant are empty', async () => {
  const lists = (await documentedOperations(app)).filter(
    (one) => one.method === 'GET' && one.id.startsWith('list') && !one.path.includes('{'),
  );
  for (const list of lists) {
    if (list.id === 'listApiKeys') continue;
    const answers = [
      await app.call('GET', list.path, { key: otherKey }),
      await otherSession.call('GET', list.path),
    ];
    for (const { json } of answers) {
      const foreign = JSON.stringify(json);
      for (const id of ids.values()) expect(foreign).not.toContain(`"${id}"`);
    }
  }
});

test('the other mode does not see a message', async () => {
  const id = ids.get('messages');
  expect((await app.call('GET', `/messages/${id}`, { key: app.liveKey })).status).toBe(404);
  expect((await app.call('GET', '/messages', { key: app.liveKey })).json.data).toEqual([]);
});
