import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { Me } from './schemas.ts';

export function restoreMe({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'restoreMe',
      method: 'DELETE',
      path: '/me/deletion',
      tag: 'Account',
      summary: 'Restore your account',
      description: 'Cancels the deletion of your account.',
      scope: 'person',
      responses: { 200: { description: 'The account stays.', body: Me } },
    },
    async ({ signedIn }) => {
      await people.accountDeletion.cancel(signedIn);
      return { status: 200, body: await people.account.me(signedIn) };
    },
  );
}
