import { expect, test } from 'vitest';
import { ACTION_LABELS } from '../../../../dashboard/src/pages/audit-log/action-label.ts';
import { encodeId } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Change } from '../../logs/audit-log.ts';
import { SERVER_LOG } from '../../logs/audit-store.ts';
import type { AnyRequest, Operation } from '../operation.ts';
import { createOperations, type RouteDependencies } from '../operations.ts';
import { type ChangeRecorder, handleAudited, isAudited } from './audit-operation.ts';

const WORKSPACE = '019a8f00-0000-7000-8000-000000000001';
const PERSON = '019a8f00-0000-7000-8000-000000000002';
const KEY = 'key_01kc8x3f7ye6qvj2m4n5p6q7r8';
const USER = encodeId('usr', PERSON);

const operations = createOperations({ baseUrl: '', batchMax: 1 } as RouteDependencies);
const changing = operations.filter(({ spec }) => spec.method !== 'GET');

/** Operations that are no GET and leave no entry. Repeated here, so that a new one is noticed. */
const NOT_AUDITED: Record<string, string[]> = {
  sends: [
    'sendTransactional',
    'sendBatch',
    'sendBulk',
    'sendRaw',
    'testSendTemplate',
    'simulateInboundMessage',
  ],
  'changes nothing': [
    'dryRunTransactional',
    'checkTransactional',
    'checkTemplate',
    'renderTemplate',
    'startPasskeySignIn',
    'inspectInvitation',
  ],
  'no actor': ['requestPasswordReset', 'signOut'],
};

test('every operation that changes something leaves an entry', async () => {
  const missing = new Map<string, string[]>();
  for (const { spec } of changing) {
    const changes = await changesOf(spec, requestFor(spec), { id: 'x_1', me: { id: USER } });
    if (spec.notAudited) {
      missing.set(spec.notAudited, [...(missing.get(spec.notAudited) ?? []), spec.id]);
      expect([spec.id, isAudited(spec)]).toEqual([spec.id, false]);
    } else {
      expect(changes, spec.id).toHaveLength(1);
      expect(changes[0]).toMatchObject({ action: spec.id, client: { ip: '203.0.113.7' } });
    }
  }
  const sorted = (lists: Iterable<[string, string[]]>) =>
    Object.fromEntries([...lists].map(([why, ids]) => [why, ids.toSorted()]));
  expect(sorted(missing)).toEqual(sorted(Object.entries(NOT_AUDITED)));
  expect(changing.length).toBeGreaterThan(60);
});

test('the dashboard has a label for every change', () => {
  const ids = operations.filter(({ spec }) => isAudited(spec)).map(({ spec }) => spec.id);
  expect(ids.filter((id) => !(id in ACTION_LABELS))).toEqual([]);
});

test('an entry has the target and what was sent, without secrets and addresses', async () => {
  const [change] = await changesOf(
    specOf('createWebhook'),
    {
      ...requestFor(specOf('createWebhook')),
      body: { url: 'https://shop.example/hook', headers: { 'X-Key': 'open sesame' } },
    },
    { id: 'whk_1', secret: 'whsec_abcdefghijkl' },
  );
  expect(change).toEqual({
    where: { workspaceId: WORKSPACE },
    mode: 'test',
    action: 'createWebhook',
    actor: KEY,
    target: 'whk_1',
    client: { ip: '203.0.113.7', userAgent: 'curl', requestId: 'req_1' },
    details: { body: { url: 'https://shop.example/hook', headers: { 'X-Key': '[redacted]' } } },
  });
  const invited = { ...requestFor(specOf('createInvitation')) };
  const [invitation] = await changesOf(
    specOf('createInvitation'),
    { ...invited, body: { email: 'joe@people.example', role: 'owner' } },
    { id: 'inv_1' },
  );
  expect(invitation?.details).toEqual({ body: { email: '[address]', role: 'owner' } });
});

test('changes by the operator are recorded for the server, and for the workspace without the client', async () => {
  const spec = specOf('suspendOperatorWorkspace');
  const operator = { keyId: PERSON, actor: 'opk_1' };
  const request = { ...requestFor(spec), operator, params: { id: encodeId('wsp', WORKSPACE) } };
  expect(await changesOf(spec, request, {})).toMatchObject([
    { where: { workspaceId: SERVER_LOG }, actor: 'opk_1', client: { ip: '203.0.113.7' } },
    { where: { workspaceId: WORKSPACE }, actor: 'opk_1', client: null },
  ]);
});

