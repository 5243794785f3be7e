import { once } from 'node:events';
import http from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operatorIssuer } from '../../../src/accounts/api-keys.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import {
  createPerson,
  member,
  SessionClient,
  signInAs,
  type TestPerson,
} from '../../harness/browser/dashboard-session.ts';
import {
  type DocumentedOperation,
  documentedOperations,
  fillPath,
} from '../../harness/http/openapi-operations.ts';
import { sendRaw } from '../../harness/http/raw-request.ts';

/**
 * All operations handle keys, scopes, methods, bodies and limits alike. The operations are read from the
 * served OpenAPI document, so that a new operation is covered automatically. Operations for signed-in
 * users only are called with an owner's session.
 */

let app: TestApp;
let operations: DocumentedOperation[];
let expiredKey: string;
let revokedKey: string;
let boundKey: string;
let scopelessKey: string;
let scopelessLiveKey: string;
let otherScope: string;
let owner: { person: TestPerson; visitor: SessionClient };

beforeAll(async () => {
  app = await startApp({
    env: { REQUEST_BODY_MAX_BYTES: '65536' },
  });
  operations = (await documentedOperations(app)).filter(
    (one) => !one.isPublic && one.scope !== 'operator',
  );
  const maker = operatorIssuer(app.workspaceId);
  const { apiKeys } = app.app;
  const expiring = await apiKeys.create(maker, {
    name: 'expired',
    mode: 'test',
    expires_at: new Date(Date.now() + 2_000).toISOString(),
  });
  expiredKey = expiring.token;
  const revoked = await apiKeys.create(maker, { name: 'revoked', mode: 'test' });
  await apiKeys.revoke(maker, revoked.key.id);
  revokedKey = revoked.token;
  boundKey = await app.newKey({ allowedIps: ['203.0.113.0/24'] });
  scopelessKey = await app.newKey({ scopes: ['read:events'] });
  scopelessLiveKey = await app.newKey({ mode: 'live', scopes: ['read:events'] });
  otherScope = await app.newKey({ scopes: ['send:transactional'] });
  owner = await member(app, 'owner');
  while (Date.now() < (expiring.key.expiresAtMs ?? 0)) await new Promise((r) => setTimeout(r, 20));
});
afterAll(() => app[Symbol.asyncDispose]());

type Call = Parameters<TestApp['call']>[2];

function call(operation: DocumentedOperation, options: Call = {}, query = '') {
  const path = fillPath(operation.path, 'none') + query;
  const client = operation.sessionOnly && options.key === undefined ? owner.visitor : app;
  return client.call(operation.method, path, options);
}

async function everywhere(
  check: (operation: DocumentedOperation) => Promise<void>,
  which: (operation: DocumentedOperation) => boolean = () => true,
): Promise<void> {
  const chosen = operations.filter(which);
  expect(chosen.length).toBeGreaterThan(0);
  for (const operation of chosen) await check(operation);
}

/** A key whose mode allows the operation, but without its scope. */
function scopelessKeyFor({ scope, mode }: DocumentedOperation): string {
  if (scope === 'read:events') return otherScope;
  return mode === 'live' ? scopelessLiveKey : scopelessKey;
}

