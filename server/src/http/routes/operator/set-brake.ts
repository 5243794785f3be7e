import type { Workspaces } from '../../../accounts/workspaces.ts';
import { parseTime } from '../../../lib/time/rfc3339.ts';
import type { WorkspaceBrakes } from '../../../quotas/workspace-brakes.ts';
import { type Operation, operation } from '../../operation.ts';
import { SetWorkspaceBrake, WorkspaceBrake } from './brake-schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function setOperatorBrake(deps: {
  workspaces: Workspaces;
  workspaceBrakes: WorkspaceBrakes;
}): Operation {
  return operation(
    {
      id: 'setOperatorBrake',
      method: 'PUT',
      path: '/operator/workspaces/{id}/brake',
      tag: 'Operator',
      summary: 'Set the brake thresholds of a workspace',
      description:
        'Replaces the thresholds of the workspace. One that is missing or null is that of the ' +
        'settings. They apply from the next check, within a minute.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      body: SetWorkspaceBrake,
      examples: {
        trusted: {
          summary: 'A trusted sender, without probation',
          value: { pause_bounce_percent: 20, probation_ends_at: '2026-11-01T00:00:00Z' },
        },
      },
      responses: { 200: { description: 'The brake.', body: WorkspaceBrake } },
      problems: ['not_found'],
    },
    async ({ params, body }) => {
      const workspace = await workspaceInPath(deps.workspaces, params);
      const { probation_ends_at: endsAt } = body;
      await deps.workspaceBrakes.setPolicy(workspace.id, {
        slowBounceRate: toRate(body.slow_bounce_percent),
        pauseBounceRate: toRate(body.pause_bounce_percent),
        slowComplaintRate: toRate(body.slow_complaint_percent),
        pauseComplaintRate: toRate(body.pause_complaint_percent),
        probationEndsAtMs: endsAt == null ? null : (parseTime(endsAt) ?? null),
      });
      return { status: 200, body: await deps.workspaceBrakes.get(workspace) };
    },
  );
}

function toRate(percent: number | null | undefined): number | null {
  return percent == null ? null : percent / 100;
}
