import { publicStream } from '../../../streams/stream.ts';
import type { Streams } from '../../../streams/streams.ts';
import { type Operation, operation } from '../../operation.ts';
import { Stream, StreamPath } from './schemas.ts';

export function getStream(deps: { streams: Streams }): Operation {
  return operation(
    {
      id: 'getStream',
      method: 'GET',
      path: '/streams/{key}',
      tag: 'Streams',
      summary: 'Retrieve a stream',
      scope: 'read:streams',
      params: StreamPath,
      responses: { 200: { description: 'The stream.', body: Stream } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const stream = await deps.streams.get(caller.workspaceId, params.key);
      return { status: 200, body: publicStream(stream) };
    },
  );
}
