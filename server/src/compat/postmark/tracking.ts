import { Type } from 'typebox';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { type ApiEvent, toPostmarkRecord } from './event-records.ts';
import { type ListQuery, listQuery, toListQuery } from './list-filter.ts';

/**
 * https://postmarkapp.com/developer/api/messages-api#message-opens. Only first opens and clicks are
 * recorded, without anything about the visitor.
 */

const Query = listQuery({ recipient: Type.Optional(Type.String()) });

interface Tracked {
  /** In paths, and as the name of the list in the response. */
  name: 'opens' | 'clicks';
  list: 'Opens' | 'Clicks';
  type: string;
}

const TRACKED: readonly Tracked[] = [
  { name: 'opens', list: 'Opens', type: 'message.opened' },
  { name: 'clicks', list: 'Clicks', type: 'message.clicked' },
];

export function trackingOperations({ call }: CompatDependencies): Operation[] {
  const find = async (
    request: AnyRequest & { query: ListQuery & { recipient?: string } },
    { list, type }: Tracked,
    filter: Record<string, string> = {},
  ) => {
    const { recipient } = request.query;
    const query = {
      ...toListQuery(request.query),
      ...(recipient === undefined ? {} : { recipient }),
      ...filter,
      type,
      order: 'desc',
    };
    const { body } = await call(request, 'listEvents', { query });
    const records = (body.data as ApiEvent[]).map(toPostmarkRecord);
    return { status: 200, body: { TotalCount: records.length, [list]: records } };
  };
  return TRACKED.flatMap((tracked) => {
    const { name, list } = tracked;
    const responses = { 200: { description: `The ${name}.`, body: Type.Object({}) } };
    return [
      operation(
        {
          id: `postmarkList${list}`,
          method: 'GET',
          path: `/messages/outbound/${name}`,
          tag: 'Messages',
          summary: `List ${name}`,
          scope: 'read:events',
          query: Query,
          responses,
        },
        (request) => find(request, tracked),
      ),
      operation(
        {
          id: `postmarkList${list}OfMessage`,
          method: 'GET',
          path: `/messages/outbound/${name}/{id}`,
          tag: 'Messages',
          summary: `List ${name} of a message`,
          scope: 'read:events',
          params: Type.Object({ id: Type.String() }),
          query: Query,
          responses,
        },
        (request) => find(request, tracked, { message_id: request.params.id }),
      ),
    ];
  });
}
