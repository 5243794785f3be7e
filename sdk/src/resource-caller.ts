import type { Item, ListPath, Method, Path, RequestArguments, ResponseBody } from './operations.ts';

/** What the methods of the resources are made of: the methods of the client for any operation. */
export interface Caller {
  request<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    ...args: RequestArguments<M, P>
  ): Promise<ResponseBody<M, P>>;
  response<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    ...args: RequestArguments<M, P>
  ): Promise<Response>;
  all<P extends ListPath>(
    path: P,
    ...args: RequestArguments<'GET', P>
  ): AsyncGenerator<Item<P>, void, undefined>;
}
