import { Type } from 'typebox';
import { INVITATION_STATUSES } from '../../../accounts/people/invitations.ts';
import { Email, Name, Password, Role, Token } from '../../openapi/account-fields.ts';
import { closed, id, oneOf, Time } from '../../openapi/shared-schemas.ts';
import { ME } from '../me/schemas.ts';
import { RecipientStatus } from '../messages/schemas.ts';

const INVITATION = {
  id: 'inv_01kc8x3f7ye6qvj2m4n5p6q7r8',
  email: 'joe@shop.example',
  role: 'developer',
  status: 'pending',
  invited_by: ME.id,
  created_at: '2026-11-15T09:30:00.000Z',
  expires_at: '2026-11-22T09:30:00.000Z',
  delivery: {
    message_id: 'msg_01kc8x3f7ye6qvj2m4n5p6q7r8',
    status: 'delivered',
    reason: null,
    explanation: null,
  },
};

const InvitationFields = {
  id: id('inv', 'the invitation'),
  email: Type.String(),
  role: Role,
  status: oneOf(INVITATION_STATUSES),
  invited_by: Type.String({
    description: 'The id of the user who sent the invitation, or `operator`.',
    examples: [ME.id],
  }),
  created_at: Time,
  expires_at: Time,
  delivery: Type.Union(
    [
      Type.Object(
        {
          message_id: id('msg', 'the message, in live mode'),
          status: RecipientStatus,
          reason: Type.Union([Type.String(), Type.Null()]),
          explanation: Type.Union([Type.String(), Type.Null()], {
            description: 'For a deferred, bounced or failed email: the reason, as a sentence.',
          }),
        },
        { title: 'InvitationDelivery' },
      ),
      Type.Null(),
    ],
    { description: 'The email with the link. Null if the link was not sent by email.' },
  ),
};

export const Invitation = Type.Object(InvitationFields, {
  title: 'Invitation',
  examples: [INVITATION],
});

export const CreateInvitation = closed({ email: Email, role: Role }, { title: 'CreateInvitation' });

export const CreatedInvitation = Type.Object(
  {
    ...InvitationFields,
    mailed: Type.Boolean({ description: 'Whether the link was sent by email.' }),
    link: Type.Union([Type.String(), Type.Null()], {
      description: 'The link to pass on yourself, if no domain can send. Shown only once.',
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
    account_exists: Type.Boolean({
      description: 'Whether the address has an account, which must sign in before accepting.',
    }),
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
