import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { isLocalClient } from '../../server/client-info.ts';
import { SetupState } from './schemas.ts';

export function getSetup({ people, baseUrl }: { people: People; baseUrl: string }): Operation {
  return operation(
    {
      id: 'getSetup',
      method: 'GET',
      path: '/setup',
      tag: 'Sign-in',
      summary: 'Check whether the first account exists',
      scope: 'public',
      csrfProtected: true,
      responses: { 200: { description: 'The setup state.', body: SetupState } },
    },
    async ({ client }) => {
      const needed = await people.setup.isNeeded();
      const link_required = needed && !isLocalClient(client, baseUrl);
      return { status: 200, body: { needed, link_required } };
    },
  );
}
