import { publicStream } from '../../../streams/stream.ts';
import { STREAMS_MAX, type Streams } from '../../../streams/streams.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodeCursor, invalidCursor, toPage } from '../../validation/cursor.ts';
import { Stream } from './schemas.ts';

const LIST = '/streams';

export function listStreams(deps: { streams: Streams }): Operation {
  return operation(
    {
      id: 'listStreams',
      method: 'GET',
      path: '/streams',
      tag: 'Streams',
      summary: 'List streams',
      description:
        `Sorted by key, at most ${STREAMS_MAX}. Both modes share them. Every workspace has the ` +
        'stream `transactional`.',
      scope: 'read:streams',
      query: closed(PAGE),
      queryParsers: [(query) => lastKey(query)],
      responses: { 200: { description: 'A page of streams.', body: page(Stream, 'StreamPage') } },
    },
    async ({ caller, query }) => {
      const after = lastKey(query) ?? '';
      const streams = await deps.streams.list(caller.workspaceId);
      const following = streams.filter(({ key }) => key > after);
      const limit = query.limit ?? LIMIT_DEFAULT;
      const { rows, next_cursor } = toPage(LIST, following, limit, ({ key }) => [key]);
      return { status: 200, body: { data: rows.map(publicStream), next_cursor } };
    },
  );
}

function lastKey({ cursor }: { cursor?: unknown }): string | undefined {
  if (typeof cursor !== 'string') return undefined;
  const [key] = decodeCursor(LIST, cursor, 1);
  if (typeof key !== 'string') throw invalidCursor();
  return key;
}
