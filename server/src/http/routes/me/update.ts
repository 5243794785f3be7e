import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { Me, UpdateMe } from './schemas.ts';

export function updateMe({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'updateMe',
      method: 'PATCH',
      path: '/me',
      tag: 'Account',
      summary: 'Update your name',
      scope: 'person',
      body: UpdateMe,
      examples: { name: { summary: 'Change the name', value: { name: 'Jane Miller' } } },
      responses: { 200: { description: 'The updated user.', body: Me } },
    },
    async ({ signedIn, body }) => {
      await people.account.rename(signedIn, body.name);
      return { status: 200, body: await people.account.me(signedIn) };
    },
  );
}