describe('keys', () => {
  test.each([
    ['no key', () => null, 'missing_api_key'],
    ['a typo', () => `${app.testKey.slice(0, -1)}_`, 'invalid_api_key'],
    ['an unknown key', () => 'pr_test_00000000000000000000000000000000000000', 'invalid_api_key'],
    ['an expired key', () => expiredKey, 'expired_api_key'],
    ['a revoked key', () => revokedKey, 'revoked_api_key'],
  ])('%s is 401 with WWW-Authenticate', async (_, key, code) => {
    await everywhere(async (operation) => {
      const answer = await call(operation, { key: key(), rawBody: undefined as never });
      expect([operation.id, answer.status, answer.json.code]).toEqual([operation.id, 401, code]);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
    });
  });

  test('a key used from outside its allowed networks is 403', async () => {
    await everywhere(async (operation) => {
      const answer = await call(operation, { key: boundKey });
      expect([operation.id, answer.json.code]).toEqual([operation.id, 'ip_not_allowed']);
    });
  });

  test('a key without the required scope is 403 before the body is read', async () => {
    await everywhere(
      async (operation) => {
        const key = scopelessKeyFor(operation);
        const broken = operation.method === 'GET' ? {} : { rawBody: '{"broken' };
        const answer = await call(operation, { key, ...broken });
        expect([operation.id, answer.status, answer.json.code]).toEqual([
          operation.id,
          403,
          'insufficient_scope',
        ]);
      },
      ({ problems }) => problems.get(403)?.includes('insufficient_scope') ?? false,
    );
  });

  test('a key of the wrong mode is 403, whatever its scopes', async () => {
    await everywhere(
      async (operation) => {
        const { id, mode } = operation;
        const keys =
          mode === 'live' ? [app.testKey, scopelessKey] : [app.liveKey, scopelessLiveKey];
        for (const key of keys) {
          const answer = await call(operation, { key });
          expect([id, answer.status, answer.json.code]).toEqual([id, 403, 'wrong_mode']);
        }
      },
      ({ mode }) => mode !== undefined,
    );
  });
});

test('a wrong method is 405 with Allow, before authentication', async () => {
  const all = await documentedOperations(app);
  for (const path of new Set(all.map((one) => one.path))) {
    const allowed = all.filter((one) => one.path === path).map((one) => one.method);
    const wrong = ['DELETE', 'PUT', 'PATCH', 'POST'].find((method) => !allowed.includes(method));
    if (!wrong) continue;
    const response = await fetch(app.url + fillPath(path, 'none'), { method: wrong });
    expect([path, response.status]).toEqual([path, 405]);
    for (const method of allowed) expect(response.headers.get('allow')).toContain(method);
    expect(((await response.json()) as { code: string }).code).toBe('method_not_allowed');
  }
});

test('QUERY is 405 on a path of the API and 404 elsewhere', async () => {
  for (const [path, status] of [
    ['/api/v1/messages', 405],
    ['/api/v1/nothing', 404],
  ]) {
    const request = http.request(`${app.url}${path}`, { method: 'QUERY' }).end();
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(status);
    expect(response.headers.allow).toBe(status === 405 ? 'GET, HEAD' : undefined);
    expect(response.headers['x-content-type-options']).toBe('nosniff');
  }
});

test('HEAD is GET without the body, except where reading consumes the result', async () => {
  const all = await documentedOperations(app);
  for (const { id, path, method } of all) {
    if (method !== 'GET') continue;
    const head = await fetch(app.url + fillPath(path, 'none'), { method: 'HEAD' });
    const expected = id === 'waitForTestMessage' ? 405 : (await fetch(head.url)).status;
    expect([id, head.status]).toEqual([id, expected]);
  }
});

test('all invalid timestamps in a query are reported', async () => {
  for (const [path, ...names] of [
    ...['messages', 'contacts', 'suppressions', 'events'].map(
      (list) => [`/${list}`, 'created_after', 'created_before'] as const,
    ),
    ['/stats', 'from', 'to'] as const,
  ]) {
    const query = names.map((name) => `${name}=2026-11-15`).join('&');
    const { status, json } = await app.call('GET', `${path}?${query}`);
    const errors = names.map((parameter) => ({ parameter, code: 'invalid_time' }));
    expect([path, status]).toEqual([path, 422]);
    expect(json.errors).toMatchObject(errors);
  }
});

test('every response has a request id, including pages outside the API', async () => {
  for (const path of ['/', '/app', '/docs', '/healthz', '/readyz', '/metrics', '/nowhere']) {
    const { headers } = await fetch(`${app.url}${path}`, { redirect: 'manual' });
    expect([path, headers.get('x-request-id')]).toEqual([path, expect.stringMatching(/^req_/)]);
  }
});

