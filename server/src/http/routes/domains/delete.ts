import type { Domains } from '../../../domains/domains.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

export function deleteDomain(deps: { domains: Domains }): Operation {
  return operation(
    {
      id: 'deleteDomain',
      method: 'DELETE',
      path: '/domains/{id}',
      tag: 'Domains',
      summary: 'Delete a domain',
      description:
        'Deletes the domain and its keys permanently. Scheduled and deferred live mail from ' +
        'the domain becomes `failed`, because it can no longer be signed. Adding the domain ' +
        'again creates new records.',
      scope: 'write:domains',
      mode: 'live',
      params: pathId('dom', 'the domain'),
      responses: { 204: { description: 'The domain was deleted.' } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      await deps.domains.remove(caller, id);
      return { status: 204 };
    },
  );
}
