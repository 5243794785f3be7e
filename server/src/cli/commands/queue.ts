import { Workspaces } from '../../accounts/workspaces.ts';
import { encodeId } from '../../lib/ids.ts';
import { listQueueByDomain } from '../../stats/queue-store.ts';
import { findWorkspace } from '../choose-workspace.ts';
import { columns } from '../columns.ts';
import type { Command } from '../command.ts';
import { withStorage } from '../with-storage.ts';

export const queue: Command = {
  name: 'queue',
  summary: 'Show the live mail that waits, by workspace and receiver, and why.',
  details:
    'Counts recipients, where most wait first. With very many waiting it is a sample of ten thousand. A single message is explained by "GET /api/v1/messages/{id}/attempts" and in the dashboard.',
  options: { workspace: { takes: 'NAME|ID', says: 'Only this one; all when absent.' } },
  run: (given) =>
    withStorage(async (parts) => {
      const wanted = given.option('workspace');
      const one =
        wanted === undefined ? undefined : await findWorkspace(new Workspaces(parts), wanted);
      const { waiting, more } = await listQueueByDomain(parts.pool, one?.id);
      const data = waiting.map((group) => ({
        workspace: { id: encodeId('wsp', group.workspaceId), name: group.workspaceName },
        receiver: group.domain,
        queued: group.queued,
        deferred: group.deferred,
        scheduled: group.scheduled,
        next_try_at: new Date(group.dueAtMs).toISOString(),
        reason: group.reason,
      }));
      const rows = data.map((group) => [
        group.workspace.name,
        group.receiver,
        ...[group.queued, group.deferred, group.scheduled].map(String),
        group.next_try_at,
        group.reason ?? '',
      ]);
      const head = ['WORKSPACE', 'RECEIVER', 'QUEUED', 'DEFERRED', 'SCHEDULED', 'NEXT TRY', 'WHY'];
      return {
        data: { data, more },
        text: rows.length === 0 ? 'Nothing waits.' : table(columns([head, ...rows]), more),
      };
    }),
};

function table(text: string, more: boolean): string {
  return more ? `${text}\n\nThere is more: these are of the first ten thousand.` : text;
}
