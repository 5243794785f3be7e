import { expect, test } from 'vitest';
import type { Caller } from '../../accounts/caller.ts';
import type { AuditLog } from '../../logs/audit-log.ts';
import { operation } from '../operation.ts';
import { type AnyRequest, operationCaller } from './call-operation.ts';

const shared = { path: '/', tag: 'Service', scope: 'read:messages', responses: {} } as const;
const lookUp = operation({ ...shared, id: 'lookUp', method: 'GET', summary: 'Look up' }, () => ({
  status: 200,
  body: '{"found":true}',
}));
const change = operation(
  { ...shared, id: 'change', method: 'POST', summary: 'Change', notAudited: 'changes nothing' },
  () => ({ status: 200, body: '{"changed":true}' }),
);

function requestOf(scopes: string[]): AnyRequest {
  const caller = { workspaceId: 'w', mode: 'test', scopes: new Set(scopes) } as unknown as Caller;
  return { caller, innerCalls: 0 } as AnyRequest;
}

function countingLimiter() {
  const limiter = {
    charged: 0,
    charge: (_workspaceId: string, count: number) => {
      limiter.charged += count;
      return {
        limit: { perSecond: 1, burst: 2 },
        allowed: true,
        remaining: 0,
        retryAfterSeconds: 0,
      };
    },
  };
  return limiter;
}

test('the first call of a request was counted by the server, and each further one is counted here', async () => {
  const rateLimiter = countingLimiter();
  const readRateLimiter = countingLimiter();
  const limiters = { rateLimiter, readRateLimiter };
  const call = operationCaller([lookUp, change], limiters, {} as AuditLog);
  const request = requestOf(['read:messages']);
  for (const expected of [0, 1, 2]) {
    expect(await call(request, 'lookUp')).toMatchObject({ status: 200, body: { found: true } });
    expect(readRateLimiter.charged).toBe(expected);
  }
  await call(requestOf(['read:messages']), 'lookUp');
  expect([readRateLimiter.charged, rateLimiter.charged]).toEqual([2, 0]);
  await call(request, 'change');
  expect([readRateLimiter.charged, rateLimiter.charged]).toEqual([2, 1]);
  await expect(call(requestOf([]), 'lookUp')).rejects.toMatchObject({ code: 'insufficient_scope' });
});
