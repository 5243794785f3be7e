import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { Me } from './schemas.ts';

export function getMe({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'getMe',
      method: 'GET',
      path: '/me',
      tag: 'Account',
      summary: 'Retrieve the signed-in user',
      description: 'Includes all workspaces and the rights of the user’s role in each.',
      scope: 'person',
      limitedSessions: true,
      responses: { 200: { description: 'The signed-in user.', body: Me } },
    },
    async ({ signedIn }) => ({ status: 200, body: await people.account.me(signedIn) }),
  );
}
