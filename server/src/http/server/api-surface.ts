import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../accounts/caller.ts';
import type { Operation } from '../operation.ts';
import type { ProblemResponse } from '../problems/problem-details.ts';

/**
 * An API that the server offers under a path of its own: ours, or another provider's API for the
 * programs written for it. Surfaces differ in paths, in where the credential is, in whether sends wait
 * at the rate limit, and in the format of errors. Everything else (scopes, the limit itself, validation,
 * idempotency) is the same for all.
 */
export interface ApiSurface {
  /** Begins the path of every operation, such as `/api/v1`. */
  prefix: string;
  operations: readonly Operation[];
  /**
   * Finds the caller of a request without a session. Returns no promise when the answer is cached,
   * because every send takes this path. It is called again after the body, and may keep what it has
   * read of the credential in `request.credential`.
   */
  authenticate(request: FastifyRequest): Caller | Promise<Caller>;
  /**
   * For credentials that sign the body: refuses what can be refused without it. The body is then read
   * before the request is authenticated, and `authenticate` finds it in `request.receivedBody`. Returns
   * no promise when the credential is cached.
   */
  beforeSignedBody?: ((request: FastifyRequest) => void | Promise<void>) | undefined;
  /** Whether the session cookie of the dashboard authenticates too. */
  acceptsSessions: boolean;
  /**
   * Whether a send beyond the rate limit waits for its turn before it is refused. Their clients do not
   * try again, because those providers count requests and not the messages of a batch.
   */
  waitsAtRateLimit: boolean;
  /** `url` is that of the request, with its query. */
  renderProblem(response: ProblemResponse, url: string): RenderedProblem;
  /** Why there is no operation for a method and a URL, if the surface has more to say than our own API. */
  notOffered?(method: string, url: string): string;
}

export interface RenderedProblem {
  status: number;
  headers: Record<string, string>;
  mediaType: string;
  body: string;
}

/** An operation of a surface and what its requests need. It exists once, not for each request. */
export interface Route<Dependencies> {
  readonly deps: Dependencies;
  readonly surface: ApiSurface;
  readonly spec: Operation['spec'];
}
