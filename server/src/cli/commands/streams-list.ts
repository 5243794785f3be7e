import { publicStream } from '../../streams/stream.ts';
import { Streams } from '../../streams/streams.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { formatTable } from '../format-table.ts';
import { withDatabase } from '../with-database.ts';

export const streamsList: Command = {
  name: 'streams list',
  summary: 'List the streams of a workspace.',
  options: WORKSPACE_OPTION,
  run: (input) =>
    withDatabase(async (parts) => {
      const workspace = await chooseWorkspace(input, parts);
      const data = (await new Streams(parts).list(workspace.id)).map(publicStream);
      const rows = data.map(({ key, purpose, name }) => [key, purpose, name]);
      return {
        data: { data, next_cursor: null },
        text: formatTable([['KEY', 'PURPOSE', 'NAME'], ...rows]),
      };
    }),
};
