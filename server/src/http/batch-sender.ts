import type { Caller } from '../accounts/caller.ts';
import type { RateDecision, RateLimiter } from '../accounts/rate-limit.ts';
import type {
  AcceptedBatch,
  BatchOptions,
  MessageAcceptor,
} from '../messages/accept/accept-message.ts';
import type { SendRequest } from '../messages/accept/send-request.ts';
import { SendMessage } from '../messages/accept/send-request.ts';
import { listValidator } from './validation/schema-validator.ts';

export interface SentBatch extends AcceptedBatch {
  rate: RateDecision;
}

/**
 * Sends several messages in one commit, for every route that takes more than one: in come bodies in
 * the shape of `POST /transactional/send`, out go the accepted messages. The server has checked the
 * caller's scope and counted the request against the rate limit.
 */
export class BatchSender {
  readonly #acceptor: MessageAcceptor;
  readonly #rateLimiter: RateLimiter;
  readonly #each: ReturnType<typeof listValidator>;

  constructor(parts: { acceptor: MessageAcceptor; rateLimiter: RateLimiter }) {
    this.#acceptor = parts.acceptor;
    this.#rateLimiter = parts.rateLimiter;
    const checkRest = (body: Partial<SendRequest>, invalid: ReadonlySet<string>) =>
      parts.acceptor.checkRemainingFields(invalid, body);
    this.#each = listValidator(SendMessage, checkRest);
  }

  /**
   * Counts each message against the rate limit. Unless `strict`, each item of the result is a message
   * or its refusal; if all are refused, it throws a RefusedError, and nothing was stored.
   */
  async send(
    caller: Caller,
    bodies: readonly unknown[],
    options: BatchOptions,
  ): Promise<SentBatch> {
    // The request itself has been counted.
    const rate = this.#rateLimiter.charge(caller.workspaceId, bodies.length - 1);
    const batch = await this.#acceptor.acceptBatch(caller, this.#validated(bodies), options);
    return { ...batch, rate };
  }

  /** Makes all checks of a strict batch and stores nothing. */
  async check(caller: Caller, bodies: readonly unknown[]): Promise<void> {
    await this.#acceptor.checkBatch(caller, this.#validated(bodies));
  }

  #validated(bodies: readonly unknown[]) {
    const errors = this.#each(bodies);
    return bodies.map((body, index) => errors[index] ?? (body as SendRequest));
  }
}
