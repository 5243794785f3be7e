import type { RateLimiter, WorkspaceLimiters } from '../../accounts/rate-limit.ts';
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
  limiters: Readonly<Record<keyof WorkspaceLimiters, Pick<RateLimiter, 'charge'>>>,
  auditLog: AuditLog,
): CallOperation {
  const find = operationFinder(operations);
  return async (request, id, input = {}) => {
    const { operation, checks } = find(id);
    requireScope(operation.spec, request.caller);
    // The server has counted the request itself.
    if (request.innerCalls > 0) {
      const { rateLimiter, readRateLimiter } = limiters;
      const limiter = operation.spec.method === 'GET' ? readRateLimiter : rateLimiter;
      limiter.charge(request.caller.workspaceId, 1);
    }
    request.innerCalls += 1;
    const inner = new InnerRequest(request, checked(operation, checks, request, input));
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

/**
 * Calls operations of the same surface. They count against the rate limit when they call ours, of which
 * the server has counted one for the request.
 */
export function surfaceCaller(operations: readonly Operation[]): CallOperation {
  const find = operationFinder(operations);
  return async (request, id, input = {}) => {
    const { operation, checks } = find(id);
    requireScope(operation.spec, request.caller);
    const inner = new InnerRequest(request, checked(operation, checks, request, input));
    inner.innerCalls = request.innerCalls;
    request.innerCalls += 1;
    const { status, body, headers = {} } = await operation.handle(inner);
    return { status, body: parsed(body), headers };
  };
}

function checked(
  { spec }: Operation,
  checks: OperationValidators,
  { caller }: AnyRequest,
  { params = {}, query = {}, body = {}, idempotency }: OperationInput,
): InnerInput {
  if (Object.keys(query).length > 0 || spec.query) checks.query.check(query);
  if (spec.body) checks.body?.check(body, caller, []);
  return { params, query, body, idempotency };
}

type InnerInput = Pick<AnyRequest, 'params' | 'query' | 'body' | 'idempotency'> & {
  signal?: AbortSignal;
  caller?: AnyRequest['caller'];
};

/**
 * A request on behalf of the caller of another one. It is a class for the same reason as
 * RequestContext.
 */
export class InnerRequest implements AnyRequest {
  readonly caller: AnyRequest['caller'];
  readonly operator: AnyRequest['operator'];
  readonly signedIn: AnyRequest['signedIn'];
  readonly requestId: string;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly idempotency: IdempotencyRequest | undefined;
  readonly stream = undefined;
  readonly contentType = 'application/json';
  readonly ifMatch = undefined;
  readonly lastEventId = undefined;
  accountId: string | undefined = undefined;
  innerCalls = 0;
  readonly #outer: AnyRequest;
  readonly #signal: AbortSignal | undefined;

  constructor(outer: AnyRequest, input: InnerInput) {
    const { params, query, body, idempotency, signal, caller = outer.caller } = input;
    this.caller = caller;
    this.operator = outer.operator;
    this.signedIn = outer.signedIn;
    this.requestId = outer.requestId;
    this.params = params;
    this.query = query;
    this.body = body;
    this.idempotency = idempotency;
    this.#outer = outer;
    this.#signal = signal;
  }

  get client(): AnyRequest['client'] {
    return this.#outer.client;
  }

  get signal(): AbortSignal {
    return this.#signal ?? this.#outer.signal;
  }

  reauthorize(): Promise<void> {
    return this.#outer.reauthorize();
  }

  header(name: string): string | undefined {
    return this.#outer.header(name);
  }

  recordMessage(id: string): void {
    this.#outer.recordMessage(id);
  }
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
  const used = new Map<string, { operation: Operation; checks: OperationValidators }>();
  return (id) => {
    const known = used.get(id);
    if (known) return known;
    const operation = byId.get(id);
    assert(operation, `unknown operation ${id}`);
    const found = { operation, checks: validatorsOf(operation) };
    used.set(id, found);
    return found;
  };
}

/** Operations on the hot path return JSON text. */
function parsed(body: unknown): unknown {
  return typeof body === 'string' ? JSON.parse(body) : body;
}
