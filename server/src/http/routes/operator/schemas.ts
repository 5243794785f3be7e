import { Type } from 'typebox';
import type { Workspace as StoredWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { Email, Role, WorkspaceName } from '../../openapi/account-fields.ts';
import { closed, id, oneOf, pathId, singleLine, Time } from '../../openapi/shared-schemas.ts';
import { decodePathId } from '../../validation/path-id.ts';

const OPERATOR_WORKSPACE = {
  id: 'wsp_01kc8wzq4he2x9v7n5m3k1j0h8',
  name: 'Shop',
  created_at: '2026-11-01T08:00:00.000Z',
  suspended: null,
  deletion: null,
};

const WorkspaceFields = {
  id: id('wsp', 'the workspace'),
  name: Type.String(),
  created_at: Time,
  suspended: Type.Union([Type.Object({ since: Time, reason: Type.String() }), Type.Null()], {
    description: 'Set while live sending is suspended.',
  }),
  deletion: Type.Union([Type.Object({ requested_at: Time, delete_at: Time }), Type.Null()], {
    description: 'Set while the workspace is scheduled for deletion, or is being deleted.',
  }),
};

/** A workspace as the operator sees it. */
export const OperatorWorkspace = Type.Object(WorkspaceFields, {
  title: 'OperatorWorkspace',
  examples: [OPERATOR_WORKSPACE],
});

/** A workspace in the list of all workspaces. */
export const ListedWorkspace = Type.Object(
  {
    ...WorkspaceFields,
    brake: Type.Union([oneOf(['slowed', 'paused'] as const), Type.Null()], {
      description: 'Null while the automatic brake is off.',
    }),
    messages_this_month: Type.Integer({
      description: 'Live messages that were accepted in this calendar month in UTC.',
    }),
  },
  {
    title: 'ListedWorkspace',
    examples: [{ ...OPERATOR_WORKSPACE, brake: null, messages_this_month: 1_234 }],
  },
);

export const OperatorWorkspaceInput = closed(
  { name: WorkspaceName },
  { title: 'OperatorWorkspaceInput' },
);

export const SuspendWorkspace = closed(
  {
    reason: singleLine({
      maxLength: 500,
      description: 'Shown to the members of the workspace.',
      examples: ['Unpaid invoice'],
    }),
  },
  { title: 'SuspendWorkspace' },
);

export const DeleteOperatorWorkspace = closed(
  {
    name: Type.String({ maxLength: 100, description: 'The name of the workspace.' }),
    immediately: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Start the deletion at once. The workspace cannot be restored.',
      }),
    ),
  },
  { title: 'DeleteOperatorWorkspace' },
);

export const AddMember = closed({ email: Email, role: Role }, { title: 'AddMember' });

export const WORKSPACE_PATH = pathId('wsp', 'the workspace');

/** The workspace that a path names. */
export function workspaceInPath(workspaces: Workspaces, params: unknown): Promise<StoredWorkspace> {
  return workspaces.get(decodePathId('wsp', (params as { id: string }).id, 'workspace'));
}
