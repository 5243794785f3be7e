import { Type } from 'typebox';
import { PROVIDED_ROLES } from '../../../accounts/people/single-sign-on/connection.ts';
import { closed, oneOf, singleLine, Time } from '../../openapi/shared-schemas.ts';

const ProvidedRole = oneOf(PROVIDED_ROLES, {
  description: 'A role that a provider can give. Owners are appointed by owners.',
});

const GroupRole = closed({
  group: Type.String({ minLength: 1, maxLength: 300, examples: ['engineers'] }),
  role: ProvidedRole,
});

const DefaultRole = Type.Union([ProvidedRole, Type.Null()], {
  description: 'The role of users without a listed group; null if they have no access.',
});

const ISSUER = 'https://login.shop.example';

export const SINGLE_SIGN_ON_INPUT = {
  name: 'Shop login',
  issuer: ISSUER,
  client_id: 'postrider',
  client_secret: 'hV3x…',
  group_roles: [{ group: 'engineers', role: 'developer' }],
  default_role: 'viewer',
  enforced: false,
};

export const SingleSignOnInput = closed(
  {
    name: singleLine({
      maxLength: 50,
      description: 'The name of the provider on the sign-in page.',
    }),
    issuer: Type.String({
      minLength: 1,
      maxLength: 1000,
      description: 'The issuer exactly as the provider writes it, an https URL.',
    }),
    client_id: Type.String({ minLength: 1, maxLength: 500 }),
    client_secret: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2000,
        description: 'Omit it to keep the stored one. It is never returned.',
      }),
    ),
    groups_claim: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        default: 'groups',
        description: 'The claim that contains the groups of a user.',
      }),
    ),
    group_roles: Type.Optional(
      Type.Array(GroupRole, {
        maxItems: 100,
        default: [],
        description:
          'The roles of groups; the first match decides. Applied at every sign-in, except to owners. If it is empty, roles of members are not changed.',
      }),
    ),
    default_role: Type.Optional(DefaultRole),
    enforced: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether members must sign in with the provider. Owners can always use their password.',
      }),
    ),
  },
  { title: 'SingleSignOnInput' },
);

export const SingleSignOn = Type.Object(
  {
    name: Type.String(),
    issuer: Type.String(),
    client_id: Type.String(),
    groups_claim: Type.String(),
    group_roles: Type.Array(Type.Object({ group: Type.String(), role: ProvidedRole })),
    default_role: DefaultRole,
    enforced: Type.Boolean(),
    managed_by: oneOf(['workspace', 'server'] as const, {
      description:
        '`server`: the settings of the server configure it, and it cannot be changed here.',
    }),
    redirect_uri: Type.String({ description: 'Add it to the redirect URIs at the provider.' }),
    sign_in_url: Type.String({ description: 'Where members sign in.' }),
    updated_at: Time,
  },
  {
    title: 'SingleSignOn',
    examples: [
      {
        name: 'Shop login',
        issuer: ISSUER,
        client_id: 'postrider',
        groups_claim: 'groups',
        group_roles: [{ group: 'engineers', role: 'developer' }],
        default_role: 'viewer',
        enforced: false,
        managed_by: 'workspace',
        redirect_uri: 'https://mail.shop.example/sso/callback/wsp_01kc8wzq4he2x9v7n5m3k1j0h8',
        sign_in_url:
          'https://mail.shop.example/app/sign-in?workspace=wsp_01kc8wzq4he2x9v7n5m3k1j0h8',
        updated_at: '2026-11-15T09:30:00.000Z',
      },
    ],
  },
);

export const SignInOptions = Type.Object(
  {
    single_sign_on: Type.Union([Type.Object({ name: Type.String() }), Type.Null()], {
      description: 'The identity provider; null if there is none.',
    }),
    passkeys: Type.Boolean({
      description: 'Whether passkeys can be used: BASE_URL must be https and have a host name.',
    }),
  },
  {
    title: 'SignInOptions',
    examples: [{ single_sign_on: { name: 'Shop login' }, passkeys: true }],
  },
);
