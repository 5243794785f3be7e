import type { People } from '../../../accounts/people/people.ts';
import { publicConnection } from '../../../accounts/people/single-sign-on/connections.ts';
import { type Operation, operation } from '../../operation.ts';
import { actingMember } from '../members/acting-member.ts';
import { SINGLE_SIGN_ON_INPUT, SingleSignOn, SingleSignOnInput } from './schemas.ts';

export function putSingleSignOn({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'putSingleSignOn',
      method: 'PUT',
      path: '/single-sign-on',
      tag: 'Team',
      summary: 'Set the identity provider',
      description:
        'Members can then sign in with the provider (OpenID Connect), and users to whom it gives ' +
        'a role become members when they sign in. Only owners can set it. Its configuration is read ' +
        'from the issuer first; if that fails, nothing changes. A change of the issuer ends all ' +
        'sessions that the previous provider has started.',
      scope: 'write:workspace',
      body: SingleSignOnInput,
      examples: { provider: { summary: 'A provider', value: SINGLE_SIGN_ON_INPUT } },
      responses: { 200: { description: 'The identity provider.', body: SingleSignOn } },
      problems: ['insufficient_role', 'conflict', 'single_sign_on_failed'],
    },
    async (request) => {
      const { body } = request;
      const { singleSignOn } = people;
      const stored = await singleSignOn.connections.put(actingMember(request), {
        name: body.name,
        issuer: body.issuer,
        clientId: body.client_id,
        clientSecret: body.client_secret,
        groupsClaim: body.groups_claim ?? 'groups',
        groupRoles: body.group_roles ?? [],
        defaultRole: body.default_role ?? null,
        isEnforced: body.enforced ?? false,
      });
      const urls = singleSignOn.urlsFor(stored);
      return { status: 200, body: publicConnection(stored, urls) };
    },
  );
}
