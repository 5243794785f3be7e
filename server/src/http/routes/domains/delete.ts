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
        'With its keys, for good. Live mail from it that still waits, scheduled or deferred, ends as ' +
        '`failed`: it could not be signed any more. Adding the domain again gives new records.',
      scope: 'write:domains',
      params: pathId('dom', 'the domain'),
      responses: { 204: { description: 'It is gone.' } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      await deps.domains.remove(caller, id);
      return { status: 204 };
    },
  );
}