test('the root URL redirects to the dashboard', async () => {
  const answer = await fetch(`${app.url}/`, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/app']);
});

test('the body of a request to an unknown path is not read', async () => {
  for (const path of ['/nothing', '/../../nothing', '/../../app']) {
    const answer = await app.call('POST', path, {
      key: null,
      rawBody: '{"broken',
      headers: { 'content-type': 'application/json' },
    });
    expect([path, answer.status, answer.json.code]).toEqual([path, 404, 'not_found']);
  }
});

test('headers that are too long are 400 and say so', async () => {
  const headers = { 'x-long': 'x'.repeat(http.maxHeaderSize) };
  const response = await fetch(app.url, { headers });
  expect(response.status).toBe(400);
  expect(((await response.json()) as { detail: string }).detail).toBe(
    'The URL and the headers have more than 16384 bytes in total.',
  );
});

describe('requests that Node would misread or answer itself', () => {
  const END = 'Connection: close\r\n\r\n';
  const GZIP =
    'POST /api/v1/transactional/send HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked';

  test.each([
    ['no Host', `GET /api/v1/messages HTTP/1.1\r\n${END}`, 400, 'malformed_request'],
    ['no Host on a page', `GET /app HTTP/1.1\r\n${END}`, 400, 'malformed_request'],
    [
      'an unknown expectation',
      `GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\n${END}`,
      417,
      'expectation_failed',
    ],
    [
      'a transfer coding besides chunked',
      `${GZIP}\r\n\r\n0\r\n\r\n`,
      501,
      'unsupported_transfer_encoding',
    ],
  ])('%s is a problem with a request id', async (_, request, status, code) => {
    const answer = await sendRaw(app.url, request);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    const problem = JSON.parse(answer.body);
    expect(problem).toMatchObject({ status, code, request_id: expect.stringMatching(/^req_/) });
    expect(answer.headers.get('x-request-id')).toBe(problem.request_id);
  });

  test('a line break in the API key is named', async () => {
    for (const key of ['pr_test_1\npr_test_2', 'pr_test_1\r\n'.repeat(2), 'pr_test_1\rx']) {
      const head = `GET /api/v1/limits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
      const { status, body } = await sendRaw(app.url, `${head}${END}`);
      expect([status, JSON.parse(body).detail]).toEqual([
        400,
        expect.stringContaining('such as a line break'),
      ]);
    }
  });

  test('nothing after a body with an unknown end is read', async () => {
    const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
    const answer = await sendRaw(app.url, `${GZIP}\r\n\r\n0\r\n\r\n${next}${END}`);
    expect([answer.status, answer.headers.get('connection')]).toEqual([501, 'close']);
    expect(answer.body).not.toContain('HTTP/1.1');
  });

  test('HTTP/1.0 needs no Host, and 100-continue is an expectation that can be met', async () => {
    expect((await sendRaw(app.url, 'GET /healthz HTTP/1.0\r\n\r\n')).status).toBe(200);
    const head = `GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n${END}`;
    const answer = await sendRaw(app.url, head);
    expect([answer.status, answer.body.split('\r\n')[0]]).toEqual([100, 'HTTP/1.1 200 OK']);
  });
});

test('an unknown path is 404 before authentication', async () => {
  for (const path of ['/api/v1/nothing', '/api/v2/messages', '/nothing', '/api/v1/messages/']) {
    const response = await fetch(app.url + path);
    expect([path, response.status]).toEqual([path, 404]);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
  }
});

test('a path without the prefix of the API names it', async () => {
  for (const path of ['/transactional/send', '/v1/messages', '/api/v2/messages']) {
    const response = await fetch(app.url + path, { method: 'POST' });
    expect(await response.json()).toMatchObject({
      code: 'not_found',
      detail: 'No such path. Paths of the API begin with /api/v1.',
      fix: expect.stringContaining('/api/v1/…'),
    });
  }
});

test('an empty key is distinguished from a malformed header', async () => {
  const detailFor = async (authorization: string) => {
    const headers = { authorization };
    const response = await fetch(`${app.url}/api/v1/limits`, { headers });
    return ((await response.json()) as { detail: string }).detail;
  };
  expect(await detailFor('Bearer ')).toContain('There is no API key after "Bearer".');
  expect(await detailFor(app.testKey)).toContain('must be "Bearer <API key>"');
});

test('an unknown query parameter is 422 and named', async () => {
  await everywhere(async (operation) => {
    const body = operation.takesBody ? { body: {} } : {};
    const answer = await call(operation, body, '?unheard_of=1');
    expect([operation.id, answer.status]).toEqual([operation.id, 422]);
    expect(answer.json.errors).toContainEqual(
      expect.objectContaining({ parameter: 'unheard_of', code: 'unknown_field' }),
    );
  });
});

test('public operations reject unknown query parameters too', async () => {
  for (const operation of (await documentedOperations(app)).filter((one) => one.isPublic)) {
    const body = operation.takesBody ? { body: {} } : {};
    const path = `${fillPath(operation.path, 'none')}?unheard_of=1`;
    const answer = await new SessionClient(app).call(operation.method, path, body);
    expect([operation.id, answer.status]).toEqual([operation.id, 422]);
  }
});

describe('bodies', () => {
  const takesJson = (operation: DocumentedOperation): boolean =>
    operation.bodyTypes.includes('application/json');

  const parsesJson = ({ problems }: DocumentedOperation): boolean =>
    problems.get(400)?.includes('malformed_json') ?? false;

  test.each([
    ['cut off', '{"to": {'],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['deeply nested', '['.repeat(10_000) + ']'.repeat(10_000)],
  ])('that are %s are 400 malformed_json', async (_, rawBody) => {
    await everywhere(async (operation) => {
      const answer = await call(operation, { rawBody });
      expect([operation.id, answer.status, answer.json.code]).toEqual([
        operation.id,
        400,
        'malformed_json',
      ]);
    }, parsesJson);
  });

  test('that are empty count as missing, even with a content type', async () => {
    await everywhere(async (operation) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await call(operation, { rawBody: '', headers });
      if (answer.status !== 400) return;
      expect([operation.id, answer.json.detail]).toEqual([
        operation.id,
        'The body is empty. It must be a JSON object.',
      ]);
    }, parsesJson);
    const cancel = await app.call('POST', '/messages/msg_01kc8x3f7ye6qvj2m4n5p6q7r8/cancel', {
      rawBody: '',
      headers: { 'content-type': 'application/json' },
    });
    expect([cancel.status, cancel.json.code]).toEqual([404, 'not_found']);
  });

  test('that are not an object are 422', async () => {
    await everywhere(async (operation) => {
      for (const rawBody of ['[]', '"text"', 'null', '1']) {
        const answer = await call(operation, { rawBody });
        expect([operation.id, rawBody, answer.status]).toEqual([operation.id, rawBody, 422]);
      }
    }, takesJson);
  });

  test('with an unknown field are 422 and name it', async () => {
    await everywhere(async (operation) => {
      const answer = await call(operation, { body: { unheard_of: 1 } });
      expect([operation.id, answer.status]).toEqual([operation.id, 422]);
      expect(answer.json.errors).toContainEqual(
        expect.objectContaining({ pointer: '/unheard_of', code: 'unknown_field' }),
      );
    }, takesJson);
  });

  test('of another media type are 415', async () => {
    await everywhere(
      async (operation) => {
        const headers = { 'content-type': 'application/xml' };
        const answer = await call(operation, { rawBody: '<a/>', headers });
        expect([operation.id, answer.status, answer.json.code]).toEqual([
          operation.id,
          415,
          'unsupported_media_type',
        ]);
      },
      ({ problems }) => problems.has(415),
    );
  });

  test('that are compressed are 415, and say so', async () => {
    for (const [path, type] of [
      ['/transactional/send', 'application/json'],
      ['/contacts/import', 'text/csv'],
    ] as const) {
      const rawBody = gzipSync('{}');
      const headers = { 'content-type': type, 'content-encoding': 'gzip' };
      const { status, json } = await app.call('POST', path, { rawBody, headers });
      expect([path, status, json.code]).toEqual([path, 415, 'unsupported_media_type']);
      expect(json.detail).toContain('Content-Encoding: gzip');
    }
    const headers = { 'content-encoding': 'identity' };
    const sent = await app.call('POST', '/transactional/send', { body: validMessage(), headers });
    expect(sent.status).toBe(202);
  });

  test.each([
    ['are truncated', { rawBody: '{"to": {' }],
    ['hold fields', { body: { unheard_of: 1 } }],
    ['have another type', { rawBody: '<a/>', headers: { 'content-type': 'application/xml' } }],
    ['have an invalid type', { rawBody: 'a', headers: { 'content-type': 'a b' } }],
    ['are too large', { rawBody: 'x'.repeat(300_000) }],
  ])('of operations without a body are ignored when they %s', async (_, sent) => {
    await everywhere(
      async (operation) => {
        for (const status of [400, 413, 415]) expect(operation.problems.has(status)).toBe(false);
        const bare = await call(operation);
        const answer = await call(operation, sent);
        expect([operation.id, answer.status, answer.json?.code]).toEqual([
          operation.id,
          bare.status,
          bare.json?.code,
        ]);
      },
      // The last one would sign out everyone who comes after it.
      ({ id, method, takesBody }) => !takesBody && method !== 'GET' && id !== 'endSessions',
    );
  });

  test('that are missing are 400', async () => {
    await everywhere(
      async (operation) => {
        for (const rawBody of ['', undefined]) {
          const answer = await call(operation, rawBody === undefined ? {} : { rawBody });
          expect([operation.id, answer.status]).toEqual([operation.id, 400]);
        }
      },
      (operation) => takesJson(operation) && operation.needsBody,
    );
  });

  test('that are too large are 413', async () => {
    await everywhere(
      async (operation) => {
        const answer = await call(operation, { body: { text: 'x'.repeat(70_000) } });
        expect([operation.id, answer.status, answer.json.code]).toEqual([
          operation.id,
          413,
          'body_too_large',
        ]);
      },
      (operation) => operation.problems.has(413) && !operation.bodyTypes.includes('text/csv'),
    );
  });
});

test('every response has a request id, and authenticated ones their rate limit', async () => {
  await everywhere(
    async (operation) => {
      const answer = await call(operation, operation.takesBody ? { body: {} } : {});
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
      expect(answer.headers.get('ratelimit')).toMatch(/^"(workspace|reads|person)";r=\d+;t=\d+$/);
      expect(answer.headers.get('ratelimit-policy')).toMatch(
        /^"(workspace|reads|person)";q=\d+;w=\d+$/,
      );
    },
    // The first two are long polls, the last one would sign out everyone who comes after it.
    ({ id }) => !['waitForTestMessage', 'streamEvents', 'endSessions'].includes(id),
  );
});

test('each message of a batch counts as a request', async () => {
  await using slow = await startApp({ env: { RATE_LIMIT_PER_SECOND: '1' } });
  const batch = await slow.call('POST', '/transactional/batch', {
    body: { messages: Array.from({ length: 100 }, () => validMessage()) },
  });
  expect(batch.status).toBe(202);
  expect(batch.headers.get('ratelimit')).toMatch(/^"workspace";r=0;t=9\d$/);
  const later = await slow.call('POST', '/transactional/send', { body: validMessage() });
  expect(later.status).toBe(429);
  expect(Number(later.headers.get('retry-after'))).toBeGreaterThan(30);

  // Reads have a limit of their own: the messages can be looked up at once.
  const policy = '"reads";q=2;w=2';
  const id = batch.json.data[0].message.id;
  const read = await slow.call('GET', `/messages/${id}`);
  expect([read.status, read.headers.get('ratelimit-policy')]).toEqual([200, policy]);
  while ((await slow.call('GET', `/messages/${id}`)).status !== 429);

  // The dashboard has a limit of its own, but does not get around the one on sends.
  const person = await createPerson(slow, 'ada@people.example', 'owner', slow.workspaceId);
  const dashboard = await signInAs(slow, person, slow.workspaceId);
  const shown = await dashboard.call('GET', '/messages');
  expect([shown.status, shown.headers.get('ratelimit-policy')]).toEqual([200, '"person";q=2;w=2']);
  const sent = await dashboard.call('POST', '/transactional/send', { body: validMessage() });
  expect([sent.status, sent.json.code]).toEqual([429, 'rate_limited']);
});

test('too many requests are 429 with Retry-After', async () => {
  await using slow = await startApp({ env: { RATE_LIMIT_PER_SECOND: '1' } });
  for (const operation of operations) {
    const path = fillPath(operation.path, 'none');
    const call = operation.takesBody ? { body: {} } : {};
    // On a slow machine, capacity may become free between two requests: then send another one.
    const exhaust = operation.method === 'GET' ? 'GET' : 'DELETE';
    let answer: Awaited<ReturnType<typeof slow.call>> | undefined;
    while (answer?.status !== 429) {
      while ((await slow.call(exhaust, '/contacts/none@example.com')).status !== 429);
      answer = await slow.call(operation.method, path, call);
    }
    expect([operation.id, answer.status, answer.json.code]).toEqual([
      operation.id,
      429,
      'rate_limited',
    ]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
});

describe('an Idempotency-Key', () => {
  /** Keys of operations outside any workspace are stored under the person. */
  async function usedKey(
    operation: DocumentedOperation,
    key: string,
    result: string | null,
  ): Promise<void> {
    const { scope, mode = 'test' } = operation;
    const place = scope === 'person' ? [owner.person.id, 'live'] : [app.workspaceId, mode];
    await app.database.pool.query(
      `insert into idempotency_keys (workspace_id, mode, key, request_hash, result, created_at)
       values ($1, $2, $3, '\\x00', $4, $5)`,
      [...place, key, result, new Date()],
    );
  }

  const posts = ({ problems }: DocumentedOperation): boolean =>
    problems.get(409)?.includes('idempotency_key_in_progress') ?? false;

  test.each([
    ['was used with another request', '{}', 422, 'idempotency_key_reused'],
    ['belongs to a request that is still running', null, 409, 'idempotency_key_in_progress'],
  ])('that %s is rejected', async (_, stored, status, code) => {
    await everywhere(async (operation) => {
      const key = `${operation.id}-${code}`;
      await usedKey(operation, key, stored);
      const body = operation.exampleBody === undefined ? {} : { body: operation.exampleBody };
      const answer = await call(operation, { ...body, headers: { 'idempotency-key': key } });
      expect([operation.id, answer.status, answer.json.code]).toEqual([operation.id, status, code]);
    }, posts);
  });

  test('must be visible ASCII', async () => {
    for (const key of ['with space', 'x'.repeat(256)]) {
      const headers = { 'idempotency-key': key };
      const answer = await app.call('POST', '/api-keys', { body: { name: 'K' }, headers });
      expect(answer.status).toBe(422);
      expect(answer.json.errors[0]).toMatchObject({ parameter: 'Idempotency-Key' });
    }
  });
});

test('without the database, every operation is 503 with Retry-After', async () => {
  await using lost = await startApp();
  await lost.app.storage.pool.end();
  for (const operation of operations) {
    const path = fillPath(operation.path, 'none');
    const answer = await lost.call(operation.method, path, operation.takesBody ? { body: {} } : {});
    expect([operation.id, answer.status, answer.json.code]).toEqual([
      operation.id,
      503,
      'storage_unavailable',
    ]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
});
