import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import {
  createPerson,
  member,
  SessionClient,
  signInAs,
} from '../../harness/browser/dashboard-session.ts';
import {
  type DocumentedOperation,
  documentedOperations,
  fillPath,
} from '../../harness/http/openapi-operations.ts';

/**
 * All operations with session authentication reject ended sessions, foreign workspaces and cross-site requests, in
 * the same way and before anything is executed. The operations are read from the served OpenAPI document.
 */

let app: TestApp;
let all: DocumentedOperation[];
let owner: SessionClient;

beforeAll(async () => {
  app = await startApp({ env: { REQUEST_BODY_MAX_BYTES: '65536' } });
  all = await documentedOperations(app);
  owner = (await member(app, 'owner')).visitor;
});
afterAll(() => app[Symbol.asyncDispose]());

/** Operations of the operator accept no session: see operator-api.test.ts. */
const isPrivate = ({ isPublic, scope }: DocumentedOperation): boolean =>
  !isPublic && scope !== 'operator';
const isOfWorkspace = (one: DocumentedOperation): boolean =>
  isPrivate(one) && one.scope !== 'person';
const isSignIn = ({ isPublic, problems }: DocumentedOperation): boolean =>
  isPublic && (problems.get(403)?.includes('cross_site_request') ?? false);

async function everywhere(
  which: (operation: DocumentedOperation) => boolean,
  options: (operation: DocumentedOperation) => Parameters<SessionClient['call']>[2],
  expected: [number, string],
  by: SessionClient = owner,
): Promise<void> {
  const chosen = all.filter(which);
  expect(chosen.length).toBeGreaterThan(5);
  for (const operation of chosen) {
    const path = fillPath(operation.path, 'none');
    const answer = await by.call(operation.method, path, options(operation));
    expect([operation.id, answer.status, answer.json?.code]).toEqual([operation.id, ...expected]);
    if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  }
}

const broken = ({ method }: DocumentedOperation) =>
  method === 'GET' ? {} : { rawBody: '{"broken' };

test('an ended or unknown session is 401 before the body is read', async () => {
  const person = await createPerson(app, 'gone@people.example', 'owner');
  const ended = await signInAs(app, person);
  const cookie = ended.cookie as string;
  await ended.call('DELETE', '/session');
  for (const value of [cookie, 'postrider_session=never', `other=1; ${cookie}; more=2`]) {
    ended.cookie = value;
    await everywhere(isPrivate, broken, [401, 'invalid_session'], ended);
  }
});

test('a request without a cookie is treated like one without a key', async () => {
  const anonymous = new SessionClient(app);
  for (const value of [undefined, 'postrider_session=', 'unrelated=1']) {
    anonymous.cookie = value;
    await everywhere(isPrivate, broken, [401, 'missing_api_key'], anonymous);
  }
});

test('a workspace of others is 403, like an unknown one', async () => {
  const other = await app.app.workspaces.create('Other');
  const person = await createPerson(app, 'other@people.example', 'owner', other.id);
  const outsider = await signInAs(app, person);
  const theirs = outsider.workspace as string;
  const answers = new Set<string>();
  for (const workspace of [theirs, 'wsp_01kc8x3f7ye6qvj2m4n5p6q7r8', 'nonsense']) {
    outsider.workspace = workspace;
    await everywhere(isOfWorkspace, broken, [403, 'not_a_member'], outsider);
    answers.add((await outsider.call('GET', '/messages')).json.detail);
  }
  expect(answers.size).toBe(1);
});

test('a session without a workspace header is rejected with a hint', async () => {
  const lost = new SessionClient(app);
  lost.cookie = owner.cookie;
  for (const operation of all.filter(isOfWorkspace)) {
    const headers = { 'postrider-mode': operation.method === 'GET' ? '' : 'dead' };
    const path = fillPath(operation.path, 'none');
    const answer = await lost.call(operation.method, path, { headers });
    expect([operation.id, answer.status]).toEqual([operation.id, 422]);
    const parameters = answer.json.errors.map((one: { parameter: string }) => one.parameter);
    expect(parameters).toEqual(['Postrider-Workspace', 'Postrider-Mode']);
  }
});

test('an API key takes precedence over a cookie', async () => {
  const scopeless = await app.newKey({ scopes: ['read:events'] });
  const answer = await owner.call('GET', '/messages', { key: scopeless });
  expect([answer.status, answer.json.code]).toEqual([403, 'insufficient_scope']);
});

