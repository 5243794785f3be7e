import type { components, paths } from '../dist/types/api.d.ts';

/**
 * Types of every API operation, derived from the server's OpenAPI document: the paths, and the
 * request and response of each.
 */

export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

type Api = {
  [Full in keyof paths as Full extends `/api/v1${infer Path}` ? Path : never]: paths[Full];
};

/** Paths that support this method, without `/api/v1`: `/messages/{id}`. */
export type Path<M extends Method> = {
  [P in keyof Api]: Api[P] extends Record<Lowercase<M>, { responses: object }> ? P : never;
}[keyof Api];

type Operation<M extends Method, P extends Path<M>> = Api[P][Lowercase<M> & keyof Api[P]];

/** The body of a 2xx response: undefined if empty, text if not JSON. */
export type ResponseBody<M extends Method, P extends Path<M>> =
  Operation<M, P> extends { responses: infer Responses } ? Success<Responses> : never;

type Success<Responses> = {
  [Status in keyof Responses & (200 | 201 | 202 | 204)]: Responses[Status] extends {
    content: infer Content extends object;
  }
    ? Content[keyof Content]
    : undefined;
}[keyof Responses & (200 | 201 | 202 | 204)];

/** Options of every request. */
export interface RequestSettings {
  /** Aborts the request, or the wait before a retry, immediately. */
  signal?: AbortSignal | undefined;
  /**
   * Identifies this operation, so that it is executed once however often it is sent, even by a later
   * run of your program. Generated for every POST without one; other methods ignore it.
   */
  idempotencyKey?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Timeout of one attempt. */
  timeoutMs?: number | undefined;
  maxRetries?: number | undefined;
}

/** Distributed over P by hand: the compiler would otherwise build the product of all parts. */
export type RequestOptions<M extends Method, P extends Path<M>> = P extends unknown
  ? RequestSettings & InPath<Operation<M, P>> & InQuery<Operation<M, P>> & InBody<Operation<M, P>>
  : never;

/** Options can be omitted where none is required. */
export type RequestArguments<M extends Method, P extends Path<M>> =
  Record<never, never> extends RequestOptions<M, P>
    ? [options?: RequestOptions<M, P>]
    : [options: RequestOptions<M, P>];

/** The values in the path of an operation. */
export type PathValues<M extends Method, P extends Path<M>> =
  Operation<M, P> extends { parameters: { path: infer Values } } ? Values : never;

/** The query of an operation. */
export type Query<M extends Method, P extends Path<M>> = NonNullable<RequestOptions<M, P>['query']>;

/** The request body of an operation. */
export type Body<M extends Method, P extends Path<M>> = NonNullable<RequestOptions<M, P>['body']>;

type InPath<O> = O extends { parameters: { path: infer Values } }
  ? { path: Values }
  : { path?: undefined };

type InQuery<O> = O extends { parameters: { query: infer Values } }
  ? { query: Values }
  : O extends { parameters: { query?: infer Values } }
    ? [NonNullable<Values>] extends [never]
      ? { query?: undefined }
      : { query?: NonNullable<Values> | undefined }
    : { query?: undefined };

type InBody<O> = O extends { requestBody: { content: infer Content extends object } }
  ? { body: BodyOf<Content> }
  : O extends { requestBody?: { content: infer Content extends object } }
    ? { body?: BodyOf<Content> | undefined }
    : { body?: undefined };

/** A body that is not JSON is a string or bytes, and `headers` sets its `Content-Type`. */
type BodyOf<Content> = {
  [Type in keyof Content]: Type extends 'application/json'
    ? Content[Type]
    : Content[Type] | Uint8Array;
}[keyof Content];

/** Paths that return pages. */
export type ListPath = {
  [P in Path<'GET'>]: ResponseBody<'GET', P> extends {
    data: readonly unknown[];
    next_cursor: unknown;
  }
    ? P
    : never;
}[Path<'GET'>];

export type Item<P extends ListPath> =
  ResponseBody<'GET', P> extends { data: readonly (infer Row)[] } ? Row : never;

/** Any event, discriminated by `type`. New types may be added: handle unknown ones in a `switch`. */
export type PostriderEvent = Schema<'Event'>;
