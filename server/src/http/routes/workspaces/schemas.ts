import { Type } from 'typebox';
import { rightsOf, TEAM_RIGHTS } from '../../../accounts/roles.ts';
import { SCOPES } from '../../../accounts/scopes.ts';
import { Role, WorkspaceName } from '../../openapi/account-fields.ts';
import { closed, id, oneOf, Time } from '../../openapi/shared-schemas.ts';

export const WORKSPACE = {
  id: 'wsp_01kc8wzq4he2x9v7n5m3k1j0h8',
  name: 'Shop',
  role: 'owner',
  rights: [...rightsOf('owner')],
  created_at: '2026-11-01T08:00:00.000Z',
  suspended: null,
  deletion: null,
  single_sign_on_required: false,
};

export const Workspace = Type.Object(
  {
    id: id('wsp', 'the workspace'),
    name: Type.String(),
    role: Role,
    rights: Type.Array(oneOf([...SCOPES, ...TEAM_RIGHTS]), {
      description: 'What the role permits: scopes and team rights.',
    }),
    created_at: Time,
    suspended: Type.Union([Type.Object({ since: Time, reason: Type.String() }), Type.Null()], {
      description:
        'Why the operator has suspended live sending: sends fail with `workspace_suspended`, and queued mail stays `deferred` until the operator resumes the workspace.',
    }),
    deletion: Type.Union([Type.Object({ requested_at: Time, delete_at: Time }), Type.Null()], {
      description:
        'Set if the workspace is scheduled for deletion: live mail is held, and owners can restore it until `delete_at`.',
    }),
    single_sign_on_required: Type.Boolean({
      description:
        'Whether this session cannot use the workspace, because its members must sign in with its identity provider.',
    }),
  },
  { title: 'Workspace', examples: [WORKSPACE] },
);

export const MovedWorkspace = Type.Object(
  {
    id: id('wsp', 'the workspace'),
    name: Type.String(),
    url: Type.Union([Type.String(), Type.Null()], {
      description: 'The URL of the server that has the workspace now; null if it is not known.',
    }),
    moved_at: Time,
  },
  {
    title: 'MovedWorkspace',
    examples: [
      {
        id: WORKSPACE.id,
        name: WORKSPACE.name,
        url: 'https://west.mail.example.com',
        moved_at: '2026-11-18T09:30:00.000Z',
      },
    ],
  },
);

export const WorkspaceInput = closed({ name: WorkspaceName }, { title: 'WorkspaceInput' });

export const DeleteWorkspace = closed(
  { name: Type.String({ maxLength: 100, description: 'The name of the workspace.' }) },
  { title: 'DeleteWorkspace' },
);
