import { Type } from 'typebox';
import { Code, Email, Name, Password } from '../../openapi/account-fields.ts';
import { closed, id, NullableTime, Time } from '../../openapi/shared-schemas.ts';
import { PASSKEY, Passkey } from '../passkeys/schemas.ts';
import { MovedWorkspace, WORKSPACE, Workspace } from '../workspaces/schemas.ts';

export const ME = {
  id: 'usr_01kc8wzq4he2x9v7n5m3k1j0h8',
  email: 'jane@shop.example',
  name: 'Jane Doe',
  email_verified: true,
  created_at: '2026-11-01T08:00:00.000Z',
  delete_at: null,
  instance_owner: false,
  has_password: true,
  totp_enabled: true,
  recovery_codes_left: 10,
  session: {
    id: 'ses_01kc8x3f7ye6qvj2m4n5p6q7r8',
    created_at: '2026-11-15T09:30:00.000Z',
    expires_at: '2026-11-22T09:30:00.000Z',
    single_sign_on: false,
    limited_to: null,
  },
  workspaces: [WORKSPACE],
  moved_workspaces: [],
};

const SingleSignOn = Type.Boolean({
  description: 'Whether an identity provider has started the session, which ends after a day.',
});

export const Me = Type.Object(
  {
    id: id('usr', 'the user'),
    email: Type.String(),
    name: Type.String(),
    email_verified: Type.Boolean({
      description:
        'Whether you have proved that you receive the mail of your address. `POST /me/email` with ' +
        'this address sends a link that verifies it.',
    }),
    created_at: Time,
    delete_at: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'When the account will be deleted. Until then you can restore it.',
    }),
    instance_owner: Type.Boolean({ description: 'Whether you can manage operator keys.' }),
    has_password: Type.Boolean({
      description:
        'False for an account that an identity provider created. A password reset sets one.',
    }),
    totp_enabled: Type.Boolean({ description: 'Whether signing in requires a second factor.' }),
    recovery_codes_left: Type.Integer(),
    session: Type.Object({
      id: id('ses', 'the session'),
      created_at: Time,
      expires_at: Time,
      single_sign_on: SingleSignOn,
      limited_to: Type.Union([id('wsp', 'the workspace'), Type.Null()], {
        description:
          'The only workspace of a session that the identity provider of a workspace has started. Such a session cannot change the account.',
      }),
    }),
    workspaces: Type.Array(Workspace),
    moved_workspaces: Type.Array(MovedWorkspace, {
      description:
        'Workspaces of yours that the operator has moved to another server in the last 90 days. Sign in there with the same password.',
    }),
  },
  { title: 'Me', examples: [ME] },
);

export const UpdateMe = closed({ name: Name }, { title: 'UpdateMe' });

export const RequestEmailChange = closed(
  { email: Email, password: Password, code: Type.Optional(Code) },
  { title: 'RequestEmailChange' },
);

export const DeleteMe = closed(
  { password: Password, code: Type.Optional(Code) },
  { title: 'DeleteMe' },
);

export const AccountDeletion = Type.Object(
  { delete_at: Time },
  { title: 'AccountDeletion', examples: [{ delete_at: '2026-11-22T09:30:00.000Z' }] },
);

export const ChangePassword = closed(
  { current_password: Password, new_password: Password },
  { title: 'ChangePassword' },
);

const SESSION = {
  id: ME.session.id,
  created_at: ME.session.created_at,
  expires_at: ME.session.expires_at,
  single_sign_on: false,
  current: true,
  last_seen_at: '2026-11-15T09:30:00.000Z',
  ip: '203.0.113.7',
  user_agent: 'Mozilla/5.0',
};

export const Session = Type.Object(
  {
    id: id('ses', 'the session'),
    current: Type.Boolean({ description: 'Whether this is the session of this request.' }),
    single_sign_on: SingleSignOn,
    created_at: Time,
    last_seen_at: Time,
    expires_at: Time,
    ip: Type.String(),
    user_agent: Type.String(),
  },
  { title: 'Session', examples: [SESSION] },
);

export const MeExport = Type.Object(
  { user: Me, passkeys: Type.Array(Passkey), sessions: Type.Array(Session) },
  { title: 'MeExport', examples: [{ user: ME, passkeys: [PASSKEY], sessions: [SESSION] }] },
);

export const WithPassword = closed({ password: Password }, { title: 'WithPassword' });

export const TotpSetup = Type.Object(
  {
    secret: Type.String({ description: 'The secret in base32, for manual entry.' }),
    uri: Type.String({ description: 'The secret as an otpauth:// URI, for a QR code.' }),
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
      description: 'Each code works once in place of a code from the app. Shown only once.',
    }),
  },
  { title: 'RecoveryCodes', examples: [{ recovery_codes: ['h7k2-m9xw-4tpa-c3ne'] }] },
);