test('responses to sessions are not cacheable', async () => {
  for (const path of ['/me', '/messages', '/setup']) {
    expect((await owner.call('GET', path)).headers.get('cache-control')).toBe('no-store');
  }
});

describe('a cross-site page that', () => {
  const changes = (one: DocumentedOperation): boolean => one.method !== 'GET' && isPrivate(one);

  test.each([
    ['cannot set our header', { 'postrider-mode': '' }],
    ['has another origin', { origin: 'https://attacker.example' }],
    ['has a name that looks like ours', { origin: 'http://postrider.test.attacker.example' }],
    ['hides its origin', { origin: 'null' }],
    ['is reported by the browser', { 'sec-fetch-site': 'cross-site' }],
    ['is a sibling of our domain', { 'sec-fetch-site': 'same-site' }],
  ])('%s: it changes nothing with a user’s cookie', async (_, headers) => {
    const refused: [number, string] = [403, 'cross_site_request'];
    await everywhere(changes, (one) => ({ ...broken(one), headers }), refused);
    await everywhere(isSignIn, (one) => ({ ...broken(one), headers }), refused);
  });

  test('a cross-site form body is not even read', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const rawBody = 'email=a%40b.example&password=x';
    const answer = await owner.call('POST', '/session', { rawBody, headers });
    expect(answer.status).toBe(415);
  });

  test('gets no CORS permission for our header', async () => {
    const response = await fetch(`${app.url}/api/v1/me`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://attacker.example',
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'postrider-mode',
      },
    });
    expect(response.status).toBe(405);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('same-origin pages may, under the host name of the request', async () => {
    const host = new URL(app.url).host;
    for (const headers of [
      { origin: 'http://postrider.test' },
      { origin: 'https://postrider.test', 'sec-fetch-site': 'same-origin' },
      { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
    ]) {
      const body = { name: 'Jane' };
      expect((await owner.call('PATCH', '/me', { body, headers })).status).toBe(200);
    }
  });

  test('an API key needs no CSRF protection, because browsers do not add it automatically', async () => {
    const headers = { origin: 'https://attacker.example', 'sec-fetch-site': 'cross-site' };
    const answer = await app.call('POST', '/api-keys', { body: { name: 'K' }, headers });
    expect(answer.status).toBe(201);
  });
});

describe('sign-in operations', () => {
  const takesBody = (one: DocumentedOperation): boolean => isSignIn(one) && one.takesBody;

  test.each([
    ['malformed', '{"email": ', 400, 'malformed_json'],
    ['missing', '', 400, 'malformed_json'],
    ['no object', '[]', 422, 'validation_failed'],
    ['invalid because of an unknown field', '{"unheard_of": 1}', 422, 'validation_failed'],
    ['too large', JSON.stringify({ email: 'x'.repeat(70_000) }), 413, 'body_too_large'],
  ])('reject a body that is %s', async (_, rawBody, status, code) => {
    await everywhere(takesBody, () => ({ rawBody }), [status, code]);
  });

  test('reject another media type', async () => {
    const headers = { 'content-type': 'application/xml' };
    const refused: [number, string] = [415, 'unsupported_media_type'];
    await everywhere(takesBody, () => ({ rawBody: '<a/>', headers }), refused);
  });

  test('reject an unknown query parameter', async () => {
    for (const operation of all.filter((one) => isSignIn(one) || one.id === 'getSetup')) {
      const body = operation.takesBody ? { body: {} } : {};
      const answer = await owner.call(operation.method, `${operation.path}?unheard_of=1`, body);
      expect(answer.json.errors[0]).toMatchObject({ parameter: 'unheard_of' });
    }
  });

  test('are 503 without the database', async () => {
    // Passkeys need a host name.
    await using lost = await startApp({ env: { BASE_URL: 'http://localhost' } });
    await lost.app.storage.pool.end();
    const visitor = new SessionClient(lost);
    visitor.cookie = 'postrider_session=some';
    // A challenge for a passkey is signed and not stored.
    const needsDatabase = ({ id }: DocumentedOperation): boolean => id !== 'startPasskeySignIn';
    const chosen = all.filter((one) => isSignIn(one) || one.id === 'getSetup');
    for (const operation of chosen.filter(needsDatabase)) {
      const { exampleBody } = operation;
      const body = exampleBody === undefined ? {} : { body: exampleBody };
      const answer = await visitor.call(operation.method, operation.path, body);
      expect([operation.id, answer.status, answer.json.code]).toEqual([
        operation.id,
        503,
        'storage_unavailable',
      ]);
    }
  });
});
