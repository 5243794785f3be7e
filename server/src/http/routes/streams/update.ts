import { publicStream } from '../../../streams/stream.ts';
import type { StreamChange, Streams } from '../../../streams/streams.ts';
import { type Operation, operation } from '../../operation.ts';
import { Stream, StreamPath, UpdateStream } from './schemas.ts';

export function updateStream(deps: { streams: Streams }): Operation {
  return operation(
    {
      id: 'updateStream',
      method: 'PATCH',
      path: '/streams/{key}',
      tag: 'Streams',
      summary: 'Update a stream',
      description:
        'Changes the name or the defaults, but not the key or the purpose. Requires a ' +
        'live key, because live mail uses the stream.',
      scope: 'write:streams',
      mode: 'live',
      params: StreamPath,
      body: UpdateStream,
      examples: { name: { summary: 'A new name', value: { name: 'Monthly digest' } } },
      responses: { 200: { description: 'The updated stream.', body: Stream } },
      problems: ['not_found'],
    },
    async ({ caller, params, body }) => {
      const { workspaceId } = caller;
      const stream = await deps.streams.change(workspaceId, params.key, body as StreamChange);
      return { status: 200, body: publicStream(stream) };
    },
  );
}
