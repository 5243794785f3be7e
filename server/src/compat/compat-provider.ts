import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Authenticator } from '../accounts/authenticate.ts';
import type { FetchFile } from '../http/file-fetcher.ts';
import type { Operation } from '../http/operation.ts';
import type { ApiSurface } from '../http/server/api-surface.ts';
import type { CallOperation, CheckBody } from '../http/server/call-operation.ts';
import type { Clock } from '../lib/time/clock.ts';

/**
 * Another provider's API, offered under `/compat/<name>` so that programs written for that provider's
 * client library work after a change of base URL and key. A provider translates: its operations read
 * the provider's requests, call operations of our own API, and write the provider's responses. It has
 * no access to stores or to accepting, so scopes, limits, checks and events are those of our API.
 */
export interface CompatProvider {
  /** Names the folder, the path below /compat and the document. */
  name: string;
  /** As the provider writes its name. */
  title: string;
  operations(deps: CompatDependencies): Operation[];
  authenticate(
    request: FastifyRequest,
    authenticator: CompatDependencies['authenticator'],
    clock: Clock,
  ): ReturnType<ApiSurface['authenticate']>;
  /** For providers whose requests are signed: see ApiSurface. */
  beforeSignedBody?(
    request: FastifyRequest,
    authenticator: CompatDependencies['authenticator'],
    clock: Clock,
  ): void | Promise<void>;
  renderProblem: ApiSurface['renderProblem'];
  /** What programs may try although it is not offered, and what to do instead. The first that fits decides. */
  notOffered: readonly NotOffered[];
  /**
   * Beginnings of paths, such as `/v3`, that are also offered without `/compat/<name>`, for programs
   * that keep only the origin of a configured URL. The longest one that fits a URL decides on errors.
   */
  rootPaths?: readonly string[];
  /** Describe the provider's errors and credentials in the OpenAPI document. */
  errorSchema: TSchema;
  securityScheme: Record<string, unknown>;
}

export interface NotOffered {
  /** All methods if absent. */
  method?: 'POST' | 'PUT' | 'DELETE';
  /** The path and those below it. A segment in braces stands for any. */
  path: string;
  /** Complete sentences. */
  reason: string;
}

export interface CompatDependencies {
  /** Calls an operation of our own API by its id. */
  call: CallOperation;
  /** Checks a body for such an operation, for requests without a caller. */
  checkBody: CheckBody;
  authenticator: Pick<Authenticator, 'authenticate' | 'findSigningCredential'>;
  clock: Clock;
  /** The size of a request, which also limits what one request can expand to. */
  bodyBytesMax: number;
  /** The number of messages in one batch. */
  batchMax: number;
  /** Fetches a file that a request names by URL; undefined if the operator does not allow it. */
  fetchFile: FetchFile | undefined;
  /** Signs links. */
  sign: (text: string) => Buffer;
  /** Begins the URLs in responses. */
  baseUrl: string;
}

/** Begins the paths of a provider's API. */
export function prefixOf({ name }: Pick<CompatProvider, 'name'>): string {
  return `/compat/${name}`;
}
