import { Type } from 'typebox';
import { INVITATION_STATUSES } from '../../../accounts/people/invitations.ts';
import { ROLES, TEAM_RIGHTS } from '../../../accounts/roles.ts';
import { SCOPES } from '../../../accounts/scopes.ts';
import { INVITATION, ME, MEMBER, SESSION, WORKSPACE } from './examples.ts';
import { closed, id, oneOf, Time } from '../../openapi/shared-schemas.ts';

/** What people send and see: sign-in, their own things, their team. */

const Role = oneOf(ROLES, { description: 'What the person is in the workspace.' });

export const Name = Type.String({ minLength: 1, maxLength: 100, examples: ['Jane Doe'] });
export const WorkspaceName = Type.String({ minLength: 1, maxLength: 100, examples: ['Shop'] });
export const Email = Type.String({
  format: 'email',
  maxLength: 1024,
  examples: ['jane@shop.example'],
});
/** Its length is judged with its words: see accounts/people/password-rules.ts. */
export const Password = Type.String({ maxLength: 4096, examples: ['tulip freight oboe'] });
export const Code = Type.String({ minLength: 6, maxLength: 40, examples: ['428913'] });
/** A secret from a link; what cannot be one is simply not good. */
export const Token = Type.String({ maxLength: 200, examples: ['pQ2n…'] });

export const SetupState = Type.Object(
  {
    needed: Type.Boolean({ description: 'Nobody has an account yet.' }),
    link_required: Type.Boolean({
      description: 'This visit must bring the token of the link that the server printed.',
    }),
  },
  { title: 'SetupState', examples: [{ needed: true, link_required: false }] },
);

export const CreateOwner = closed(
  {
    email: Email,
    name: Name,
    password: Password,
    workspace_name: Type.Optional(WorkspaceName),
    token: Type.Optional(Token),
  },
  { title: 'CreateOwner' },
);

export const SignIn = closed({ email: Email, password: Password }, { title: 'SignIn' });

export const SignInWithCode = closed({ challenge: Token, code: Code }, { title: 'SignInWithCode' });

export const Workspace = Type.Object(
  {
    id: id('wsp', 'the workspace'),
    name: Type.String(),
    role: Role,
    rights: Type.Array(oneOf([...SCOPES, ...TEAM_RIGHTS]), {
      description: 'What the role may do: scopes, and rights over the team.',
    }),
    created_at: Time,
    suspended: Type.Union([Type.Object({ since: Time, reason: Type.String() }), Type.Null()], {
      description:
        'Why the operator has stopped the live mail of the workspace: sends are refused with `workspace_suspended`, and what waits stays `deferred` until he resumes it.',
    }),
  },
  { title: 'Workspace', examples: [WORKSPACE] },
);

export const Me = Type.Object(
  {
    id: id('usr', 'the person'),
    email: Type.String(),
    name: Type.String(),
    created_at: Time,
    totp_enabled: Type.Boolean({ description: 'A second factor is asked for.' }),
    recovery_codes_left: Type.Integer(),
    session: Type.Object({ id: id('ses', 'the session'), created_at: Time, expires_at: Time }),
    workspaces: Type.Array(Workspace),
  },
  { title: 'Me', examples: [ME] },
);

export const SignedIn = Type.Object(
  {
    second_factor_required: Type.Boolean(),
    challenge: Type.Union([Type.String(), Type.Null()], {
      description: 'Goes with the code to `POST /session/second-factor`, within ten minutes.',
    }),
    me: Type.Union([Me, Type.Null()]),
  },
  {
    title: 'SignedIn',
    examples: [{ second_factor_required: false, challenge: null, me: ME }],
  },
);

export const SET_COOKIE = {
  'Set-Cookie': {
    description: 'The session: HttpOnly, SameSite=Strict, and Secure where BASE_URL is https.',
    schema: Type.String(),
  },
};

export const UpdateMe = closed({ name: Name }, { title: 'UpdateMe' });

export const ChangePassword = closed(
  { current_password: Password, new_password: Password },
  { title: 'ChangePassword' },
);

export const Session = Type.Object(
  {
    id: id('ses', 'the session'),
    current: Type.Boolean({ description: 'The one that asks.' }),
    created_at: Time,
    last_seen_at: Time,
    expires_at: Time,
    ip: Type.String(),
    user_agent: Type.String(),
  },
  { title: 'Session', examples: [SESSION] },
);

export const WithPassword = closed({ password: Password }, { title: 'WithPassword' });

export const TotpSetup = Type.Object(
  {
    secret: Type.String({ description: 'For typing into an app, base32.' }),
    uri: Type.String({ description: 'The same as an otpauth:// address, for a QR code.' }),
  },
  {
    title: 'TotpSetup',
    examples: [
      {
        secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
        uri: 'otpauth://totp/Postrider:jane%40shop.example?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Postrider',
      },
    ],
  },
);

export const RecoveryCodes = Type.Object(
  {
    recovery_codes: Type.Array(Type.String(), {
      description: 'Each works once in place of a code. Shown this once, never again.',
    }),
  },
  { title: 'RecoveryCodes', examples: [{ recovery_codes: ['h7k2-m9xw-4tpa-c3ne'] }] },
);

export const WorkspaceWords = closed({ name: WorkspaceName }, { title: 'WorkspaceWords' });

export const Member = Type.Object(
  {
    id: id('usr', 'the person'),
    email: Type.String(),
    name: Type.String(),
    role: Role,
    joined_at: Time,
    totp_enabled: Type.Boolean(),
  },
  { title: 'Member', examples: [MEMBER] },
);

export const UpdateMember = closed({ role: Role }, { title: 'UpdateMember' });

const InvitationFields = {
  id: id('inv', 'the invitation'),
  email: Type.String(),
  role: Role,
  status: oneOf(INVITATION_STATUSES),
  invited_by: id('usr', 'the person who invited'),
  created_at: Time,
  expires_at: Time,
};

export const Invitation = Type.Object(InvitationFields, {
  title: 'Invitation',
  examples: [INVITATION],
});

export const CreateInvitation = closed({ email: Email, role: Role }, { title: 'CreateInvitation' });

export const CreatedInvitation = Type.Object(
  {
    ...InvitationFields,
    mailed: Type.Boolean({ description: 'The link is on its way to the address.' }),
    link: Type.Union([Type.String(), Type.Null()], {
      description: 'For handing over yourself, when no domain can send. Shown this once.',
    }),
  },
  { title: 'CreatedInvitation', examples: [{ ...INVITATION, mailed: true, link: null }] },
);

export const InspectedInvitation = Type.Object(
  {
    workspace_name: Type.String(),
    email: Type.String(),
    role: Role,
    invited_by_name: Type.Union([Type.String(), Type.Null()]),
    account_exists: Type.Boolean({ description: 'Whoever has it signs in before accepting.' }),
    expires_at: Time,
  },
  {
    title: 'InspectedInvitation',
    examples: [
      {
        workspace_name: 'Shop',
        email: 'joe@shop.example',
        role: 'developer',
        invited_by_name: 'Jane Doe',
        account_exists: false,
        expires_at: '2026-11-22T09:30:00.000Z',
      },
    ],
  },
);

export const AcceptInvitation = closed(
  { token: Token, name: Type.Optional(Name), password: Type.Optional(Password) },
  { title: 'AcceptInvitation' },
);
