import type { Caller } from '../accounts/caller.ts';
import type { RateDecision, RateLimiter } from '../accounts/rate-limit.ts';
import type {
  Accepted,
  AcceptedBatch,
  BatchOptions,
  MessageAcceptor,
} from '../messages/accept/accept-message.ts';
import type { IdempotencyRequest } from '../messages/accept/idempotency.ts';
import type { SendRequest } from '../messages/accept/send-request.ts';
import { SendMessage } from '../messages/accept/send-request.ts';
import { bodyValidator, listValidator, type Validator } from './validation/schema-validator.ts';

export interface SentBatch extends AcceptedBatch {
  rate: RateDecision;
}

/**
 * Sends on behalf of a caller, for every route that sends: in comes a body in the shape of
 * `POST /transactional/send`, out goes the accepted message. A route that takes another shape, such
 * as that of another provider, translates its body and calls this; all checks, limits, idempotency,
 * test mode and events are then the same.
 *
 * A refusal is thrown as a RefusedError: `code` is a problem code, `message` its detail, and
 * `errors` point into the body that was passed. A route with its own error format catches it and
 * writes that format; otherwise the server turns it into a problem. After a refusal nothing was
 * stored.
 *
 * The server has checked the caller's scope and counted the request against the rate limit.
 */
export class Sending {
  readonly #acceptor: MessageAcceptor;
  readonly #rateLimiter: RateLimiter;
  readonly #one: Validator;
  readonly #each: ReturnType<typeof listValidator>;

  constructor(parts: { acceptor: MessageAcceptor; rateLimiter: RateLimiter }) {
    this.#acceptor = parts.acceptor;
    this.#rateLimiter = parts.rateLimiter;
    const checkRest = (body: Partial<SendRequest>, invalid: ReadonlySet<string>) =>
      parts.acceptor.checkRemainingFields(invalid, body);
    this.#one = bodyValidator(SendMessage, checkRest);
    this.#each = listValidator(SendMessage, checkRest);
  }

  /** Pass the `idempotency` of the request context, so that a repeated request sends once. */
  async send(
    caller: Caller,
    body: unknown,
    options: { idempotency?: IdempotencyRequest | undefined } = {},
  ): Promise<Accepted> {
    this.#one.check(body, caller);
    return await this.#acceptor.accept(caller, body as SendRequest, options);
  }

  /**
   * Sends several messages in one commit and counts each against the rate limit. Unless `strict`,
   * each item of the result is a message or its refusal; if all are refused, it throws.
   */
  async sendBatch(
    caller: Caller,
    bodies: readonly unknown[],
    options: BatchOptions,
  ): Promise<SentBatch> {
    // The request itself has been counted.
    const rate = this.#rateLimiter.charge(caller.workspaceId, bodies.length - 1);
    const errors = this.#each(bodies);
    const requests = bodies.map((body, index) => errors[index] ?? (body as SendRequest));
    const batch = await this.#acceptor.acceptBatch(caller, requests, options);
    return { ...batch, rate };
  }
}
