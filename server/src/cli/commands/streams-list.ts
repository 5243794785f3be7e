import { publicStream } from '../../streams/stream.ts';
import { Streams } from '../../streams/streams.ts';
import { collect } from '../api/api-client.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { table } from '../terminal.ts';

type PublicStream = ReturnType<typeof publicStream>;

export const streamsList: Command = {
  name: 'streams list',
  summary: 'List the streams of a workspace.',
  target: 'either',
  options: WORKSPACE_OPTION,
  run: async (input) => {
    const data = await onTarget<PublicStream[]>(input, {
      api: ({ client }) => collect(client.all<PublicStream>('/streams', { query: { limit: 100 } })),
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        return (await new Streams(parts).list(workspace.id)).map(publicStream);
      },
    });
    const rows = data.map(({ key, purpose, name }) => [key, purpose, name]);
    return { data: { data, next_cursor: null }, text: table(['KEY', 'PURPOSE', 'NAME'], rows) };
  },
};
