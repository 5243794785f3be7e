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
      summary: 'See who is signed in',
      description: 'With all workspaces and what the role in each may do.',
      scope: 'person',
      responses: { 200: { description: 'The person.', body: Me } },
    },
    async ({ signedIn }) => ({ status: 200, body: await people.account.me(signedIn) }),
  );
}
