import { Type } from 'typebox';
import type { People } from '../../../accounts/people/people.ts';
import { decodeId } from '../../../lib/ids.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { SignInOptions } from './schemas.ts';

export function getSignInOptions({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'getSignInOptions',
      method: 'GET',
      path: '/session/options',
      tag: 'Sign-in',
      summary: 'List the ways to sign in',
      description:
        'With the id of a workspace, the identity provider of that workspace; otherwise that of ' +
        'the server. A browser starts at `/sso/start?workspace=…`.',
      scope: 'public',
      csrfProtected: true,
      query: closed({
        workspace: Type.Optional(
          Type.String({ maxLength: 100, description: 'The id of a workspace, wsp_….' }),
        ),
      }),
      responses: { 200: { description: 'The ways to sign in.', body: SignInOptions } },
    },
    async ({ query: { workspace } }) => {
      const id = workspace === undefined ? undefined : decodeId('wsp', workspace);
      const isUnknown = workspace !== undefined && id === undefined;
      const found = isUnknown ? undefined : await people.singleSignOn.connections.forSignIn(id);
      const single_sign_on = found ? { name: found.name } : null;
      return { status: 200, body: { single_sign_on, passkeys: people.passkeys.available } };
    },
  );
}
