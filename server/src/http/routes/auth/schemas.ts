import { Type } from 'typebox';
import { Code, Email, Name, Password, Token, WorkspaceName } from '../../openapi/account-fields.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { ME, Me } from '../me/schemas.ts';

export const SetupState = Type.Object(
  {
    needed: Type.Boolean({ description: 'Whether no account exists yet.' }),
    link_required: Type.Boolean({
      description: 'Whether this client must send the token of the link that the server printed.',
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

export const SignedIn = Type.Object(
  {
    second_factor_required: Type.Boolean(),
    challenge: Type.Union([Type.String(), Type.Null()], {
      description: 'Send it with the code to `POST /session/second-factor` within ten minutes.',
    }),
    me: Type.Union([Me, Type.Null()]),
  },
  {
    title: 'SignedIn',
    examples: [{ second_factor_required: false, challenge: null, me: ME }],
  },
);

export const SignedOut = Type.Object(
  { provider_sign_out_url: Type.String() },
  {
    title: 'SignedOut',
    examples: [{ provider_sign_out_url: 'https://login.example.com/logout?client_id=postrider' }],
  },
);

export const SET_COOKIE = {
  'Set-Cookie': {
    description: 'The session cookie: HttpOnly, SameSite=Strict, and Secure if BASE_URL is https.',
    schema: Type.String(),
  },
};
