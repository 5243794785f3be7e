import { expect, test } from 'vitest';
import type { Caller } from '../../accounts/caller.ts';
import type { AuditLog } from '../../logs/audit-log.ts';
import { operation } from '../operation.ts';
import { type AnyRequest, operationCaller } from './call-operation.ts';

const lookUp = operation(
  {
    id: 'lookUp',
    method: 'GET',
    path: '/',
    tag: 'Service',
    summary: 'Look up',
    scope: 'read:messages',
    responses: {},
  },
  () => ({ status: 200, body: '{"found":true}' }),
);

function requestOf(scopes: string[]): AnyRequest {
  const caller = { workspaceId: 'w', mode: 'test', scopes: new Set(scopes) } as unknown as Caller;
  return { caller, innerCalls: 0 } as AnyRequest;
}

test('the first call of a request was counted by the server, and each further one is counted here', async () => {
  let charged = 0;
  const rateLimiter = {
    charge: (_workspaceId: string, count: number) => {
      charged += count;
      return {
        limit: { perSecond: 1, burst: 2 },
        allowed: true,
        remaining: 0,
        retryAfterSeconds: 0,
      };
    },
  };
  const call = operationCaller([lookUp], rateLimiter, {} as AuditLog);
  const request = requestOf(['read:messages']);
  for (const expected of [0, 1, 2]) {
    expect(await call(request, 'lookUp')).toMatchObject({ status: 200, body: { found: true } });
    expect(charged).toBe(expected);
  }
  await call(requestOf(['read:messages']), 'lookUp');
  expect(charged).toBe(2);
  await expect(call(requestOf([]), 'lookUp')).rejects.toMatchObject({ code: 'insufficient_scope' });
});
