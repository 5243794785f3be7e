import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLES, type Role } from '../../../src/accounts/roles.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { member, type SessionClient } from '../../harness/browser/dashboard-session.ts';
import {
  type DocumentedOperation,
  documentedOperations,
  fillPath,
} from '../../harness/http/openapi-operations.ts';

/**
 * Each role can call exactly its operations. Every operation of the served OpenAPI document is called with every
 * role and an unknown query parameter: allowed calls get 422, others are rejected before validation.
 */

let app: TestApp;
let operations: DocumentedOperation[];
const visitors = new Map<Role, SessionClient>();

beforeAll(async () => {
  app = await startApp();
  operations = (await documentedOperations(app)).filter(
    ({ isPublic, scope }) => !isPublic && scope !== 'operator',
  );
  for (const role of ROLES) visitors.set(role, (await member(app, role)).visitor);
});
afterAll(() => app[Symbol.asyncDispose]());

/** Repeated here on purpose, so that an accidental change of the table in the code is noticed. */
const EXPECTED: Record<Role, (scope: string) => boolean> = {
  owner: () => true,
  admin: () => true,
  developer: (scope) =>
    !['write:domains', 'write:members', 'write:workspace', 'read:audit_log'].includes(scope),
  viewer: (scope) => scope.startsWith('read:') && scope !== 'read:audit_log',
};

test.each(ROLES)('%s', async (role) => {
  const visitor = visitors.get(role) as SessionClient;
  let refusals = 0;
  for (const { id, method, path, scope = '', takesBody } of operations) {
    const body = takesBody ? { rawBody: '{}' } : {};
    const answer = await visitor.call(method, `${fillPath(path, 'none')}?unheard_of=1`, body);
    const may = scope === 'any' || scope === 'person' || EXPECTED[role](scope);
    const expected = may ? [422, 'validation_failed'] : [403, 'insufficient_role'];
    expect([id, answer.status, answer.json.code]).toEqual([id, ...expected]);
    if (!may) refusals += 1;
  }
  if (role === 'viewer') expect(refusals).toBeGreaterThan(10);
});

test('test-mode operations are rejected for a session in live mode', async () => {
  const owner = visitors.get('owner') as SessionClient;
  const headers = { 'postrider-mode': 'live' };
  const answer = await owner.call('GET', '/test/inbox', { headers });
  expect([answer.status, answer.json.code]).toEqual([403, 'wrong_mode']);
  expect((await owner.call('GET', '/test/inbox')).status).toBe(200);
});

test('a viewer can read what others created, and change nothing', async () => {
  const [viewer, developer] = [visitors.get('viewer'), visitors.get('developer')];
  const made = await developer?.call('POST', '/contacts', { body: { email: 'c@example.com' } });
  expect(made?.status).toBe(201);
  expect((await viewer?.call('GET', '/contacts/c@example.com'))?.status).toBe(200);
  const gone = await viewer?.call('DELETE', '/contacts/c@example.com');
  expect([gone?.status, gone?.json.code]).toEqual([403, 'insufficient_role']);
  expect((await developer?.call('GET', '/contacts/c@example.com'))?.status).toBe(200);
});
