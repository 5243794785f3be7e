import type { Streams } from '../../../streams/streams.ts';
import { type Operation, operation } from '../../operation.ts';
import { StreamPath } from './schemas.ts';

export function deleteStream(deps: { streams: Streams }): Operation {
  return operation(
    {
      id: 'deleteStream',
      method: 'DELETE',
      path: '/streams/{key}',
      tag: 'Streams',
      summary: 'Delete a stream',
      description:
        'Only if no template, API key or webhook names it; `transactional` cannot be deleted. Messages ' +
        'keep its key. Its suppressions are kept too, and apply again if a stream with this key ' +
        'is created later. Requires a live key.',
      scope: 'write:streams',
      mode: 'live',
      params: StreamPath,
      responses: { 204: { description: 'The stream was deleted.' } },
      problems: ['not_found', 'conflict'],
    },
    async ({ caller, params }) => {
      await deps.streams.remove(caller.workspaceId, params.key);
      return { status: 204 };
    },
  );
}
