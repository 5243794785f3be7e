import type { People } from '../../../accounts/people/people.ts';
import { personFieldErrors } from '../../../accounts/people/person-input.ts';
import { type Operation, operation } from '../../operation.ts';
import { isLocalClient } from '../../server/client-info.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { CreateOwner, SET_COOKIE, SignedIn } from './schemas.ts';
import { sessionResponse } from './session-response.ts';

export function createOwner(deps: {
  people: People;
  cookie: SessionCookie;
  baseUrl: string;
}): Operation {
  return operation(
    {
      id: 'createOwner',
      method: 'POST',
      path: '/setup',
      tag: 'Sign-in',
      summary: 'Create the first account',
      description:
        'Works once, while there is no account. The account owns every existing workspace. ' +
        'Requests from the server itself need nothing else; all others need `token`, the part ' +
        'after # of the link that the server printed at startup. `workspace_name` names the ' +
        'first workspace.',
      scope: 'public',
      csrfProtected: true,
      body: CreateOwner,
      semanticChecks: personFieldErrors,
      examples: {
        owner: {
          summary: 'From the server itself',
          value: { email: 'jane@shop.example', name: 'Jane Doe', password: 'tulip freight oboe' },
        },
      },
      responses: { 201: { description: 'Signed in.', body: SignedIn, headers: SET_COOKIE } },
      problems: ['setup_link_required', 'conflict', 'too_many_attempts'],
    },
    async ({ body, client }) => {
      const { email, name, password, workspace_name, token } = body;
      const owner = {
        email,
        name,
        password,
        ...(workspace_name === undefined ? {} : { workspaceName: workspace_name }),
        ...(token === undefined ? {} : { token }),
      };
      const trusted = isLocalClient(client, deps.baseUrl);
      return sessionResponse(deps, 201, await deps.people.setup.claim(owner, client, trusted));
    },
  );
}
