import { boolean, oneOf, roleList, secret, text, webUrl } from './setting-types.ts';

/** Roles that an identity provider can give: accounts/people/single-sign-on/connection.ts. */
const PROVIDED_ROLES = ['admin', 'developer', 'viewer'] as const;

export const singleSignOn = {
  OIDC_ISSUER: webUrl({
    description:
      'Issuer URL of the OpenID Connect provider with which users sign in. See [Sign-in](sign-in.md#one-provider-for-the-server).',
    defaultText: 'none',
  }),
  OIDC_CLIENT_ID: text<string | undefined>({
    description: 'Client ID of this server at the provider. Required with `OIDC_ISSUER`.',
    format: 'the client ID that the provider shows',
    default: undefined,
    defaultText: 'none',
  }),
  OIDC_CLIENT_SECRET: secret(
    text<string | undefined>({
      description: 'Client secret of this server at the provider. Required with `OIDC_ISSUER`.',
      format: 'the client secret that the provider shows',
      default: undefined,
      defaultText: 'none',
    }),
  ),
  OIDC_NAME: text({
    description: 'Name of the provider on the sign-in page.',
    format: 'at most 50 characters',
    default: 'single sign-on',
    accepts: /^.{1,50}$/,
  }),
  OIDC_GROUPS_CLAIM: text({
    description: 'Claim that contains the groups of a user.',
    format: 'the name of a claim, such as groups',
    default: 'groups',
    accepts: /^[^\s\0]{1,200}$/,
  }),
  OIDC_GROUP_ROLES: roleList({
    description:
      'Roles of groups, such as `mail-admins=admin,engineers=developer`. Roles are `admin`, `developer` and `viewer`. The first match decides.',
    roles: PROVIDED_ROLES,
  }),
  OIDC_DEFAULT_ROLE: oneOf({
    description: 'Role of users without a listed group: {format}. With `none` they have no access.',
    default: 'none',
    values: ['none', ...PROVIDED_ROLES],
  }),
  OIDC_ENFORCED: boolean({
    description:
      'Members of the first workspace must sign in with the provider. Owners can still use their password.',
    default: false,
  }),
};
