import type { Suppressions } from '../../../suppressions/suppressions.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

export function deleteSuppression(deps: { suppressions: Suppressions }): Operation {
  return operation(
    {
      id: 'deleteSuppression',
      method: 'DELETE',
      path: '/suppressions/{id}',
      tag: 'Suppressions',
      summary: 'Delete a suppression',
      description: 'Mail can be sent to the address or domain again.',
      scope: 'write:suppressions',
      params: pathId('sup', 'the suppression'),
      responses: { 204: { description: 'The suppression was deleted.' } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('sup', (params as { id: string }).id, 'suppression');
      await deps.suppressions.remove(caller, id);
      return { status: 204 };
    },
  );
}
