import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import { UsageError } from '../command.ts';

/** Calls a server over HTTP with the client library of this repository. */
export interface ApiClient {
  /** Returns the body of a 2xx response. Otherwise throws an ApiError or an UnreachableError. */
  request<T>(method: string, path: string, options?: ApiOptions): Promise<T>;
  /** All items of a list. */
  all<T>(path: string, options?: ApiOptions): AsyncGenerator<T, void, undefined>;
  /**
   * Events after a cursor of the event list, or from now on: resolves when the position is fixed, and
   * then has no end and no gaps.
   */
  events(options: EventFilter): Promise<AsyncGenerator<ApiEvent, void, undefined>>;
}

export interface ApiOptions {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
}

export interface EventFilter {
  type: string | undefined;
  cursor?: string | undefined;
}

export interface ApiEvent {
  id: string;
  type: string;
  mode: string;
  created_at: string;
  data: Record<string, unknown>;
}

/** The server rejected a request. */
export class ApiError extends RefusedError {
  readonly status: number;
  readonly title: string;
  readonly requestId: string;

  constructor(problem: Rejection, url: string) {
    // The library's own message names its option.
    const fix = problem.fix.replace('baseUrl', url);
    super(problem.code, problem.detail, { errors: problem.errors, fix });
    this.name = 'ApiError';
    this.status = problem.status;
    this.title = problem.title;
    this.requestId = problem.requestId;
  }
}

/** Errors of TLS when the server answers in plain text. */
const NO_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);

/** The server did not respond. */
export class UnreachableError extends Error {
  constructor(url: string, reason: string) {
    const fix = NO_TLS.has(reason)
      ? 'It does not use TLS: begin the URL with http://.'
      : 'Check the URL, and that the server is running.';
    super(`${url} does not respond: ${reason}. ${fix}`);
    this.name = 'UnreachableError';
  }
}

const RETRIES_MAX = 2;

/** As the library describes the response of another server. */
const NOT_OURS: Rejection = {
  status: 200,
  code: 'unexpected_response',
  title: 'The response is not from Postrider',
  detail: 'The response has status 200 and no JSON.',
  fix: 'Check that baseUrl is the URL of Postrider, and check any proxy in front of it.',
  errors: [],
  requestId: '',
};

/**
 * The client library. It is imported by its URL, because its types are generated from this server's
 * operations: a static import would make the server's own type check depend on that build.
 */
const CLIENT_LIBRARY = new URL('../../../../sdk/src/index.ts', import.meta.url).href;

export async function createApiClient(url: string, apiKey: string): Promise<ApiClient> {
  const { Postrider } = (await import(CLIENT_LIBRARY)) as {
    Postrider: new (options: object) => Client;
  };
  let client: Client;
  try {
    client = new Postrider({ baseUrl: url, apiKey, maxRetries: RETRIES_MAX });
  } catch (error) {
    // The library's messages name its options and never contain the key.
    throw new UsageError(
      `${(error as Error).message.replace('baseUrl (or POSTRIDER_URL)', `"${url}"`)}.`,
    );
  }
  const toOurs = (error: unknown): never => {
    throw translate(error, url);
  };
  return {
    async request<T>(method: string, path: string, options: ApiOptions = {}) {
      const body = await client.request(method, path, options).catch(toOurs);
      // Another server may answer anything with 200.
      if (method === 'GET' && typeof body !== 'object') throw new ApiError(NOT_OURS, url);
      return body as T;
    },
    async *all<T>(path: string, options: ApiOptions = {}) {
      try {
        yield* client.all(path, options) as AsyncGenerator<T, void, undefined>;
      } catch (error) {
        toOurs(error);
      }
    },
    async events({ type, cursor }) {
      const latest = { query: { limit: 1, cursor: 'latest' } };
      const position =
        cursor ??
        ((await client.request('GET', '/events', latest).catch(toOurs)) as { next_cursor: string })
          .next_cursor;
      return eventsAfter(position);

      async function* eventsAfter(from: string) {
        try {
          for await (const { event } of client.events.stream({ type, cursor: from })) yield event;
        } catch (error) {
          toOurs(error);
        }
      }
    },
  };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** The part of the client library that is used here. */
interface Client {
  request(method: string, path: string, options: ApiOptions): Promise<unknown>;
  all(path: string, options: ApiOptions): AsyncGenerator<unknown, void, undefined>;
  events: { stream(options: object): AsyncGenerator<{ event: ApiEvent }, void, undefined> };
}

interface Rejection {
  status: number;
  code: string;
  title: string;
  detail: string;
  fix: string;
  errors: readonly FieldError[];
  requestId: string;
}

function translate(error: unknown, url: string): unknown {
  const { name, cause } = error as Error;
  if (name === 'PostriderError') return new ApiError(error as unknown as Rejection, url);
  if (name === 'PostriderConnectionError') return new UnreachableError(url, reasonOf(cause));
  return error;
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  const { code, message: reason } = (cause ?? {}) as NodeJS.ErrnoException;
  return code ?? reason ?? message;
}