test('of contacts and suppressions only the names of fields are kept', async () => {
  const spec = specOf('updateContact');
  const request = {
    ...requestFor(spec),
    params: { email: 'jane@example.com' },
    body: { first_name: 'Jane' },
  };
  const [change] = await changesOf(spec, request, { id: 'ctc_1' });
  expect(change).toMatchObject({
    target: 'ctc_1',
    details: { body: { first_name: '[not kept]' } },
  });
  expect(JSON.stringify(change)).not.toMatch(/jane/i);
});

test('changes of an account are recorded for its member, or for the workspace they are about', async () => {
  const workspace = encodeId('wsp', WORKSPACE);
  const whereOf = async (id: string, params = {}, result = {}) =>
    (await changesOf(specOf(id), { ...requestFor(specOf(id)), params }, result))[0]?.where;
  expect(await whereOf('changePassword')).toEqual({ memberId: PERSON });
  expect(await whereOf('leaveWorkspace', { id: workspace })).toEqual({ workspaceId: WORKSPACE });
  expect(await whereOf('createWorkspace', {}, { id: workspace })).toEqual({
    workspaceId: WORKSPACE,
  });
  expect(await whereOf('signIn', {}, { me: null })).toBeUndefined();
  expect(await whereOf('signIn', {}, { me: { id: USER } })).toEqual({ memberId: PERSON });
  const reset = specOf('completePasswordReset');
  const [change] = await changesOf(reset, { ...requestFor(reset), accountId: PERSON }, {});
  expect(change).toMatchObject({ where: { memberId: PERSON }, actor: USER });

  // A session of the workspace's identity provider is nothing to the member's other workspaces.
  const ending = specOf('endSessions');
  const session = { workspaceId: WORKSPACE, isLimited: true };
  const signedIn = { person: { id: PERSON }, session } as AnyRequest['signedIn'];
  const [ended] = await changesOf(ending, { ...requestFor(ending), signedIn } as AnyRequest, {});
  expect(ended?.where).toEqual({ workspaceId: WORKSPACE });
});

test('a refused operation leaves nothing; if its result is unknown, its intent stays', async () => {
  const changes: Change[] = [];
  const withdrawn: string[] = [];
  const spec = specOf('createWebhook');
  const fail = (error: Error) =>
    handleAudited(
      logTo(changes, withdrawn),
      { spec, handle: () => Promise.reject(error) },
      requestFor(spec),
    );
  await expect(fail(new Error('connection lost'))).rejects.toThrow('lost');
  expect(withdrawn).toEqual([]);
  await expect(fail(new RefusedError('conflict', 'It exists.'))).rejects.toThrow('exists');
  expect(withdrawn).toEqual(['intent']);
  expect(changes).toEqual([]);
});

function specOf(id: string): Operation['spec'] {
  const found = operations.find(({ spec }) => spec.id === id);
  if (!found) throw new Error(`no operation ${id}`);
  return found.spec;
}

const FULL = { workspaceId: null, isLimited: false };

/** A request as the operation gets it: with a caller, an account, or neither. */
function requestFor({ scope }: Operation['spec']): AnyRequest {
  const isPersonal = scope === 'person' || scope === 'public';
  return {
    caller: isPersonal ? undefined : { workspaceId: WORKSPACE, mode: 'test', actor: KEY },
    signedIn: scope === 'person' ? { person: { id: PERSON }, session: FULL } : undefined,
    client: { ip: '203.0.113.7', userAgent: 'curl' },
    requestId: 'req_1',
    params: {},
    query: {},
    body: {},
  } as AnyRequest;
}

async function changesOf(
  spec: Operation['spec'],
  request: AnyRequest,
  body: object,
): Promise<Change[]> {
  const changes: Change[] = [];
  await handleAudited(logTo(changes), { spec, handle: () => ({ status: 200, body }) }, request);
  return changes;
}

function logTo(changes: Change[], withdrawn: string[] = []): ChangeRecorder {
  return {
    begin: async () => 'intent',
    withdraw: async (id: string) => void withdrawn.push(id),
    record: async (change: Change) => void changes.push(change),
  };
}
