import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../accounts/caller.ts';
import type { OperatorCaller } from '../../accounts/operator-keys.ts';
import type { SignedInPerson } from '../../accounts/people/sessions.ts';
import type { Idempotency, IdempotencyRequest } from '../../messages/accept/idempotency.ts';
import type { OperationRequest } from '../operation.ts';
import type { Route } from './api-surface.ts';
import {
  type AuthorizationDependencies,
  type AuthorizedRoute,
  reauthorizeRequest,
} from './authorize-request.ts';
import { type ClientInfo, clientInfoOf } from './client-info.ts';
import { readIdempotencyKey } from './idempotency-key.ts';
import { readIfMatch } from './if-match.ts';

export interface RequestContextDependencies extends AuthorizationDependencies {
  idempotency: Pick<Idempotency, 'hashRequest'>;
}

/**
 * A request as an operation sees it. It is a class because getters of an object literal are
 * redefined, at some cost, for every object.
 */
export class RequestContext implements OperationRequest<unknown, unknown, unknown> {
  readonly caller: Caller;
  readonly operator: OperatorCaller;
  readonly signedIn: SignedInPerson;
  readonly requestId: string;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly idempotency: IdempotencyRequest | undefined;
  readonly stream: AsyncIterable<Buffer> | undefined;
  readonly contentType: string;
  readonly lastEventId: string | undefined;
  accountId: string | undefined;
  innerCalls: number;
  readonly #route: AuthorizedRoute;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  #signal: AbortSignal | undefined;

  constructor(
    route: Route<RequestContextDependencies>,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    const { deps, spec } = route;
    this.caller = request.caller as Caller;
    this.operator = request.operator as OperatorCaller;
    this.signedIn = request.signedIn as SignedInPerson;
    this.requestId = request.id;
    this.params = request.params;
    this.query = request.query;
    this.body = request.body;
    this.idempotency =
      spec.method === 'POST' ? readIdempotencyKey(deps.idempotency, spec, request) : undefined;
    this.stream = spec.rawBody ? (request.body as AsyncIterable<Buffer> | undefined) : undefined;
    this.contentType = request.headers['content-type'] ?? '';
    this.lastEventId = request.headers['last-event-id'] as string | undefined;
    this.accountId = undefined;
    this.innerCalls = 0;
    this.#route = route;
    this.#request = request;
    this.#reply = reply;
  }

  async reauthorize(): Promise<void> {
    await reauthorizeRequest(this.#route, this.#request, this.#reply);
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return typeof value === 'string' ? value : undefined;
  }

  recordMessage(id: string): void {
    this.#request.messageId = id;
  }

  get client(): ClientInfo {
    return clientInfoOf(this.#request, this.#route.deps.cookie);
  }

  get ifMatch(): readonly string[] | undefined {
    return readIfMatch(this.#request);
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#createSignal();
    return this.#signal;
  }

  #createSignal(): AbortSignal {
    const { raw } = this.#reply;
    const controller = new AbortController();
    raw.once('close', () => controller.abort());
    if (raw.destroyed) controller.abort();
    return controller.signal;
  }
}
