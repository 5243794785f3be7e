import { Workspaces } from '../../accounts/workspaces.ts';
import { encodeId } from '../../lib/ids.ts';
import { listPurges, type WorkspacePurge } from '../../privacy/workspace-purge-store.ts';
import type { Command } from '../command.ts';
import { listTime, paintState, table } from '../terminal.ts';
import { withDatabase } from '../with-database.ts';

const PURGES_MAX = 1_000;

export const workspacesDeletions: Command = {
  name: 'workspaces deletions',
  summary: 'List deletions of workspaces: scheduled, in progress and finished.',
  details:
    'Of a deleted workspace only its id, the times and the number of deleted rows per table are kept. --json lists the rows of each table.',
  run: () =>
    withDatabase(async (parts) => {
      const purges = (await listPurges(parts.pool, PURGES_MAX)).map(publicPurge);
      const started = new Set(purges.map(({ workspace_id }) => workspace_id));
      const scheduled = (await new Workspaces(parts).list()).flatMap(({ id, deletion }) => {
        const workspace_id = encodeId('wsp', id);
        if (!deletion || started.has(workspace_id)) return [];
        return [
          {
            workspace_id,
            state: 'scheduled',
            requested_at: new Date(deletion.requestedAtMs).toISOString(),
            delete_at: new Date(deletion.deleteAtMs).toISOString(),
            finished_at: null,
            deleted_rows: {},
          },
        ];
      });
      const data = [...scheduled, ...purges];
      const rows = data.map((one) => [
        one.workspace_id,
        paintState(one.state),
        listTime(one.requested_at),
        listTime(one.delete_at),
        one.finished_at ? listTime(one.finished_at) : '',
        String(Object.values(one.deleted_rows).reduce((sum, count) => sum + count, 0)),
      ]);
      const head = ['WORKSPACE', 'STATE', 'REQUESTED', 'DELETE AT', 'FINISHED', 'ROWS'];
      return {
        data: { data, next_cursor: null },
        text: rows.length > 0 ? table(head, rows) : 'No deletions.',
      };
    }),
};

function publicPurge(purge: WorkspacePurge) {
  const { id, requestedAtMs, startedAtMs, finishedAtMs, deletedRows } = purge;
  return {
    workspace_id: encodeId('wsp', id),
    state: finishedAtMs === null ? 'deleting' : 'deleted',
    requested_at: new Date(requestedAtMs).toISOString(),
    delete_at: new Date(startedAtMs).toISOString(),
    finished_at: finishedAtMs === null ? null : new Date(finishedAtMs).toISOString(),
    deleted_rows: deletedRows,
  };
}
