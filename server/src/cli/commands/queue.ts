import { Workspaces } from '../../accounts/workspaces.ts';
import { listThrottles } from '../../delivery/receivers/throttle-store.ts';
import { type CurrentWarmUp, listCurrentWarmUps } from '../../delivery/warm-up/warm-up-store.ts';
import { encodeId } from '../../lib/ids.ts';
import { listQueueByDomain } from '../../stats/queue-store.ts';
import { findWorkspace } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { formatTable } from '../format-table.ts';
import { withDatabase } from '../with-database.ts';

export const queue: Command = {
  name: 'queue',
  summary: 'Show queued live mail by workspace and receiving domain.',
  details:
    'Counts recipients, largest groups first. Of a very long queue, only the first ten thousand recipients are counted. Receivers that limit how much mail they accept from this server are listed too, and sending addresses that are being warmed up. For a single message see "GET /api/v1/messages/{id}/attempts" or the dashboard.',
  options: { workspace: { value: 'NAME|ID', description: 'Only this workspace (default: all).' } },
  run: (input) =>
    withDatabase(async (parts) => {
      const wanted = input.option('workspace');
      const workspace =
        wanted === undefined ? undefined : await findWorkspace(new Workspaces(parts), wanted);
      const { waiting, more } = await listQueueByDomain(parts.pool, workspace?.id);
      const throttles = (await listThrottles(parts.pool)).map((throttle) => ({
        receiver: throttle.receiver,
        level: throttle.level,
        paused_until: new Date(throttle.pausedUntilMs).toISOString(),
      }));
      const warm_ups = await listCurrentWarmUps(parts.pool, parts.clock.now());
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
      const head = [
        'WORKSPACE',
        'RECEIVER',
        'QUEUED',
        'DEFERRED',
        'SCHEDULED',
        'NEXT ATTEMPT',
        'WHY',
      ];
      return {
        data: { data, more, throttles, warm_ups },
        text: [
          rows.length === 0 ? 'The queue is empty.' : table(formatTable([head, ...rows]), more),
          ...throttleTable(throttles),
          ...warmUpTable(warm_ups),
        ].join('\n\n'),
      };
    }),
};

function table(text: string, more: boolean): string {
  return more ? `${text}\n\nShowing the first ten thousand recipients.` : text;
}

function throttleTable(throttles: { receiver: string; paused_until: string }[]): string[] {
  if (throttles.length === 0) return [];
  const rows = throttles.map(({ receiver, paused_until }) => [receiver, paused_until]);
  return [formatTable([['LIMITED BY RECEIVER', 'PAUSED UNTIL'], ...rows])];
}

function warmUpTable(warmUps: readonly CurrentWarmUp[]): string[] {
  if (warmUps.length === 0) return [];
  const rows = warmUps.map(({ address, provider, day, cap, used, overflowed }) => [
    address,
    provider,
    ...(cap === null ? ['ended', '', ''] : [String(day), `${used} of ${cap}`, String(overflowed)]),
  ]);
  const head = ['WARM-UP OF', 'PROVIDER', 'DAY', 'SENT TODAY', 'OVERFLOW'];
  return [formatTable([head, ...rows])];
}
