import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../accounts/caller.ts';
import type { SignedInPerson } from '../../accounts/people/sessions.ts';
import type { IdempotencyRequest } from '../../messages/accept/idempotency.ts';
import type { Operation, Request } from '../operation.ts';
import { type AdmissionParts, admitAgain } from './authorize-request.ts';
import { type Visit, visitOf } from './client-info.ts';
import { idempotencyOf } from './idempotency-key.ts';
import { ifMatchOf } from './if-match.ts';

/**
 * A request as an operation sees it. A class, because getters of a literal are defined anew, at some
 * cost, for each object.
 */
export class AskedRequest implements Request<unknown, unknown, unknown> {
  readonly caller: Caller;
  readonly signedIn: SignedInPerson;
  readonly requestId: string;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly idempotency: IdempotencyRequest | undefined;
  readonly stream: AsyncIterable<Buffer> | undefined;
  readonly contentType: string;
  readonly lastEventId: string | undefined;
  readonly #parts: AdmissionParts;
  readonly #rules: Operation['rules'];
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;

  constructor(
    parts: AdmissionParts,
    rules: Operation['rules'],
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    this.caller = request.caller as Caller;
    this.signedIn = request.signedIn as SignedInPerson;
    this.requestId = request.id;
    this.params = request.params;
    this.query = request.query;
    this.body = request.body;
    this.idempotency = rules.method === 'POST' ? idempotencyOf(rules, request) : undefined;
    this.stream = rules.rawBody ? (request.body as AsyncIterable<Buffer> | undefined) : undefined;
    this.contentType = request.headers['content-type'] ?? '';
    this.lastEventId = request.headers['last-event-id'] as string | undefined;
    this.#parts = parts;
    this.#rules = rules;
    this.#request = request;
    this.#reply = reply;
  }

  async admitAgain(): Promise<void> {
    await admitAgain(this.#parts, this.#rules, this.#request, this.#reply);
  }

  get visit(): Visit {
    return visitOf(this.#request, this.#parts.cookie);
  }

  get ifMatch(): readonly string[] | undefined {
    return ifMatchOf(this.#request);
  }

  get signal(): AbortSignal {
    const { raw } = this.#reply;
    const controller = new AbortController();
    raw.once('close', () => controller.abort());
    if (raw.destroyed) controller.abort();
    return controller.signal;
  }
}
