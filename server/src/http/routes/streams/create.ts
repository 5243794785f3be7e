import { publicStream } from '../../../streams/stream.ts';
import type { NewStream, Streams } from '../../../streams/streams.ts';
import { type Operation, operation } from '../../operation.ts';
import { CreateStream, Stream } from './schemas.ts';

export function createStream(deps: { streams: Streams }): Operation {
  return operation(
    {
      id: 'createStream',
      method: 'POST',
      path: '/streams',
      tag: 'Streams',
      summary: 'Create a stream',
      description:
        'Messages, templates and API keys can name the stream from now on, in both modes. Mail ' +
        'that recipients should be able to stop separately belongs in a stream of its own.',
      scope: 'write:streams',
      body: CreateStream,
      examples: {
        digest: {
          summary: 'A newsletter',
          value: { key: 'weekly-digest', name: 'Weekly digest', purpose: 'subscription' },
        },
      },
      responses: { 201: { description: 'The stream.', body: Stream } },
      problems: ['conflict'],
    },
    async ({ caller, body }) => {
      const stream = await deps.streams.create(caller.workspaceId, body as NewStream);
      return { status: 201, body: publicStream(stream) };
    },
  );
}
