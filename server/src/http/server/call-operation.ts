import type { RateLimiter } from '../../accounts/rate-limit.ts';
import { assert } from '../../lib/assert.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import type { AuditLog } from '../../logs/audit-log.ts';
import type { IdempotencyRequest } from '../../messages/accept/idempotency.ts';
import type { AnyRequest, Operation } from '../operation.ts';
import { handleAudited, isAudited } from './audit-operation.ts';
import { requireScope } from './authorize-request.ts';
import { type OperationValidators, validatorsOf } from './operation-validators.ts';

/**
 * Calls operations of our API from operations of another surface. The call passes the same scope
 * check, validation and handler as a request from outside, and counts against the rate limit like
 * one, so another provider's API can do nothing that ours refuses.
 */

export type { AnyRequest };

export interface OperationInput {
  params?: Record<string, string>;
  /** As in a URL: strings. */
  query?: Record<string, string>;
  body?: unknown;
  /** For operations that commit the Idempotency-Key themselves. */
  idempotency?: IdempotencyRequest | undefined;
}

export interface OperationOutput {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each operation documents its own body
  body: any;
  headers: Record<string, string | string[]>;
}

/** Calls the operation with this id on behalf of the caller of `request`; throws a RefusedError. */
export type CallOperation = (
  request: AnyRequest,
  id: string,
  input?: OperationInput,
) => Promise<OperationOutput>;

export function operationCaller(
  operations: readonly Operation[],
  rateLimiter: Pick<RateLimiter, 'charge'>,
  auditLog: AuditLog,
): CallOperation {
  /** Requests that made their first call, which is the one that the server has counted. */
  const counted = new WeakSet<AnyRequest>();
  const find = operationFinder(operations);
  return async (request, id, input = {}) => {
    const { operation, checks } = find(id);
    const { params = {}, query = {}, body, idempotency } = input;
    requireScope(operation.spec, request.caller);
    if (counted.has(request)) rateLimiter.charge(request.caller.workspaceId, 1);
    else counted.add(request);
    checks.query.check(query);
    if (operation.spec.body) checks.body?.check(body ?? {}, request.caller, []);
    const inner = innerRequest(request, { params, query, body: body ?? {}, idempotency });
    const {
      status,
      body: output,
      headers = {},
    } = isAudited(operation.spec)
      ? await handleAudited(auditLog, operation, inner)
      : await operation.handle(inner);
    return { status, body: parsed(output), headers };
  };
}

/** A request on behalf of the caller of another one. */
export function innerRequest(
  request: AnyRequest,
  input: Pick<AnyRequest, 'params' | 'query' | 'body' | 'idempotency'> & { signal?: AbortSignal },
): AnyRequest {
  const { params, query, body, idempotency, signal } = input;
  return {
    caller: request.caller,
    operator: request.operator,
    signedIn: request.signedIn,
    get client() {
      return request.client;
    },
    requestId: request.requestId,
    params,
    query,
    body,
    idempotency,
    reauthorize: () => request.reauthorize(),
    stream: undefined,
    contentType: 'application/json',
    ifMatch: undefined,
    lastEventId: undefined,
    accountId: undefined,
    header: (name) => request.header(name),
    recordMessage: (id) => request.recordMessage(id),
    get signal() {
      return signal ?? request.signal;
    },
  };
}

/**
 * Checks a body of the operation with this id as far as possible without a caller, that is, without
 * the database; throws a RefusedError.
 */
export type CheckBody = (id: string, body: Record<string, unknown>) => void;

export function bodyChecker(operations: readonly Operation[]): CheckBody {
  const find = operationFinder(operations);
  return (id, body) => {
    const { operation, checks } = find(id);
    checks.body?.check(body, undefined, []);
    const errors = operation.spec.semanticChecks?.(body, new Set(), undefined as never) ?? [];
    if (errors.length > 0) throw invalidFields(errors);
  };
}

/** Finds operations with their validators, which are made when they are first used. */
function operationFinder(
  operations: readonly Operation[],
): (id: string) => { operation: Operation; checks: OperationValidators } {
  const byId = new Map(operations.map((operation) => [operation.spec.id, operation]));
  const validators = new Map<string, OperationValidators>();
  return (id) => {
    const operation = byId.get(id);
    assert(operation, `unknown operation ${id}`);
    const checks = validators.get(id) ?? validatorsOf(operation);
    validators.set(id, checks);
    return { operation, checks };
  };
}

/** Operations on the hot path return JSON text. */
function parsed(body: unknown): unknown {
  return typeof body === 'string' ? JSON.parse(body) : body;
}
