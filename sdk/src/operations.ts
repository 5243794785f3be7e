import type { components, paths, webhooks } from '../dist/types/api.d.ts';

/**
 * Every operation of the API as types, made from the OpenAPI document of the server: which paths
 * there are, what each takes and what it gives.
 */

export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

type Api = {
  [Full in keyof paths as Full extends `/api/v1${infer Path}` ? Path : never]: paths[Full];
};

/** The paths that take this method, without `/api/v1`: `/messages/{id}`. */
export type Path<M extends Method> = {
  [P in keyof Api]: Api[P] extends Record<Lowercase<M>, { responses: object }> ? P : never;
}[keyof Api];

type Operation<M extends Method, P extends Path<M>> = Api[P][Lowercase<M> & keyof Api[P]];

/** What a 2xx answer holds: undefined when it is empty, text when it is not JSON. */
export type Answer<M extends Method, P extends Path<M>> =
  Operation<M, P> extends { responses: infer Responses } ? Success<Responses> : never;

type Success<Responses> = {
  [Status in keyof Responses & (200 | 201 | 202 | 204)]: Responses[Status] extends {
    content: infer Content extends object;
  }
    ? Content[keyof Content]
    : undefined;
}[keyof Responses & (200 | 201 | 202 | 204)];

/** How a request is made, whatever it asks for. */
export interface RequestSettings {
  /** Ends the request, and any wait before a repetition, at once. */
  signal?: AbortSignal | undefined;
  /**
   * The name of this one act, so that it is done once however often it is asked for, also by a later
   * run of your program. Made up for every POST that has none; other methods have no use for it.
   */
  idempotencyKey?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** For one try. */
  timeoutMs?: number | undefined;
  retriesMax?: number | undefined;
}

/** Distributed over P by hand: the compiler would multiply each part with every other. */
export type RequestOptions<M extends Method, P extends Path<M>> = P extends unknown
  ? RequestSettings & InPath<Operation<M, P>> & InQuery<Operation<M, P>> & InBody<Operation<M, P>>
  : never;

/** Options may be left out where nothing in them is needed. */
export type RequestArguments<M extends Method, P extends Path<M>> =
  Record<never, never> extends RequestOptions<M, P>
    ? [options?: RequestOptions<M, P>]
    : [options: RequestOptions<M, P>];

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
  ? { body: Body<Content> }
  : O extends { requestBody?: { content: infer Content extends object } }
    ? { body?: Body<Content> | undefined }
    : { body?: undefined };

/** A body that is not JSON is a string or bytes, and `headers` names its `Content-Type`. */
type Body<Content> = {
  [Type in keyof Content]: Type extends 'application/json'
    ? Content[Type]
    : Content[Type] | Uint8Array;
}[keyof Content];

/** The paths that give pages. */
export type ListPath = {
  [P in Path<'GET'>]: Answer<'GET', P> extends { data: readonly unknown[]; next_cursor: unknown }
    ? P
    : never;
}[Path<'GET'>];

export type Item<P extends ListPath> =
  Answer<'GET', P> extends { data: readonly (infer Row)[] } ? Row : never;

/** Any event, told apart by its `type`. More types may come: leave room for them in a `switch`. */
export type PostriderEvent = {
  [Type in keyof webhooks]: webhooks[Type] extends {
    post: { requestBody: { content: { 'application/json': infer Event } } };
  }
    ? Event
    : never;
}[keyof webhooks];
